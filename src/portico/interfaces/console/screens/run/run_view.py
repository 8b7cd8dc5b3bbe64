"""A run as its page shows it: state, result, figures, actions."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.traces import AgentRunStatus, WholeTrace
from portico.debate.core.debates import DebateId
from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Failure, Run, RunStatus, Step
from portico.gateway.core.calls import ResultId
from portico.guard.core.principals import Scope
from portico.interfaces.console.page import PageContext
from portico.interfaces.console.screens.run.tasks import (
    Sort,
    Span,
    State,
    Task,
    covered,
    lost_ahead,
    planned,
    tasks_of_journal,
    tasks_of_plan,
    tasks_of_program,
    tasks_of_trace,
)
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows.core.errors import NotAWorkflow
from portico.workflows.core.plan_report import (
    OutlinedStep,
    WorkflowReport,
    WorkflowStatus,
    critical_steps,
    trouble,
    unspoken,
)
from portico.workflows.core.programs import ProgramReport

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
class RunView:
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


def status_badge(seen: RunView, asks: State | None = None) -> tuple[str, str]:
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


def chosen(seen: RunView, wanted: str | None) -> Task | None:
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


def powers_of(seen: RunView, caller: Principal, *, person: bool) -> Powers:
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


def _scope(seen: RunView) -> Scope:
    if seen.kind in _CALLING:
        return Scope.TOOLS_CALL
    if seen.kind == "agent":
        return Scope.AGENTS_RUN
    return Scope.DEBATES_RUN if seen.kind in _DEBATING else Scope.RUNS_WRITE


def of_run(run: Run, caller: Principal) -> RunView:
    """What every run says of itself."""
    failure = run.failure
    plan = run.input.get("plan", run.input.get("program"))
    debate = run.input.get("debate")
    return RunView(
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


_MOMENT: Final = timedelta(milliseconds=1)
_AT_ONCE: Final = 8
"""So many calls a server may well take at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetrics:
    """The numbers above everything."""

    elapsed: timedelta | None
    since: datetime | None
    """Of one that goes on: from when it is counted."""
    done: int
    all: int | None
    failed: int
    speed_up: float | None
    """How much longer it would have taken, one after the other."""
    idle: timedelta | None
    """How long nothing was done, because somebody or something was waited for."""
    chain: timedelta | None
    """How long the steps of the critical path were at work."""
    links: int
    """How many those are."""
    ahead: int | None
    """What was begun before it was asked for; None where nobody writes that down."""
    lost: int = 0
    tokens: int | None = None
    money: Decimal | None = None


def figures_of(seen: RunView, now: datetime) -> RunMetrics:
    begun, end = seen.started_at, seen.finished_at or now
    elapsed = None if begun is None else max(end - begun, timedelta(0))
    work = [span for task in seen.tasks for span in task.spans if span.sort is not Sort.WAITED]
    busy = covered(work, now)
    chain = [
        took
        for task in seen.tasks
        if task.name in seen.critical and (took := task.took(now)) is not None
    ]
    trace = seen.trace
    usage = None if trace is None else trace.run.usage
    return RunMetrics(
        elapsed=elapsed,
        since=begun if _at_work(seen) else None,
        done=sum(task.state is State.DONE for task in seen.tasks if task.works),
        all=seen.total,
        failed=sum(task.state is State.FAILED for task in seen.tasks),
        speed_up=_speed_up(seen.tasks, work, busy, now),
        idle=None if elapsed is None or not seen.tasks else max(elapsed - busy, timedelta(0)),
        chain=sum(chain, timedelta(0)) if chain else None,
        links=len(chain),
        ahead=None if trace is None else sum(task.ahead for task in seen.tasks),
        lost=seen.lost,
        tokens=None if usage is None else usage.input + usage.output,
        money=None if trace is None else trace.run.money,
    )


def _speed_up(
    tasks: Sequence[Task], work: Sequence[Span], busy: timedelta, now: datetime
) -> float | None:
    ended = [span for span in work if span.end]
    at_once = busy if len(ended) == len(work) else covered(ended, now)
    return serial_time(tasks, now) / at_once if at_once > _MOMENT and len(ended) > 1 else None


def serial_time(tasks: Sequence[Task], now: datetime) -> timedelta:
    """How long what is over would have taken, one after the other. Where many that are alike began
    at once, most of them stood in line first, which the journal counts too: then the quickest one
    says how long they take."""
    alike: dict[tuple[str, frozenset[str]], list[timedelta]] = {}
    for task in tasks:
        work = [span for span in task.spans if span.end and span.sort is not Sort.WAITED]
        if work:
            kind = (task.tool, frozenset(task.needs))
            alike.setdefault(kind, []).append(covered(work, now))
    return sum(
        (
            min(took) * len(took) if len(took) > _AT_ONCE else sum(took, timedelta(0))
            for took in alike.values()
        ),
        timedelta(0),
    )


def _at_work(seen: RunView) -> bool:
    return not seen.over and any(task.state is State.RUNNING for task in seen.tasks)


PLACE: Final = "runs"
"""What is read here is not held against what its reader does elsewhere."""


@dataclass(frozen=True, slots=True)
class RunDetails:
    seen: RunView
    run: Run | None
    """None of one that is carried out in one process, and kept nowhere."""
    journal: Sequence[Step] = ()


async def look(desk: PageContext, run: RunId) -> RunDetails:
    """Raises `NotPermitted`, `RunNotFound`."""
    caller, use = desk.at(PLACE), desk.services.use
    try:
        found, journal = await use.show_run(caller, run)
    except RunNotFound:
        return await _inline(desk, run)
    seen = of_run(found, caller)
    match found.kind:
        case "workflow":
            seen = await _planned(desk, found, seen, journal)
        case "program":
            seen = await _program(desk, run, seen, journal)
        case "agent":
            seen = await _agent(desk, run, found, seen, journal)
        case _:
            tasks = tasks_of_journal(found, journal)
            seen = replace(seen, tasks=tasks, total=planned(found))
    return RunDetails(_whole(seen, desk), found, journal)


def _whole(seen: RunView, desk: PageContext) -> RunView:
    ended = (seen.finished_at or desk.now) if seen.over else None
    tasks = closed(seen.tasks, ended)
    critical = seen.critical or critical_of(tasks, desk.now)
    total = seen.total
    if total is None and seen.over:
        total = sum(task.works for task in tasks)
    return replace(seen, tasks=tasks, critical=critical, total=total)


async def _inline(desk: PageContext, run: RunId) -> RunDetails:
    """Raises `NotPermitted`, `RunNotFound`."""
    caller, gateway = desk.at(PLACE), desk.services.gateway
    try:
        report = await gateway.workflows.show_workflow(caller, run)
        kind, tasks = "workflow", tasks_of_plan(report, ())
        printed = None
    except NotAWorkflow:
        program = await gateway.programs.show_program(caller, run)
        report, printed = program.whole, program.printed
        kind, tasks = "program", tasks_of_program(report, ())
    seen = RunView(
        id=str(run),
        kind=kind,
        status=str(report.status),
        principal=report.principal,
        mine=report.mine,
        label=report.label,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        tasks=tasks,
        printed=printed,
    )
    return RunDetails(_whole(_told(seen, report), desk), None)


async def _planned(desk: PageContext, run: Run, seen: RunView, journal: Sequence[Step]) -> RunView:
    show = desk.services.gateway.workflows.show_workflow
    report = await show.of_read(desk.at(PLACE), run, journal)
    seen = replace(seen, tasks=tasks_of_plan(report, journal), total=len(report.steps))
    return _told(seen, report)


async def _program(
    desk: PageContext, run: RunId, seen: RunView, journal: Sequence[Step]
) -> RunView:
    program: ProgramReport = await desk.services.gateway.programs.show_program(desk.at(PLACE), run)
    tasks = tasks_of_program(program.whole, journal)
    return _told(replace(seen, tasks=tasks, printed=program.printed), program.whole)


def _told(seen: RunView, report: WorkflowReport) -> RunView:
    error = report.error
    return replace(
        seen,
        status=str(report.status),
        mode=str(report.mode),
        name=report.name,
        critical=frozenset(report.critical_path),
        error=None if error is None else Trouble(error.message, error.code, error.step),
        output=report.output,
        output_handle=report.output_handle,
    )


async def _agent(
    desk: PageContext, run: RunId, found: Run, seen: RunView, journal: Sequence[Step]
) -> RunView:
    """To whoever may not know what is said in it, what its journal says."""
    try:
        trace = await desk.services.agents.show_trace(desk.at(PLACE), run)
    except AgentRunNotFound:
        return replace(seen, tasks=tasks_of_journal(found, journal))
    its = trace.run
    error = None if its.error is None else Trouble(its.error, its.error_code)
    return replace(
        seen,
        status=str(its.status),
        tasks=tasks_of_trace(trace, journal),
        trace=trace,
        lost=lost_ahead(journal),
        started_at=seen.started_at or its.started_at,
        finished_at=its.ended_at or seen.finished_at,
        output=its.answer or None,
        error=error or seen.error,
    )


async def name_of_principal(desk: PageContext, principal: str) -> str | None:
    """None for who may not know of others."""
    with suppress(PorticoError):
        found = await desk.services.use.show_principal(desk.caller, PrincipalId.parse(principal))
        return found.name
    return None


async def question_of(desk: PageContext, seen: RunView) -> str | None:
    if seen.debate is None:
        return None
    with suppress(PorticoError):
        which = DebateId.parse(seen.debate)
        whole = await desk.services.debates.look.one(desk.at(PLACE), which)
        return whole.debate.question.text
    return None


async def plan_of(desk: PageContext, seen: RunView) -> JsonObject:
    """What it was started with: for whoever started it; for others, and later, nothing."""
    if seen.plan is None or not seen.mine or seen.mode == "inline":
        return {}
    text = await whole_result(desk.at(PLACE), desk, seen.plan)
    with suppress(ValueError):
        found = json.loads(text) if text else {}
        return found if isinstance(found, Mapping) else {}
    return {}


async def whole_result(caller: Principal, desk: PageContext, handle: str) -> str | None:
    """None of what is kept no longer, or for somebody else."""
    with suppress(PorticoError):
        return await desk.services.gateway.read_result.whole(caller, ResultId.parse(handle))
    return None
