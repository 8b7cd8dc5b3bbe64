"""A run as its page tells it: what it is, how it stands, what it came to, and what can be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from portico.agents.core.traces import AgentRunStatus, WholeTrace
from portico.engine.core.runs import Failure, Run, RunStatus
from portico.guard.core.principals import Scope
from portico.interfaces.console.screens.run.tasks import Span, State, Task
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import (
    OutlinedStep,
    WorkflowStatus,
    critical_steps,
    trouble,
    unspoken,
)

KINDS: Final[Mapping[str, str]] = {
    "workflow": "Workflow",
    "program": "Program",
    "agent": "Agent",
    "debate": "Debate",
    "analysis": "Analysis",
    "approved_call": "Approved call",
    "declassification": "Declassification",
    "promotion": "Promotion",
    "drill": "Drill",
}
_CALLING: Final = frozenset({"workflow", "program"})
_DEBATING: Final = frozenset({"debate", "analysis"})
_STATUS: Final[Mapping[str, tuple[str, str]]] = {
    "queued": ("Queued", ""),
    "running": ("Running", "run"),
    "waiting": ("Waiting", "warn"),
    "done": ("Done", "ok"),
    "completed": ("Done", "ok"),
    "partial": ("Done in part", "warn"),
    "failed": ("Failed", "bad"),
    "exhausted": ("Out of budget", "bad"),
    "stopped": ("Stopped", ""),
    "cancelled": ("Cancelled", ""),
    "stuck": ("Stuck", "bad"),
}
_OVER: Final = frozenset(
    [
        *(status for status in RunStatus if status.over),
        *(status for status in WorkflowStatus if status.over),
        *(status for status in AgentRunStatus if status.over),
    ]
)


@dataclass(frozen=True, slots=True)
class Trouble:
    message: str
    code: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    id: str
    kind: str
    status: str
    principal: str
    mine: bool
    label: str
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    forked_from: str | None = None
    mode: str | None = None
    name: str | None = None
    """Of its plan, its agent, its question."""
    tasks: Sequence[Task] = ()
    total: int | None = None
    """How many tasks there will have been, where that is known."""
    critical: frozenset[str] = frozenset()
    error: Trouble | None = None
    output: JsonValue = None
    output_handle: str | None = None
    printed: str | None = None
    plan: str | None = None
    """Where its plan, or its program, is kept, for whoever started it."""
    trace: WholeTrace | None = None
    lost: int = 0
    """Calls that were begun ahead for an answer that came to nothing."""
    debate: str | None = None

    @property
    def over(self) -> bool:
        return self.status in _OVER

    @property
    def kind_words(self) -> str:
        return KINDS.get(self.kind, self.kind.replace("_", " ").capitalize())

    @property
    def title(self) -> str:
        return title_of(self.name, self.kind) or self.kind_words

    def task(self, name: str | None) -> Task | None:
        return next((task for task in self.tasks if task.name == name), None)


def status_badge(seen: Seen, asks: State | None = None) -> tuple[str, str]:
    """Its words and its tone. `asks`: for what of people it waits."""
    if not seen.over and asks is State.WAITING:
        return "Needs approval", "warn"
    if not seen.over and asks is State.UNCERTAIN:
        return "Needs a word", "warn"
    return _STATUS.get(seen.status, (seen.status.capitalize(), ""))


def asks(tasks: Sequence[Task]) -> Task | None:
    """What waits for people, if anything does: an approval before what nobody knows."""
    for state in (State.WAITING, State.UNCERTAIN):
        found = next((task for task in tasks if task.state is state), None)
        if found is not None:
            return found
    return None


def chosen(seen: Seen, wanted: str | None) -> Task | None:
    """What the inspector shows: what was chosen, or else what a person would look at first."""
    if (task := seen.task(wanted)) is not None:
        return task
    if (task := asks(seen.tasks)) is not None:
        return task
    for state in (State.FAILED, State.RUNNING, State.ASLEEP):
        if found := [task for task in seen.tasks if task.state is state]:
            return found[0]
    done = [task for task in seen.tasks if task.state is State.DONE]
    return done[-1] if done else next(iter(seen.tasks), None)


def closed(tasks: Sequence[Task], at: datetime | None) -> Sequence[Task]:
    """Of a run that is over: nothing in it goes on."""
    if at is None:
        return tasks
    return [
        replace(task, spans=[_closed(span, at) for span in task.spans])
        if any(span.end is None for span in task.spans)
        else task
        for task in tasks
    ]


def _closed(span: Span, at: datetime) -> Span:
    return span if span.end is not None else replace(span, end=max(at, span.start))


def critical_of(tasks: Sequence[Task], now: datetime) -> frozenset[str]:
    """The chain that took longest; nothing where one simply came after the other."""
    if all(len(task.needs) <= 1 for task in tasks) and len(
        {need for task in tasks for need in task.needs}
    ) + 1 >= len(tasks):
        return frozenset()
    outline = [OutlinedStep(task.name, task.tool, tuple(task.needs)) for task in tasks]
    seconds = {
        task.name: took.total_seconds() for task in tasks if (took := task.took(now)) is not None
    }
    return frozenset(critical_steps(outline, seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Powers:
    """What whoever looks may do with it; what they may not is not offered."""

    cancel: bool = False
    resume: bool = False
    fork: bool = False
    rerun: bool = False
    answer: bool = False
    """Approvals, and what nobody knows."""


def powers_of(seen: Seen, caller: Principal, *, person: bool) -> Powers:
    steps_in = seen.mine or caller.may(Scope.RUNS_CONTROL)
    steps_in = steps_in and caller.may(_scope(seen))
    if seen.kind in _DEBATING:
        steps_in = steps_in and seen.mine
    ended_badly = seen.status in {"failed", "cancelled", "stuck", "exhausted"}
    anew = seen.kind == "workflow" and seen.mine and seen.mode != "inline"
    anew = (anew and caller.may(Scope.TOOLS_CALL)) or (seen.kind == "drill" and steps_in)
    return Powers(
        cancel=steps_in and not seen.over,
        resume=steps_in and ended_badly and seen.kind not in _DEBATING,
        fork=anew,
        rerun=anew and seen.over,
        answer=person and caller.may(Scope.APPROVALS_ANSWER),
    )


def _scope(seen: Seen) -> Scope:
    if seen.kind in _CALLING:
        return Scope.TOOLS_CALL
    if seen.kind == "agent":
        return Scope.AGENTS_RUN
    return Scope.DEBATES_RUN if seen.kind in _DEBATING else Scope.RUNS_WRITE


def of_run(run: Run, caller: Principal) -> Seen:
    """What every run says of itself."""
    failure = run.failure
    plan = run.input.get("plan", run.input.get("program"))
    debate = run.input.get("debate")
    return Seen(
        id=str(run.id),
        kind=run.kind,
        status=str(run.status),
        principal=str(run.principal),
        mine=run.principal == caller.id,
        label=str(run.label),
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        forked_from=None if run.forked_from is None else str(run.forked_from),
        name=name_of(run),
        error=None if failure is None else _trouble(failure),
        plan=plan if isinstance(plan, str) else None,
        debate=debate if isinstance(debate, str) else None,
    )


def title_of(name: str | None, kind: str) -> str | None:
    """A plan's name is written for programs; people read it in words."""
    if name is None or kind != "workflow":
        return name
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:] or name


def name_of(run: Run) -> str | None:
    """That everybody may know who may see the run: of its plan, or of its agent."""
    match run.input:
        case {"name": str(name)} | {"agent": {"spec": {"name": str(name)}}}:
            return name
        case _:
            return None


def _trouble(failure: Failure) -> Trouble:
    """As everybody may read it who may see the run."""
    told = unspoken(trouble(failure))
    return Trouble(told.message, told.code, told.step)
