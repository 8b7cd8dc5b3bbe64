"""Durable runs: state, failure, queue."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from portico.kernel.errors import PorticoError, type_name
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """For an answer or for a time; it takes up no process."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STUCK = "stuck"
    """It was taken up so often without an end that a person should look."""

    @property
    def over(self) -> bool:
        return self in _OVER


_OVER = frozenset({RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.STUCK})


class StepState(StrEnum):
    OPEN = "open"
    """Come to and not over: a sleep, or a wait for somebody."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, in words that can be kept: no object of the program that failed."""

    type: str
    message: str
    code: str | None = None
    step: str | None = None

    def as_json(self) -> JsonObject:
        return {"type": self.type, "message": self.message, "code": self.code, "step": self.step}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`number` is the order in which steps ended; an open one has none yet (0)."""

    name: str
    number: int
    state: StepState
    started_at: datetime
    finished_at: datetime | None = None
    due_at: datetime | None = None
    output: JsonValue = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlacement:
    """Where in line a run stands: its queue, a key whose runs take turns, and how urgent it is."""

    queue: str = "runs"
    partition: str | None = None
    priority: int = 0
    """Smaller goes first; not below 0."""


@dataclass(frozen=True, slots=True)
class RunPosition:
    """Where a run stands among all runs by their age; it can be asked from when the run is gone."""

    created_at: datetime
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: RunId
    space: SpaceId
    principal: PrincipalId
    kind: str
    label: Label
    clearance: Label
    """What it may see: that of whoever started it, when they did."""
    scopes: AbstractSet[str] = field(default_factory=frozenset)
    """What it may do: no more than whoever started it, by the key that they came with."""
    placement: QueuePlacement
    status: RunStatus
    input: JsonObject
    created_at: datetime
    leg: int = 1
    """A run goes from wait to wait in legs; each is handed out once."""
    attempts: int = 0
    waits_for: Sequence[str] = ()
    wakes_at: datetime | None = None
    forked_from: RunId | None = None
    trace: str | None = None
    """Where it was asked for (W3C traceparent), for whoever reads traces."""
    result: JsonValue = None
    failure: Failure | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def position(self) -> RunPosition:
        return RunPosition(self.created_at, self.id)


@dataclass(frozen=True, slots=True)
class Activation:
    """One stretch of a run, as it stands in line: ids and nothing else."""

    run: RunId
    number: int

    @property
    def name(self) -> str:
        return f"{self.run.value}:{self.number}"

    @classmethod
    def parse(cls, name: str) -> "Activation":
        run, _, number = name.rpartition(":")
        return cls(RunId(UUID(run)), int(number))


@dataclass(frozen=True, slots=True)
class QueuedActivation:
    """A leg, and where in line it belongs."""

    activation: Activation
    placement: QueuePlacement


@dataclass(frozen=True, slots=True)
class Started:
    """The run that was asked for; `replayed` if it was there already, under the same key."""

    run: Run
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedActivation:
    """A leg in the hands of whoever carries it out, until somebody else claims the run."""

    run: Run
    worker: Principal
    """In whose name it is carried out: whoever started it, with no more than they had then."""
    claim: UUID
    steps: Sequence[Step] = field(default_factory=tuple)
    barred: str | None = None
    """Why it may not go on: whoever it is for may not any more."""


Cleaning = Callable[[JsonValue], JsonValue]
"""Blacks out whatever must not be told; applied to what works say, and not to what they give."""


def as_it_is(value: JsonValue) -> JsonValue:
    return value


class Discreet(Exception):
    """An error of which no more is written down than this."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(
    error: BaseException, step: str | None = None, clean: Cleaning = as_it_is
) -> Failure:
    if isinstance(error, Discreet):
        return replace(error.failure, step=step or error.failure.step)
    code = error.code if isinstance(error, PorticoError) else None
    name = type_name(error)
    message = str(clean(str(error))) or name
    return Failure(name, message, code, step or _step_behind(error))


def _step_behind(error: BaseException) -> str | None:
    """The step that an error comes from, however it was wrapped: the one to be tried again."""
    cause: BaseException | None = error
    while cause is not None:
        failure = getattr(cause, "failure", None)
        if isinstance(failure, Failure):
            return failure.step
        cause = cause.__cause__ or cause.__context__
    return None


# A line that runs stand in: how many go at once, and who takes turns with whom.


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    name: str
    a_process: int | None = None
    """Most runs at once in one process."""
    everywhere: int | None = None
    """Most runs at once in all of them together."""
    a_partition: int | None = None
    """Most runs at once with the same partition key; each run must then have one."""
    look: timedelta = timedelta(milliseconds=200)
    """How often a process looks whether somebody stands there."""
