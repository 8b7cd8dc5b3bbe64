"""Runs of workflows: cancel, fork, resolve a step."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, cast

from portico.engine.core.errors import (
    AlreadyAnswered,
    LedElsewhere,
    RunNotFound,
    RunNotOver,
    StepNotFound,
)
from portico.engine.core.runs import Run, RunStatus, Started, Step, StepState
from portico.engine.runs import control_topic
from portico.gateway.core.calls import CallClaim, ResultId, claim_of
from portico.gateway.ports import CallHistory
from portico.guard.approvals import Approvals, ResolveApproval, WithdrawApproval
from portico.guard.core.approvals import Approval, Outcome, Resolution, Status, Waiter
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import InvalidAnswer, PersonNeeded, Refused
from portico.guard.core.principals import Scope
from portico.guard.core.rules import OFF_LIST, on_lists
from portico.guard.ports import Audit, Contexts, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal, PrincipalKind
from portico.workflows.core.errors import NotAWorkflow, NotUncertain, Unsettled
from portico.workflows.core.plan import Expressions, Plan, graph_of
from portico.workflows.core.plan_documents import plan_document, read_plan
from portico.workflows.core.plan_progress import (
    asked_calls,
    call_waiting,
    failed_calls,
    inside_of,
    later_topic,
    open_calls,
    rows_of,
    unread_requests,
)
from portico.workflows.core.plan_report import (
    OutlinedStep,
    StepStatus,
    outline_from,
    owner,
    standings,
)
from portico.workflows.core.programs import PROGRAM, taken_in
from portico.workflows.execution import WORKFLOW, Engines, EngineSide
from portico.workflows.plan_checks import AdmitPlan, Admitted
from portico.workflows.run_context import asker_of, take_over


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveStep:
    engines: Engines
    resolve_approval: ResolveApproval
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(
        self, caller: Principal, run: RunId, step: str, resolution: Resolution
    ) -> Run:
        """Only a person knows, also of their own: `done` lets the run go on without its answer,
        `retry` makes the call once more, `skip` leaves it out. What had been approved is resolved
        as its request is. Raises `NotPermitted`, `PersonNeeded`, `RunNotFound`, `NotUncertain`,
        `Refused` for a tool that is not on their own lists, `InvalidAnswer`."""
        if not isinstance(resolution, Resolution):
            raise InvalidAnswer(str(resolution), list(Resolution))
        require_scope(caller, Scope.APPROVALS_ANSWER)
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
        async with self.unit_of_work(caller):
            try:
                turn = await side.runs.signal(caller, run, topic, payload)
            except AlreadyAnswered as first:
                raise NotUncertain(str(run), step) from first
            await self.audit.note(caller, _entry(run, step, resolution))
        side.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await side.queue.join(turn)
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
        details={"step": step, "resolution": str(resolution)},
    )


# What a run has begun of which its journal does not say what became: whoever goes on from there
# must not begin it once more.

_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    asked: Sequence[Approval]
    """All that the run has asked."""
    approved: frozenset[str]
    """The calls that somebody said yes to: their requests make them, or have, and the run does not
    know yet."""
    unheard: frozenset[str]
    """The steps whose requests do, and the run does not know that it asked."""
    lost: frozenset[str]
    """The steps of which a call was begun that is not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindInFlight:
    approvals: Approvals
    history: CallHistory
    clock: Clock

    async def __call__(self, caller: Principal, run: Run, journal: Sequence[Step]) -> Begun:
        asked = await self.approvals.of_run(caller, run.id)
        making = [each for each in asked if self.makes_it(each)]
        topics = {each.waiter.topic for each in making if each.waiter is not None}
        calls, unread = asked_calls(journal), unread_requests(journal)
        return Begun(
            asked=asked,
            approved=frozenset(unread) & {calls[topic] for topic in topics if topic in calls},
            unheard=frozenset(_step(topic) for topic in topics if topic not in calls),
            lost=await self._lost(caller, run, journal),
        )

    def makes_it(self, approval: Approval) -> bool:
        """Whether the call is made by it, or was, or may have been."""
        if approval.status_at(self.clock.now()) is not Status.APPROVED:
            return False
        return approval.outcome not in {Outcome.FAILED, Outcome.SKIPPED}

    def to_tell(self, approval: Approval) -> bool:
        """Whether there is something to be heard of it: that it was made, or may have been."""
        unknown = approval.outcome is Outcome.UNCERTAIN
        return self.makes_it(approval) and (unknown or approval.over_at(self.clock.now()))

    async def _lost(self, caller: Principal, run: Run, journal: Sequence[Step]) -> frozenset[str]:
        noted = {step.name for step in journal}
        told = {step.name: step for step in journal}
        claims: dict[CallClaim, str] = {
            claim_of(run.id, call, run.leg): step.id
            for step in outline_from(run.input)
            for call in _calls(step, told.get(f"{step.id}:items"))
            if call not in noted
        }
        found: set[str] = set()
        every = [*claims]
        for first in range(0, len(every), _AT_ONCE):
            some = every[first : first + _AT_ONCE]
            begun = await self.history.find_started(caller, some)
            found |= {claims[claim] for claim in some if claim.id in begun}
        return frozenset(found)


def _calls(step: OutlinedStep, items: Step | None) -> Iterator[str]:
    if not step.each:
        yield step.id
    elif items is not None and isinstance(items.output, dict):
        many = items.output.get("items")
        yield from (f"{step.id}[{index}]" for index in range(many if isinstance(many, int) else 0))


def _step(topic: str) -> str:
    """Of `~approval:read[3]:1`."""
    return owner(f"signal:{topic}") or topic


_ENDED_ITSELF: Final = "program_failed"
"""A program that raised has taken in how its calls ended: made again, they would end for nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelWorkflow:
    engines: Engines
    approvals: Approvals
    withdraw: WithdrawApproval
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """What it has done stays done; what it asked for, and nobody has answered, is asked for no
        more. Raises `NotPermitted`, `RunNotFound`, `RunOver`."""
        found, side = await self.engines.find(caller, run)
        check_control(caller, found)
        async with self.unit_of_work(caller):
            turn = await side.runs.cancel(caller, run)
            entry = AuditEntry(action="workflow.cancelled", subject=str(run))
            await self.audit.note(caller, entry)
        side.bus.wake(caller.space, control_topic(run))
        if turn is not None:
            await side.queue.leave(turn.activation)
        for asked in await self.approvals.of_run(caller, run):
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked was cancelled")
        return await side.book.get(caller, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWorkflow:
    engines: Engines
    find_begun: FindInFlight
    withdraw: WithdrawApproval
    contexts: Contexts
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, run: RunId) -> Run:
        """Every step that failed is tried again, unless the plan has gone on without it, and what
        it needed approval for is asked for anew, unless somebody has said yes to it. One's own goes
        on with the key and the task that one comes with; another's as whoever started it.

        Raises `NotPermitted`, `RunNotFound`, `RunNotOver`, `Unsettled`.
        """
        found, side = await self.engines.find(caller, run)
        check_control(caller, found)
        if not _can_go_on(found):
            raise RunNotOver(str(run), found.status)
        journal = await side.book.steps(caller, run)
        begun = await self.find_begun(caller, found, journal)
        for step in sorted(begun.unheard):
            raise Unsettled(str(run), step)
        given = await self._lent(caller, found)
        anew = _to_forget(found, journal, begun)
        async with self.unit_of_work(caller):
            turn = await side.runs.resume(caller, run, anew=anew, given=given)
            entry = AuditEntry(action="workflow.resumed", subject=str(run))
            await self.audit.note(caller, entry)
        await self._told(caller, side, begun)
        await side.queue.join(turn)
        return await side.book.get(caller, run)

    async def _lent(self, caller: Principal, found: Run) -> JsonObject | None:
        if found.principal != caller.id:
            return None
        await take_over(self.contexts, caller, found.input)
        return {**found.input, "asker": asker_of(caller)}

    async def _told(self, caller: Principal, side: EngineSide, begun: Begun) -> None:
        """What it still waits for may have ended while nobody could be told; what it asks anew is
        not asked twice."""
        for asked in begun.asked:
            if asked.status is Status.WAITING:
                await self.withdraw.closed(caller, asked, "the run that asked asks anew")
            elif asked.waiter is not None and self.find_begun.to_tell(asked):
                await _signalled(caller, side, asked, asked.waiter)


async def _signalled(
    caller: Principal, side: EngineSide, approval: Approval, waiter: Waiter
) -> None:
    unknown = approval.outcome is Outcome.UNCERTAIN
    word: JsonObject = {"approval": str(approval.id), "uncertain": unknown}
    for look in count(1):
        with suppress(AlreadyAnswered):
            topic = later_topic(waiter.topic, look)
            await side.runs.signal(caller, waiter.run, topic, word)
            return


def _can_go_on(run: Run) -> bool:
    ended_itself = run.failure is not None and run.failure.code == _ENDED_ITSELF
    return run.status.over and run.status is not RunStatus.DONE and not ended_itself


def _to_forget(run: Run, journal: Sequence[Step], begun: Begun) -> Sequence[str]:
    """What nobody knows stays so, and so do calls of a program that has taken in how they ended."""
    known = taken_in(journal) if run.kind == PROGRAM else frozenset[str]()
    steps = begun.lost | {owner(call) for call in begun.approved}
    again = failed_calls(outline_from(run.input), run, journal, steps) | open_calls(journal)
    return sorted(rows_of(again - known - begun.approved, journal))


def check_control(caller: Principal, run: Run) -> None:
    """One's own, or with the right to speak for others. Raises `NotPermitted`, and `LedElsewhere`
    for a run of another room."""
    if run.kind not in {WORKFLOW, PROGRAM}:
        raise LedElsewhere(str(run.id), run.kind)
    require_scope(caller, Scope.TOOLS_CALL if run.principal == caller.id else Scope.RUNS_CONTROL)


_UNKNOWN: Final = Outcome.UNCERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkWorkflow:
    engines: Engines
    admit: AdmitPlan
    find_begun: FindInFlight
    contexts: Contexts
    expressions: Expressions
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy

    async def __call__(
        self,
        caller: Principal,
        source: RunId,
        *,
        step: str | None = None,
        arguments: Mapping[str, JsonObject] | None = None,
        key: str | None = None,
    ) -> Started:
        """`arguments` by step take the place of those of the same name. These steps, `step`, and
        whatever waits for any of them are done anew, under the caller as they are now; so is what
        ended the plan, and what waits for somebody's yes is asked for anew. Only one's own, since
        what it gave is nobody else's.

        Raises `NotPermitted`, `RunNotFound`, `NotAWorkflow`, `StepNotFound`, `InvalidPlan`,
        `ResultNotFound` for a plan that is kept no longer, `Unsettled`, `Refused` for a tool that
        is not on the caller's lists, and what starting a plan
        raises.
        """
        require_scope(caller, Scope.TOOLS_CALL)
        found, side = await self.engines.find(caller, source)
        if found.principal != caller.id:
            raise RunNotFound(str(source))
        if found.kind != WORKFLOW:
            raise NotAWorkflow(str(source), found.kind)
        content = await side.outputs().get(caller, ResultId.parse(str(found.input["plan"])))
        before = content if isinstance(content, Mapping) else {}
        edits = dict(arguments or {})
        plan = self._edited(before.get("plan"), edits)
        again = [*edits, *([step] if step is not None else [])]
        if missing := [name for name in again if name not in {each.id for each in plan.steps}]:
            raise StepNotFound(missing[0])
        _check_lists(caller, plan)
        await self.admit.check_arguments(caller, plan, edits)
        steps = await self._kept_steps(caller, found, side, self._anew(plan, again))
        await take_over(self.contexts, caller, found.input)
        inputs = before.get("inputs")
        admitted = await self.admit(
            caller,
            plan,
            inputs if isinstance(inputs, Mapping) else {},
            mode=side.mode,
            labels=[found.label],
        )
        kept = await side.outputs().keep(caller, {**before, "plan": plan_document(plan)})
        run = self._run(caller, found, key, admitted, kept.result)
        asked = _fingerprint(source, again, edits)
        async with self.unit_of_work(caller):
            added, turn = await side.runs.fork_with(caller, source, run, steps=steps, asked=asked)
            if turn is not None:
                await self.audit.note(caller, _entry_fork(added, source, again))
        if turn is not None:
            await side.queue.join(turn)
        return Started(added, replayed=turn is None)

    def _edited(self, document: object, edits: Mapping[str, JsonObject]) -> Plan:
        """Raises `InvalidPlan`."""
        plan = read_plan(cast("JsonValue", document), self.expressions)  # it looks itself
        steps = [
            {**each, "arguments": {**_arguments(each), **edits.get(str(each["id"]), {})}}
            for each in _steps(plan_document(plan))
        ]
        return read_plan({**plan_document(plan), "steps": steps}, self.expressions)

    def _anew(self, plan: Plan, again: Sequence[str]) -> frozenset[str]:
        return graph_of(plan, self.expressions).downstream(again)

    async def _kept_steps(
        self, caller: Principal, source: Run, side: EngineSide, anew: frozenset[str]
    ) -> Sequence[str]:
        """What was told of it and what it was asked stays with what is kept; what ended the plan,
        what waits to be approved, and what was left out, is looked at anew. Raises `Unsettled`."""
        journal = await side.book.steps(caller, source.id)
        outline = outline_from(source.input)
        begun = await self.find_begun(caller, source, journal)
        uncertain = frozenset(str(each.id) for each in begun.asked if each.outcome is _UNKNOWN)
        reports = standings(outline, source, journal, uncertain)
        unknown = {each.id for each in reports if each.state is StepStatus.UNCERTAIN}
        waiting = frozenset(unread_requests(journal))
        unknown |= begun.lost | begun.unheard | inside_of(journal)
        unknown |= {owner(call) for call in begun.approved & waiting}
        for name in sorted(unknown - anew):
            raise Unsettled(str(source.id), name)
        tried = failed_calls(outline, source, journal) | open_calls(journal) | waiting
        forgotten = rows_of(tried, journal)
        return [
            each.name
            for each in journal
            if each.state is not StepState.OPEN
            and each.name not in forgotten
            and owner(each.name) not in anew | {""}
        ]

    def _run(
        self, caller: Principal, found: Run, key: str | None, admitted: Admitted, plan: ResultId
    ) -> Run:
        return replace(
            found,
            id=self._id(caller, found.id, key),
            principal=caller.id,
            clearance=caller.clearance,
            scopes=frozenset(caller.scopes),
            status=RunStatus.QUEUED,
            label=admitted.label,
            input={"plan": str(plan), **admitted.arguments},
            created_at=self.clock.now(),
            leg=1,
            attempts=0,
            waits_for=(),
            wakes_at=None,
            forked_from=found.id,
            result=None,
            failure=None,
            started_at=None,
            finished_at=None,
        )

    def _id(self, caller: Principal, source: RunId, key: str | None) -> RunId:
        if key is None:
            return RunId.mint(self.clock.now(), self.entropy)
        return RunId.of_claim(caller.space, caller.id, f"fork of {source}", key)


def _check_lists(caller: Principal, plan: Plan) -> None:
    """What another key was given by a tool goes on with whoever forks. Raises `Refused`."""
    for step in plan.steps:
        tool = str(step.tool)
        if not on_lists(caller, tool):
            raise Refused(tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)


def _steps(document: JsonObject) -> Sequence[JsonObject]:
    steps = document.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        return ()
    return [each for each in steps if isinstance(each, Mapping)]


def _arguments(step: JsonObject) -> JsonObject:
    found = step.get("arguments")
    return found if isinstance(found, Mapping) else {}


def _fingerprint(source: RunId, again: Sequence[str], edits: Mapping[str, JsonObject]) -> str:
    asked = canonical([str(source), sorted(again), dict(edits)])
    return hashlib.sha256(b"fork " + asked).hexdigest()


def _entry_fork(run: Run, source: RunId, again: Sequence[str]) -> AuditEntry:
    return AuditEntry(
        action="workflow.forked",
        subject=str(run.id),
        details={"source": str(source), "steps": [*again]},
    )
