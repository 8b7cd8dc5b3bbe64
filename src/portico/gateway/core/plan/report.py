"""How a plan is going, or went: of every step what became of it, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from portico.kernel.json import JsonObject, JsonValue


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


class StepStanding(StrEnum):
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
    {StepStanding.DONE, StepStanding.FAILED, StepStanding.SKIPPED, StepStanding.NOT_NEEDED}
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
    state: StepStanding
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
        waits = {StepStanding.WAITING, StepStanding.UNCERTAIN}
        return StepStanding.RUNNING not in states and not waits.isdisjoint(states)

    def step(self, name: str) -> StepReport | None:
        return next((step for step in self.steps if step.id == name), None)

    def counts(self) -> Mapping[StepStanding, int]:
        found: dict[StepStanding, int] = {}
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
