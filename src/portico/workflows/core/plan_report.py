"""Reports of a plan: standings, outline."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.engine.core.runs import Failure, Run, RunStatus, Step, StepState
from portico.kernel.errors import PorticoError, type_name
from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import Graph, Plan


class Mode(StrEnum):
    DURABLE = "durable"
    """It survives, and may wait for people."""
    INLINE = "inline"
    """In one process, and gone with it: for plans that only read, and want to be quick."""


class WorkflowStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    PARTIAL = "partial"
    """It came to its end, and something in it failed or was left out because of that."""
    FAILED = "failed"
    """A step that was not allowed to fail has stopped it."""
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in _OVER


_OVER = frozenset(
    {
        WorkflowStatus.DONE,
        WorkflowStatus.PARTIAL,
        WorkflowStatus.FAILED,
        WorkflowStatus.CANCELLED,
    }
)


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    """For somebody's approval."""
    UNCERTAIN = "uncertain"
    """Nobody knows whether it was made: a person has to say."""
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"

    @property
    def over(self) -> bool:
        return self in _STEP_OVER


_STEP_OVER = frozenset(
    {StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.NOT_NEEDED}
)


@dataclass(frozen=True, slots=True)
class Items:
    """Of a step that is done once an item."""

    all: int
    over: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong, in the words that a run keeps."""

    type: str
    message: str
    code: str | None = None
    step: str | None = None

    def as_json(self) -> JsonObject:
        return {"type": self.type, "message": self.message, "code": self.code, "step": self.step}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    id: str
    tool: str
    state: StepStatus
    why: str | None = None
    needs: Sequence[str] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tries: int = 0
    approval: str | None = None
    size: int | None = None
    handle: str | None = None
    items: Items | None = None
    error: Trouble | None = None
    output: JsonValue = None
    """Only where it was asked for, and by its caller."""
    called_with: Mapping[str, JsonObject] = field(default_factory=dict)
    """For its caller: by call, what those were given of which nobody knows whether they were
    made."""

    @property
    def seconds(self) -> float | None:
        return _between(self.started_at, self.finished_at)

    def as_json(self) -> JsonObject:
        items = self.items
        return {
            "id": self.id,
            "tool": self.tool,
            "state": str(self.state),
            "why": self.why,
            "needs": [*self.needs],
            "started_at": _iso(self.started_at),
            "finished_at": _iso(self.finished_at),
            "seconds": self.seconds,
            "tries": self.tries,
            "approval": self.approval,
            "size": self.size,
            "handle": self.handle,
            "items": None
            if items is None
            else {"all": items.all, "over": items.over, "failed": items.failed},
            "error": None if self.error is None else self.error.as_json(),
            **({} if self.output is None else {"output": self.output}),
            **({"called_with": dict(self.called_with)} if self.called_with else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowReport:
    run: str
    status: WorkflowStatus
    mode: Mode
    principal: str
    label: str
    steps: Sequence[StepReport]
    created_at: datetime
    name: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    forked_from: str | None = None
    critical_path: Sequence[str] = ()
    output: JsonValue = None
    output_handle: str | None = None
    output_size: int | None = None
    error: Trouble | None = None
    mine: bool = False

    @property
    def over(self) -> bool:
        return self.status.over

    @property
    def seconds(self) -> float | None:
        return _between(self.started_at, self.finished_at)

    @property
    def for_people(self) -> bool:
        """Whether it goes on only when somebody says something."""
        states = [step.state for step in self.steps]
        waits = {StepStatus.WAITING, StepStatus.UNCERTAIN}
        return StepStatus.RUNNING not in states and not waits.isdisjoint(states)

    def step(self, name: str) -> StepReport | None:
        return next((step for step in self.steps if step.id == name), None)

    def counts(self) -> Mapping[StepStatus, int]:
        found: dict[StepStatus, int] = {}
        for step in self.steps:
            found[step.state] = found.get(step.state, 0) + 1
        return found

    def as_json(self) -> JsonObject:
        return {
            "run": self.run,
            "name": self.name,
            "kind": "workflow",
            "status": str(self.status),
            "mode": str(self.mode),
            "principal": self.principal,
            "label": self.label,
            "created_at": _iso(self.created_at),
            "started_at": _iso(self.started_at),
            "finished_at": _iso(self.finished_at),
            "seconds": self.seconds,
            "forked_from": self.forked_from,
            "steps": [step.as_json() for step in self.steps],
            "critical_path": [*self.critical_path],
            "output": self.output,
            "output_handle": self.output_handle,
            "output_size": self.output_size,
            "error": None if self.error is None else self.error.as_json(),
            "printed": None,
        }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round((end - start).total_seconds(), 3)


# What a run of a plan says of it to everybody who may see the run: which steps there are, and what
# waits for what. What they are given and what they give is their caller's alone.

_PARTS: Final = 5
"""Of a step as it is written down."""


@dataclass(frozen=True, slots=True)
class OutlinedStep:
    id: str
    tool: str
    needs: Sequence[str] = ()
    stands_in_for: str | None = None
    each: bool = False
    """Whether it is done once an item of a list."""

    def as_json(self) -> JsonValue:
        return [self.id, self.tool, [*self.needs], self.stands_in_for, self.each]


def outline_of(plan: Plan, graph: Graph) -> Sequence[OutlinedStep]:
    return [
        OutlinedStep(
            step.id,
            str(step.tool),
            tuple(dict.fromkeys(need.needs for need in graph.needs[step.id])),
            graph.stands_in_for.get(step.id),
            step.for_each is not None,
        )
        for step in plan.steps
    ]


def outline_from(given: JsonObject) -> Sequence[OutlinedStep]:
    """From what a run was started with; nothing of one that is no plan's."""
    outline = given.get("outline")
    if not isinstance(outline, Sequence) or isinstance(outline, str):
        return ()
    return [step for each in outline if (step := _step(each)) is not None]


def _step(value: JsonValue) -> OutlinedStep | None:
    if not isinstance(value, list | tuple) or len(value) != _PARTS:
        return None
    name, tool, needs, first, each = value
    # Not by `match`, which takes twice as long: there may be a thousand of them.
    if (
        isinstance(name, str)
        and isinstance(tool, str)
        and isinstance(needs, list | tuple)
        and (first is None or isinstance(first, str))
        and isinstance(each, bool)
    ):
        return OutlinedStep(name, tool, tuple(map(str, needs)), first, each)
    return None


def critical_steps(outline: Sequence[OutlinedStep], seconds: Mapping[str, float]) -> Sequence[str]:
    """The chain of steps that took, or takes, longest; what stands in for another is left out
    unless it was done."""
    done = {step.id: step for step in outline if step.stands_in_for is None or step.id in seconds}
    until: dict[str, tuple[float, str | None]] = {}
    for name in _in_order(done):
        before = [each for each in _waits_for(done[name]) if each in until]
        last = max(before, key=lambda each: until[each][0], default=None)
        ended = until[last][0] if last is not None else 0.0
        until[name] = (ended + seconds.get(name, 0.0), last)
    path: list[str] = []
    at = max(until, key=lambda name: until[name][0], default=None)
    while at is not None:
        path.append(at)
        at = until[at][1]
    return path[::-1]


def _waits_for(step: OutlinedStep) -> Sequence[str]:
    return [*step.needs, *([step.stands_in_for] if step.stands_in_for else [])]


def _in_order(steps: Mapping[str, OutlinedStep]) -> Sequence[str]:
    """Each after whatever it waits for."""
    left = {name: sum(each in steps for each in _waits_for(step)) for name, step in steps.items()}
    after: dict[str, list[str]] = {name: [] for name in steps}
    for name, step in steps.items():
        for each in _waits_for(step):
            if each in after:
                after[each].append(name)
    order = [name for name, waits in left.items() if not waits]
    for name in order:  # it grows while it is gone through
        for other in after[name]:
            left[other] -= 1
            if not left[other]:
                order.append(other)
    return order


# What became of each step of a plan, read from the journal of its run.
#
# The journal holds a call under the name of its step (`read`, `read[3]`), what followed it under
# names that go on from there (`read~approved`, `read~2`), and what was told (`read:skipped`).

_OWNER: Final = re.compile(r"(?:signal:~[a-z]+:)?([A-Za-z_][A-Za-z0-9_-]*)")
_RESULT: Final = re.compile(r"\bres_[0-9a-z]{26}\b")
_GOING_ON: Final = frozenset({StepStatus.RUNNING, StepStatus.WAITING})
_UNDER_WAY: Final = frozenset({RunStatus.RUNNING, RunStatus.WAITING})


class Rows:
    """Of one step: gone through once, and then found by the call that they belong to."""

    def __init__(self) -> None:
        self.named: dict[str, Step] = {}
        self.of: dict[str, list[Step]] = {}
        """By call."""
        self.inside: dict[str, dict[str, None]] = {}
        """By the call of a saved workflow: the calls that this makes."""

    def add(self, step: Step) -> None:
        self.named[step.name] = step
        call = call_of(step.name)
        self.of.setdefault(call, []).append(step)
        outer, slash, _ = call.rpartition("/")
        while slash:
            self.inside.setdefault(outer, {})[call] = None
            call = outer
            outer, slash, _ = call.rpartition("/")

    def get(self, name: str) -> Step | None:
        return self.named.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.named


@dataclass(frozen=True, slots=True)
class _Found:
    """What the journal says of one call."""

    state: StepStatus
    why: str | None = None
    approval: str | None = None
    handle: str | None = None
    size: int | None = None
    failure: Failure | None = None
    attempts: int = 1
    items: Items | None = None


def standings(
    outline: Sequence[OutlinedStep],
    run: Run,
    journal: Sequence[Step],
    uncertain: frozenset[str] = frozenset(),
) -> Sequence[StepReport]:
    """`uncertain`: the requests of which nobody knows whether what was approved was made."""
    rows, none = _by_owner(journal), Rows()
    found = {step.id: _of_step(step, rows.get(step.id, none), uncertain) for step in outline}
    whole = _Whole({step.id: step for step in outline}, found, run)
    return [_reported(step, rows.get(step.id, none), whole.standing(step)) for step in outline]


def owner(name: str) -> str:
    """The step that a name in the journal belongs to; empty for what is the plan's own."""
    fits = _OWNER.match(name)
    return "" if fits is None else fits[1]


def call_of(name: str) -> str:
    """The call that a name in the journal belongs to: `read[3]` of `read[3]~approved`."""
    return name.partition("~")[0].partition(":")[0]


def _by_owner(journal: Sequence[Step]) -> Mapping[str, Rows]:
    found: dict[str, Rows] = {}
    for step in journal:
        found.setdefault(owner(step.name), Rows()).add(step)
    return found


@dataclass(frozen=True, slots=True)
class _Whole:
    """What is not in the journal follows from how the others stand."""

    steps: Mapping[str, OutlinedStep]
    found: Mapping[str, _Found | None]
    run: Run
    stand_ins: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        stand_ins = {s.stands_in_for: s.id for s in self.steps.values() if s.stands_in_for}
        object.__setattr__(self, "stand_ins", stand_ins)

    def standing(self, step: OutlinedStep) -> _Found:
        found = self.found[step.id]
        if found is not None and found.state in _GOING_ON and self.run.status.over:
            return replace(found, state=StepStatus.SKIPPED, why=self._ended_by())
        if found is not None:
            return found
        if self._not_needed(step.id):
            return _Found(StepStatus.NOT_NEEDED, attempts=0)
        if self.run.status.over:
            return _Found(StepStatus.SKIPPED, self._ended_by(), attempts=0)
        ready = all(map(self._over, step.needs)) and self._called_for(step)
        runs = ready and self.run.status in _UNDER_WAY
        return _Found(StepStatus.RUNNING if runs else StepStatus.PENDING, attempts=0)

    def _called_for(self, step: OutlinedStep) -> bool:
        """Whether the one has ended that it stands in for, if it does."""
        first = None if step.stands_in_for is None else self.found[step.stands_in_for]
        return step.stands_in_for is None or (first is not None and first.state.over)

    def _over(self, name: str) -> bool:
        found = self.found.get(name)
        if found is None:
            return name in self.steps and self._not_needed(name)
        if found.state is StepStatus.FAILED and name in self.stand_ins:
            return self._over(self.stand_ins[name])
        return found.state.over

    def _not_needed(self, name: str) -> bool:
        first = self.steps[name].stands_in_for
        if first is None or self.found[name] is not None:
            return False
        found = self.found[first]
        if found is None:
            return self._not_needed(first)
        return found.state in {StepStatus.DONE, StepStatus.SKIPPED}

    def _ended_by(self) -> str:
        if self.run.status is RunStatus.CANCELLED:
            return "the run was cancelled"
        by = None if self.run.failure is None else self.run.failure.step
        return "the run ended before" if by is None else f"the plan was stopped by {owner(by)!r}"


def _of_step(step: OutlinedStep, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    """None if the journal does not say."""
    if (told := rows.get(f"{step.id}:skipped")) is not None:
        return _Found(StepStatus.SKIPPED, _text(told.output, "why"), attempts=0)
    found = _of_items(step, rows, uncertain) if step.each else _of_call(step.id, rows, uncertain)
    if found is None and (failed := rows.get(f"{step.id}:failed")) is not None:
        return _Found(StepStatus.FAILED, failure=_not_begun(step.id, failed, rows), attempts=0)
    if found is None and any(name.startswith(f"{step.id}:unknown:") for name in rows.named):
        return _Found(StepStatus.UNCERTAIN, "it was begun when the plan was stopped")
    return found


def _not_begun(name: str, told: Step, rows: Rows) -> Failure:
    for before in (f"{name}~when", f"{name}~items"):
        row = rows.get(before)
        if row is not None and row.failure is not None:
            return row.failure
    code = _text(told.output, "code")
    return Failure("PorticoError", f"It could not be begun: {code}.", code, name)


def _of_items(step: OutlinedStep, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    if (told := rows.get(f"{step.id}:items")) is None:
        return None
    if (done := rows.get(f"{step.id}:done")) is not None:
        return _Found(StepStatus.DONE, items=_counted(told, done, ()))
    each = [*_items(step.id, rows, uncertain)]
    counted = _counted(told, None, each)
    wrong = next((found for found in each if found.state is StepStatus.FAILED), None)
    if f"{step.id}:failed" in rows:
        failure = wrong.failure if wrong else None
        return _Found(StepStatus.FAILED, failure=failure, items=counted)
    for state in (StepStatus.UNCERTAIN, StepStatus.WAITING):
        waits = next((found for found in each if found.state is state), None)
        if waits is not None:
            return replace(waits, attempts=1, items=counted)
    return _Found(StepStatus.RUNNING, items=counted)


def _items(name: str, rows: Rows, uncertain: frozenset[str]) -> Iterator[_Found]:
    for call in rows.of:
        if call.startswith(f"{name}[") and "/" not in call:
            found = _of_call(call, rows, uncertain)
            if found is not None:
                yield found


def _counted(told: Step, done: Step | None, each: Sequence[_Found]) -> Items | None:
    many = _number(told.output, "items")
    if many is None:
        return None
    if done is not None:
        return Items(many, many, _number(done.output, "failed") or 0)
    failed = sum(found.state is StepStatus.FAILED for found in each)
    return Items(many, sum(found.state.over for found in each), failed)


def _number(value: JsonValue, name: str) -> int | None:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, int) else None


def _of_call(call: str, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    found = _of_attempts(call, rows, uncertain)
    if found is None or found.state is not StepStatus.DONE:
        return found
    return _of_inner(call, rows, uncertain) or found


def _of_inner(call: str, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    """Of a saved workflow that was called: what was given first is its plan, and its own steps
    follow (`report/read`), and then how it ended (`report/~output`)."""
    calls = rows.inside.get(call)
    if not calls:
        return None
    if (end := rows.get(f"{call}/~output")) is not None:
        return _gave(end)
    own = [each for each in calls if each != f"{call}/"]
    each = {name: found for name in own if (found := _of_call(name, rows, uncertain)) is not None}
    for state in (StepStatus.UNCERTAIN, StepStatus.WAITING):
        for name, found in each.items():
            if found.state is state:
                return replace(found, why=f"{name}: {found.why}", attempts=1)
    return _Found(StepStatus.RUNNING)


def _of_attempts(call: str, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    number = 1
    while True:
        name = call if number == 1 else f"{call}~{number}"
        row = rows.get(name)
        if row is None:
            return None if number == 1 else _Found(StepStatus.RUNNING, attempts=number)
        found = _of_attempt(call, number, row, rows, uncertain)
        if found is not None:
            return found if number == found.attempts else replace(found, attempts=number)
        number += 1


def _of_attempt(
    call: str, number: int, row: Step, rows: Rows, uncertain: frozenset[str]
) -> _Found | None:
    """None if somebody wants it to be tried again."""
    if row.failure is not None:
        return _Found(StepStatus.FAILED, failure=row.failure)
    match row.output:
        case {"approval": str(approval)}:
            return _of_request(row.name, approval, rows, uncertain)
        case {"uncertain": str(why)}:
            return _of_uncertain(call, number, why, rows)
        case _:
            return _gave(row)


def _of_request(name: str, approval: str, rows: Rows, uncertain: frozenset[str]) -> _Found:
    for each in rows.of[call_of(name)]:
        if not each.name.startswith(f"{name}~approved"):
            continue
        if each.failure is not None:
            return _Found(StepStatus.FAILED, failure=each.failure, approval=approval)
        if (why := _text(each.output, "left_out")) is not None:
            return _Found(StepStatus.SKIPPED, why, approval)
        if each.output is not None:
            return replace(_gave(each), approval=approval)
    if approval in uncertain:
        why = "nobody knows whether what was approved was done"
        return _Found(StepStatus.UNCERTAIN, why, approval)
    return _Found(StepStatus.WAITING, "somebody has to approve it", approval)


def _of_uncertain(call: str, number: int, why: str, rows: Rows) -> _Found | None:
    told = rows.get(f"signal:~uncertain:{call}:{number}")
    if told is None or told.state is StepState.OPEN:
        return _Found(StepStatus.UNCERTAIN, f"nobody knows whether it was done ({why})")
    match told.output:
        case {"resolution": "retry"}:
            return None
        case {"resolution": "done"}:
            said = rows.get(f"{call}~said-{number}")
            return _Found(StepStatus.RUNNING) if said is None else _gave(said)
        case _:
            by = _text(told.output, "by")
            return _Found(StepStatus.SKIPPED, f"{by} says that it was not done, and shall not be")


def _gave(row: Step) -> _Found:
    if row.failure is not None:
        return _Found(StepStatus.FAILED, failure=row.failure)
    output: JsonObject = row.output if isinstance(row.output, Mapping) else {}
    size = output.get("size")
    return _Found(
        StepStatus.DONE,
        handle=_text(output, "result"),
        size=size if isinstance(size, int) else None,
    )


def _reported(step: OutlinedStep, rows: Rows, found: _Found) -> StepReport:
    failure = found.failure
    its = rows.named.values()
    retried = sum([":retried:" in row.name for row in its])
    began = [row.started_at for row in its] if found.attempts else []
    ended = [row.finished_at for row in its if row.finished_at is not None]
    over = found.state.over and bool(began)
    return StepReport(
        id=step.id,
        tool=step.tool,
        state=found.state,
        why=found.why or (None if failure is None else failure.message),
        needs=step.needs,
        started_at=min(began, default=None),
        finished_at=max(ended, default=None) if over else None,
        tries=found.attempts + retried,
        approval=found.approval,
        size=found.size,
        handle=found.handle or _words(failure),
        items=found.items,
        error=None if failure is None else trouble(failure),
    )


def _words(failure: Failure | None) -> str | None:
    """Where a tool's own words are kept, if it was the one to say that it failed."""
    fits = None if failure is None else _RESULT.search(failure.message)
    return None if fits is None else fits[0]


def trouble(failure: Failure) -> Trouble:
    return Trouble(type=failure.type, message=failure.message, code=failure.code, step=failure.step)


def _text(value: JsonValue, name: str) -> str | None:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else None


# What went wrong in a run, as others may read it too: which error it was, and where its own words
# are kept.
#
# A server's refusal quotes what it was given, and our own errors quote a plan and its values. The
# journal of a run, how it ended and its events are read by others than its caller; so they say what
# kind of error it was, and the words stay sealed with what the run gave.

_LONGEST: Final = 500
"""Characters of what a tool says that are told with the rest; the whole of it is kept."""
_UNFORESEEN: Final = "It broke in a way that nobody foresaw"
_KEPT: Final = re.compile(r"(The step '[^']*' failed: )?(.*) \[in full: (res_[0-9a-z]{26})\]")


def words_of(error: Exception) -> JsonObject:
    """What is kept for the caller."""
    words = {"words": str(error) or type_name(error)}
    fix = error.fix if isinstance(error, PorticoError) else None
    return {**words, "fix": fix} if fix else words


def discreet(error: Exception, step: str | None, kept: str | None) -> Failure:
    """`kept`: where its words are, if they could be kept."""
    title: str = _UNFORESEEN
    code: str | None = None
    if isinstance(error, PorticoError):
        title, code = error.title, error.code
    message = title if kept is None else f"{title} [in full: {kept}]"
    return Failure(type_name(error), message, code, step)


def kept_words(message: str) -> str | None:
    """Where the words are that a message stands for."""
    fits = _KEPT.fullmatch(message)
    return None if fits is None else fits[3]


def spoken(message: str, content: JsonValue) -> str:
    """With its words in their place; as it is if they are kept no longer."""
    fits = _KEPT.fullmatch(message)
    match content:
        case {"words": str(words)} if fits is not None:
            return f"{fits[1] or ''}{words}"
        case {"isError": True, "text": str(text)} if fits is not None:
            return f"{fits[1] or ''}{fits[2]}: {_short(text) or 'without a word'}"
        case _:
            return message


def unspoken(trouble: Trouble) -> Trouble:
    """As others see it: without even where its words are."""
    fits = _KEPT.fullmatch(trouble.message)
    if fits is None:
        return trouble
    return replace(trouble, message=f"{fits[1] or ''}{fits[2]}")


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
