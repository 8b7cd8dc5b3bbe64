"""What became of each step of a plan, read from the journal of its run.

The journal holds a call under the name of its step (`read`, `read[3]`), what followed it under
names that go on from there (`read~approved`, `read~2`), and what was told (`read:skipped`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from portico.engine.core.runs import Failure, Run, RunStatus, Step, StepState
from portico.gateway.core.plan.outline import OutlinedStep
from portico.gateway.core.plan.report import Items, StepReport, StepStanding, Trouble
from portico.kernel.json import JsonObject, JsonValue

_OWNER: Final = re.compile(r"(?:signal:~[a-z]+:)?([A-Za-z_][A-Za-z0-9_-]*)")
_RESULT: Final = re.compile(r"\bres_[0-9a-z]{26}\b")
_GOING_ON: Final = frozenset({StepStanding.RUNNING, StepStanding.WAITING})
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

    state: StepStanding
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
            return replace(found, state=StepStanding.SKIPPED, why=self._ended_by())
        if found is not None:
            return found
        if self._not_needed(step.id):
            return _Found(StepStanding.NOT_NEEDED, attempts=0)
        if self.run.status.over:
            return _Found(StepStanding.SKIPPED, self._ended_by(), attempts=0)
        ready = all(map(self._over, step.needs)) and self._called_for(step)
        runs = ready and self.run.status in _UNDER_WAY
        return _Found(StepStanding.RUNNING if runs else StepStanding.PENDING, attempts=0)

    def _called_for(self, step: OutlinedStep) -> bool:
        """Whether the one has ended that it stands in for, if it does."""
        first = None if step.stands_in_for is None else self.found[step.stands_in_for]
        return step.stands_in_for is None or (first is not None and first.state.over)

    def _over(self, name: str) -> bool:
        found = self.found.get(name)
        if found is None:
            return name in self.steps and self._not_needed(name)
        if found.state is StepStanding.FAILED and name in self.stand_ins:
            return self._over(self.stand_ins[name])
        return found.state.over

    def _not_needed(self, name: str) -> bool:
        first = self.steps[name].stands_in_for
        if first is None or self.found[name] is not None:
            return False
        found = self.found[first]
        if found is None:
            return self._not_needed(first)
        return found.state in {StepStanding.DONE, StepStanding.SKIPPED}

    def _ended_by(self) -> str:
        if self.run.status is RunStatus.CANCELLED:
            return "the run was cancelled"
        by = None if self.run.failure is None else self.run.failure.step
        return "the run ended before" if by is None else f"the plan was stopped by {owner(by)!r}"


def _of_step(step: OutlinedStep, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    """None if the journal does not say."""
    if (told := rows.get(f"{step.id}:skipped")) is not None:
        return _Found(StepStanding.SKIPPED, _text(told.output, "why"), attempts=0)
    found = _of_items(step, rows, uncertain) if step.each else _of_call(step.id, rows, uncertain)
    if found is None and (failed := rows.get(f"{step.id}:failed")) is not None:
        return _Found(StepStanding.FAILED, failure=_not_begun(step.id, failed, rows), attempts=0)
    if found is None and any(name.startswith(f"{step.id}:unknown:") for name in rows.named):
        return _Found(StepStanding.UNCERTAIN, "it was begun when the plan was stopped")
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
        return _Found(StepStanding.DONE, items=_counted(told, done, ()))
    each = [*_items(step.id, rows, uncertain)]
    counted = _counted(told, None, each)
    wrong = next((found for found in each if found.state is StepStanding.FAILED), None)
    if f"{step.id}:failed" in rows:
        failure = wrong.failure if wrong else None
        return _Found(StepStanding.FAILED, failure=failure, items=counted)
    for state in (StepStanding.UNCERTAIN, StepStanding.WAITING):
        waits = next((found for found in each if found.state is state), None)
        if waits is not None:
            return replace(waits, attempts=1, items=counted)
    return _Found(StepStanding.RUNNING, items=counted)


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
    failed = sum(found.state is StepStanding.FAILED for found in each)
    return Items(many, sum(found.state.over for found in each), failed)


def _number(value: JsonValue, name: str) -> int | None:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, int) else None


def _of_call(call: str, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    found = _of_attempts(call, rows, uncertain)
    if found is None or found.state is not StepStanding.DONE:
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
    for state in (StepStanding.UNCERTAIN, StepStanding.WAITING):
        for name, found in each.items():
            if found.state is state:
                return replace(found, why=f"{name}: {found.why}", attempts=1)
    return _Found(StepStanding.RUNNING)


def _of_attempts(call: str, rows: Rows, uncertain: frozenset[str]) -> _Found | None:
    number = 1
    while True:
        name = call if number == 1 else f"{call}~{number}"
        row = rows.get(name)
        if row is None:
            return None if number == 1 else _Found(StepStanding.RUNNING, attempts=number)
        found = _of_attempt(call, number, row, rows, uncertain)
        if found is not None:
            return found if number == found.attempts else replace(found, attempts=number)
        number += 1


def _of_attempt(
    call: str, number: int, row: Step, rows: Rows, uncertain: frozenset[str]
) -> _Found | None:
    """None if somebody wants it to be tried again."""
    if row.failure is not None:
        return _Found(StepStanding.FAILED, failure=row.failure)
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
            return _Found(StepStanding.FAILED, failure=each.failure, approval=approval)
        if (why := _text(each.output, "left_out")) is not None:
            return _Found(StepStanding.SKIPPED, why, approval)
        if each.output is not None:
            return replace(_gave(each), approval=approval)
    if approval in uncertain:
        why = "nobody knows whether what was approved was done"
        return _Found(StepStanding.UNCERTAIN, why, approval)
    return _Found(StepStanding.WAITING, "somebody has to approve it", approval)


def _of_uncertain(call: str, number: int, why: str, rows: Rows) -> _Found | None:
    told = rows.get(f"signal:~uncertain:{call}:{number}")
    if told is None or told.state is StepState.OPEN:
        return _Found(StepStanding.UNCERTAIN, f"nobody knows whether it was done ({why})")
    match told.output:
        case {"resolution": "retry"}:
            return None
        case {"resolution": "done"}:
            said = rows.get(f"{call}~said-{number}")
            return _Found(StepStanding.RUNNING) if said is None else _gave(said)
        case _:
            by = _text(told.output, "by")
            return _Found(StepStanding.SKIPPED, f"{by} says that it was not done, and shall not be")


def _gave(row: Step) -> _Found:
    if row.failure is not None:
        return _Found(StepStanding.FAILED, failure=row.failure)
    output: JsonObject = row.output if isinstance(row.output, Mapping) else {}
    size = output.get("size")
    return _Found(
        StepStanding.DONE,
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
