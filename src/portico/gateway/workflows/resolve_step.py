"""Say what became of a call of which nobody knows whether it was made."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.engine.core.errors import AlreadyAnswered
from portico.engine.core.runs import Run, Step, StepState
from portico.engine.runs import control_topic
from portico.gateway.core.plan.outline import outline_from
from portico.gateway.core.plan.standings import owner
from portico.gateway.core.plan.trying_again import call_waiting, unread_requests
from portico.gateway.workflows.engines import Engines
from portico.gateway.workflows.errors import NotUncertain
from portico.guard.approvals import ResolveApproval
from portico.guard.core.approvals import Resolution
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import BadAnswer, PersonNeeded, Refused
from portico.guard.core.principals import Scope
from portico.guard.core.rules import OFF_LIST, on_lists
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveStep:
    engines: Engines
    resolve_approval: ResolveApproval
    audit: Audit
    together: Together

    async def __call__(
        self, caller: Principal, run: RunId, step: str, resolution: Resolution
    ) -> Run:
        """Only a person knows, also of their own: `done` lets the run go on without its answer,
        `retry` makes the call once more, `skip` leaves it out. What had been approved is resolved
        as its request is. Raises `NotPermitted`, `PersonNeeded`, `RunNotFound`, `NotUncertain`,
        `Refused` for a tool that is not on their own lists, `BadAnswer`."""
        if not isinstance(resolution, Resolution):
            raise BadAnswer(str(resolution), list(Resolution))
        permit(caller, Scope.APPROVALS_ANSWER)
        if caller.kind is not PrincipalKind.PERSON:
            raise PersonNeeded(caller.name)
        found, side = await self.engines.find(caller, run)
        journal = await side.book.steps(caller, run)
        if (approval := _asked(journal, step)) is not None:
            await self.resolve_approval(caller, approval, resolution)
            return await side.book.get(caller, run)
        topic = _waited(journal, step)
        if topic is None:
            raise NotUncertain(str(run), step)
        _check_list(caller, found, journal, call_waiting(topic))
        payload = {"resolution": str(resolution), "by": caller.name}
        async with self.together(caller):
            try:
                turn = await side.runs.signal(caller, run, topic, payload)
            except AlreadyAnswered as first:
                raise NotUncertain(str(run), step) from first
            await self.audit.note(caller, _entry(run, step, resolution))
        side.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await side.line.join(turn)
        return await side.book.get(caller, run)


def _waited(journal: Sequence[Step], step: str) -> str | None:
    """The topic under which it waits for somebody's word: its own, or else that of the only item,
    or step of a workflow that it called, which does."""
    waits = f"signal:~uncertain:{step}"
    topics = [each.name for each in journal if each.state is StepState.OPEN]
    own = [name for name in topics if name.startswith(f"{waits}:")]
    inside = [name for name in topics if name.startswith((f"{waits}[", f"{waits}/"))]
    found = own[:1] or (inside if len(inside) == 1 else [])
    return found[0].removeprefix("signal:") if found else None


def _asked(journal: Sequence[Step], step: str) -> ApprovalId | None:
    """The request that it waits for, if it does."""
    found = unread_requests(journal).get(step)
    return None if found is None else ApprovalId.parse(found)


def _check_list(caller: Principal, run: Run, journal: Sequence[Step], step: str) -> None:
    """Of the call that it is about, which may be one inside the step that was named. Raises
    `Refused`."""
    tools = {each.id: each.tool for each in outline_from(run.input)}
    told = next((each for each in journal if each.name.startswith(f"{step}:uncertain:")), None)
    output = None if told is None else told.output
    named = output.get("tool") if isinstance(output, dict) else tools.get(owner(step))
    tool = named if isinstance(named, str) else None
    if tool is not None and not on_lists(caller, tool):
        raise Refused(tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)


def _entry(run: RunId, step: str, resolution: Resolution) -> AuditEntry:
    return AuditEntry(
        action="workflow.step_resolved",
        subject=str(run),
        facts={"step": step, "resolution": str(resolution)},
    )
