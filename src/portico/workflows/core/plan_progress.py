"""Progress of a plan: which step is next, retries, waits."""

import hashlib
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from portico.engine.core.runs import Run, Step
from portico.engine.core.runs import StepState as EngineStepState
from portico.workflows.core.plan import Graph, OnError, Plan, waiting_on
from portico.workflows.core.plan_report import OutlinedStep, StepStatus, call_of, owner, standings

CONDITION: Final = "its condition is not met"


class StepState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    """Told to begin, and not heard of since: it may as well wait for somebody."""
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"
    """It would have stood in for a step that did not fail."""

    @property
    def over(self) -> bool:
        return self not in {StepState.PENDING, StepState.RUNNING}


@dataclass(frozen=True, slots=True)
class StepSucceeded:
    """The step is done; what it gave is with whoever carries out the plan."""


@dataclass(frozen=True, slots=True)
class Fell:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """It could have been done, and was not: its condition, or a person, said no."""

    why: str = CONDITION


End = StepSucceeded | Fell | LeftOut


@dataclass(frozen=True, slots=True)
class Moves:
    """What follows from what was just told."""

    start: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    """By step: why."""
    not_needed: Sequence[str] = ()


class Progress:
    """Of one plan. It knows nothing of values, clocks or tasks: whoever carries out the plan tells
    it how each step ended, in whatever order they do, and does what it answers. In any order the
    same ends lead to the same states, unless one of them stops the plan: what was begun by then
    is another thing each time."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._steps: Final = {step.id: step for step in plan.steps}
        self._graph: Final = graph
        self._waits: Final = {name: len(before) for name, before in graph.before.items()}
        self._after: Final = waiting_on(graph.before)
        self._states: Final = dict.fromkeys(self._steps, StepState.PENDING)
        self._why: Final[dict[str, str]] = {}
        self._because: Final[dict[str, str]] = {}
        self._root: Final[dict[str, str]] = {}
        self._halted: str | None = None
        self._stoppers: list[str] | None = None
        """While one looks back: whatever is known to have ended had begun before any of these."""
        self._moves = _Moving()
        self.stopped_by: str | None = None
        """The step whose failure ended the plan, if one did."""

    @classmethod
    def of(
        cls, plan: Plan, graph: Graph, ends: Mapping[str, End], begun: Collection[str] = ()
    ) -> Self:
        """Where it stands, from what is known of its steps, for whoever only looks at it. One that
        could have begun and did not is pending, or skipped if the plan was stopped."""
        progress = cls(plan, graph)
        stoppers: list[str] = []
        progress._stoppers = stoppers
        waiting = deque(progress.start().start)
        while waiting:
            name = waiting.popleft()
            if name in ends:
                waiting.extend(progress.ended(name, ends[name]).start)
        for name, state in progress.states.items():
            if state is StepState.RUNNING and name not in begun:
                progress._states[name] = StepState.PENDING
        progress._stoppers = None
        for name in (name for name in ends if name in stoppers):
            progress._stop(name)
        return progress

    @property
    def states(self) -> Mapping[str, StepState]:
        return self._states

    @property
    def why(self) -> Mapping[str, str]:
        """Of each that was skipped or failed."""
        return self._why

    @property
    def over(self) -> bool:
        return all(state.over for state in self._states.values())

    def source(self, name: str) -> str | None:
        """Whose document stands for this step: its own, that of its stand-in, or nobody's."""
        found: str | None = name
        while found is not None and self._states[found] is not StepState.DONE:
            found = self._steps[found].fallback if self._states[found].over else None
        return found

    def chain(self, name: str) -> Sequence[str]:
        """From a skipped step back to the one that all began with."""
        found = [name]
        while found[-1] in self._because:
            found.append(self._because[found[-1]])
        return found

    def start(self) -> Moves:
        for name, waits in self._waits.items():
            if not waits:
                self._ready(name)
        return self._told()

    def ended(self, name: str, end: End) -> Moves:
        """Raises `ValueError` for a step that was not told to begin."""
        if self._states[name] is not StepState.RUNNING:
            raise ValueError(f"{name} is {self._states[name]}")
        match end:
            case StepSucceeded():
                self._settle(name, StepState.DONE)
            case Fell(_, message):
                self._why[name] = message
                self._settle(name, StepState.FAILED)
            case _:
                self._skip(name, end.why)
        return self._told()

    def halt(self, why: str) -> Moves:
        """Nothing else begins; what is under way is told how it ended as before."""
        self._halt(why)
        return self._told()

    def _told(self) -> Moves:
        while self._moves.ready:
            self._ready(self._moves.ready.popleft())
        moves, self._moves = self._moves, _Moving()
        return Moves(tuple(moves.begin), moves.skipped, tuple(moves.not_needed))

    def _ready(self, name: str) -> None:
        """All that it waits for is over."""
        if self._states[name] is not StepState.PENDING:
            return
        missing = next(
            (
                need.needs
                for need in self._graph.needs[name]
                if need.must and self.source(need.needs) is None
            ),
            None,
        )
        if missing is not None:
            self._because[name] = missing
            self._root[name] = self._root.get(missing, missing)
            self._skip(name, self._needs(missing))
        else:
            self._states[name] = StepState.RUNNING
            self._moves.begin.append(name)

    def _needs(self, missing: str) -> str:
        if missing in self._root:
            return f"it needs {missing!r}, which was skipped because of {self._root[missing]!r}"
        if self._states[missing] is StepState.FAILED:
            return f"it needs {missing!r}, which failed"
        return f"it needs {missing!r}, which was skipped: {self._why[missing]}"

    def _skip(self, name: str, why: str) -> None:
        self._why[name] = why
        self._moves.skipped[name] = why
        self._settle(name, StepState.SKIPPED)

    def _settle(self, name: str, state: StepState) -> None:
        self._states[name] = state
        for other in self._after[name]:
            self._waits[other] -= 1
        step = self._steps[name]
        if step.fallback is not None and not self._fell(name):
            self._moves.not_needed.append(step.fallback)
            self._settle(step.fallback, StepState.NOT_NEEDED)
        elif step.on_error is OnError.STOP and self._fell(name):
            self._stop(self._culprit(name))
        elif step.fallback is not None and self._halted is not None:
            self._skip(step.fallback, self._halted)
        ready = (other for other in self._after[name] if not self._waits[other])
        self._moves.ready.extend(ready)

    def _stop(self, name: str) -> None:
        if self._stoppers is not None:
            self._stoppers.append(name)
        elif self._halted is None:
            self.stopped_by = name
            self._halt(f"the plan was stopped by {name!r}, which failed")

    def _fell(self, name: str) -> bool:
        """Failed; one that should have stood in and was skipped is no better."""
        state = self._states[name]
        stands_in = name in self._graph.stands_in_for
        return state is StepState.FAILED or (stands_in and state is StepState.SKIPPED)

    def _culprit(self, name: str) -> str:
        while self._states[name] is not StepState.FAILED:
            name = self._graph.stands_in_for[name]
        return name

    def _halt(self, why: str) -> None:
        self._halted = why
        for name in self._steps:
            first = self._graph.stands_in_for.get(name)
            # One whose first is under way is settled together with that.
            if self._states[name] is StepState.PENDING and (
                first is None or self._states[first].over
            ):
                self._skip(name, why)


class _Moving:
    def __init__(self) -> None:
        self.ready: deque[str] = deque()
        self.begin: list[str] = []
        self.skipped: dict[str, str] = {}
        self.not_needed: list[str] = []


# Which calls of a plan that ended are made again when somebody takes it up, or runs it anew from
# the middle.
#
# What failed is tried again, unless the plan has gone on without it: where another step stood in
# for it, or was done without what it would have given, both would be done otherwise.

_GONE_ON: Final = frozenset({StepStatus.DONE, StepStatus.UNCERTAIN})
_SIGNAL: Final = "signal:"
_ASKED: Final = f"{_SIGNAL}~approval:"
_UNKNOWN: Final = f"{_SIGNAL}~uncertain:"
_END: Final = "/~output"


def failed_calls(
    outline: Sequence[OutlinedStep],
    run: Run,
    journal: Sequence[Step],
    begun: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Those that nobody has coped with. `begun`: the steps of which something was done, or may have
    been, that the journal does not say."""
    states = {each.id: each.state for each in standings(outline, run, journal)}
    gone_on = begun | {name for name, state in states.items() if state in _GONE_ON}
    after = _after(outline)
    return frozenset(
        call
        for call, failed in _failed(journal).items()
        if _afterwards(owner(call), after).isdisjoint(gone_on)
        and ("/" not in call or _ended_it(failed, journal, states.get(owner(call))))
    )


def open_calls(journal: Sequence[Step]) -> frozenset[str]:
    """Those that were ended while they waited; but what nobody knows stays so."""
    asked = asked_calls(journal)
    return frozenset(
        _call(step.name, asked)
        for step in journal
        if step.state is EngineStepState.OPEN and not step.name.startswith(_UNKNOWN)
    )


def unread_requests(journal: Sequence[Step]) -> Mapping[str, str]:
    """By call: the request that it waits for, of those that have not read yet what became of it."""
    read = {
        step.name.partition("~approved")[0]
        for step in journal
        if "~approved" in step.name and (step.failure is not None or step.output is not None)
    }
    return {
        call_of(step.name): str(step.output["approval"])
        for step in journal
        if isinstance(step.output, Mapping) and topic_asked(step) and step.name not in read
    }


def inside_of(journal: Sequence[Step]) -> frozenset[str]:
    """The steps that called a saved workflow which has begun, and has not ended."""
    calls = [call_of(step.name) for step in journal if not step.name.startswith(_SIGNAL)]
    inside = {call.rpartition("/")[0] for call in calls if "/" in call}
    ended = {step.name[: -len(_END)] for step in journal if step.name.endswith(_END)}
    return frozenset(owner(call) for call in inside - ended)


def rows_of(calls: frozenset[str], journal: Sequence[Step]) -> frozenset[str]:
    """Whatever the journal says of these, and what was made of them for the plan as a whole."""
    whole = {call.partition("[")[0] for call in calls}
    told = {f"{name}:{what}" for name in whole for what in ("failed", "done")}
    asked = asked_calls(journal)
    return frozenset(
        step.name
        for step in journal
        if step.name in told
        or _call(step.name, asked) in calls
        or step.name.endswith(":skipped")
        or step.name == "~output"
    )


def asked_calls(journal: Sequence[Step]) -> Mapping[str, str]:
    """By the topic under which it hears of the end of its request: each call that asked."""
    return {
        topic: call_of(step.name) for step in journal if (topic := topic_asked(step)) is not None
    }


def topic_asked(step: Step) -> str | None:
    match step.output:
        case {"approval": str(), "topic": str(topic)}:
            return topic
        case _:
            return None


def call_waiting(topic: str) -> str:
    """For somebody's word, under it: `~uncertain:read:1`."""
    return topic.removeprefix("~uncertain:").rpartition(":")[0]


def leg_of(topic: str) -> int | None:
    """Of the run that asked under it: `~approval:read:1`."""
    number = topic.rpartition(":")[2]
    return int(number) if number.isdecimal() else None


def _call(name: str, asked: Mapping[str, str]) -> str:
    """Of what a run waits for too: `signal:~approval:read:1` belongs to `read`."""
    if name.startswith(_ASKED):
        return asked.get(name.removeprefix(_SIGNAL).partition("+")[0], "")
    if name.startswith(_UNKNOWN):
        return call_waiting(name.removeprefix(_SIGNAL))
    return call_of(name)


def _failed(journal: Sequence[Step]) -> Mapping[str, Step]:
    """Also those that could not be begun, of which that is told."""
    return {
        call_of(step.name): step
        for step in journal
        if step.failure is not None or step.name.endswith(":failed")
    }


def _ended_it(failed: Step, journal: Sequence[Step], whole: StepStatus | None) -> bool:
    """Of a step inside a saved workflow, of which it is not known here what stands in for what:
    whether that is not done, and nothing of it was begun and done since it failed."""
    inside = call_of(failed.name).rpartition("/")[0] + "/"
    since = failed.finished_at or failed.started_at
    return whole is not StepStatus.DONE and not any(
        step.name.startswith(inside)
        and ":" not in step.name
        and step.started_at > since
        and step.failure is None
        for step in journal
    )


def _after(outline: Sequence[OutlinedStep]) -> Mapping[str, Sequence[str]]:
    """By step: those that wait for it, or stand in for it."""
    stands_in = {step.stands_in_for: step.id for step in outline if step.stands_in_for}
    after: dict[str, list[str]] = {}
    for step in outline:
        for need in step.needs:
            before: str | None = need
            while before is not None:  # whoever waits for one waits for what stands in for it
                after.setdefault(before, []).append(step.id)
                before = stands_in.get(before)
    for first, name in stands_in.items():
        after.setdefault(first, []).append(name)
    return after


def _afterwards(name: str, after: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    left = [*after.get(name, ())]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += after.get(each, ())
    return found


# What steps of a saved workflow are called in the journal of the run that called it.
#
# Before their names stands the name of the step that called it, as often as saved ones stand inside
# one another; and whatever a run waits for has a name of at most two hundred characters.

_LONGEST: Final = 30
_BEGINNING: Final = 17
_DIGITS: Final = 12


def inner_name(step: str) -> str:
    """Its own, or if that is long, its beginning and a digest, which no step can be called."""
    if len(step) <= _LONGEST:
        return step
    digest = hashlib.sha256(step.encode()).hexdigest()
    return f"{step[:_BEGINNING]}#{digest[:_DIGITS]}"


def step_asked(topic: str) -> str:
    """The call that asked under it: `read` of `~approval:read:1`, `read[3]` also when it was tried
    again."""
    call = topic.removeprefix("~approval:").rpartition(":")[0]
    return call.partition("~")[0]


def later_topic(topic: str, look: int) -> str:
    """A topic is answered once; of a request there may be more to be told than that: that nobody
    knows whether it was made, and then what somebody says of it."""
    return topic if look == 1 else f"{topic}+{look}"
