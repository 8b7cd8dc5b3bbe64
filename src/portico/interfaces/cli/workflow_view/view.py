"""What is known of a workflow at a moment: its steps, how each stands, and since when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from portico.kernel.json import JsonValue


class State(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    UNCERTAIN = "uncertain"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"

    @property
    def over(self) -> bool:
        return self in _OVER

    @property
    def needs_somebody(self) -> bool:
        return self in {State.WAITING, State.UNCERTAIN}


_OVER = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.NOT_NEEDED})
ENDED = frozenset({"done", "partial", "failed", "cancelled", "stuck"})
"""Of a whole workflow."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Time in which a step did nothing, because somebody had to say something."""

    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """How far a step is that is done once for each of many."""

    all: int
    over: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    id: str
    tool: str
    needs: Sequence[str] = ()
    state: State = State.PENDING
    why: str | None = None
    began: datetime | None = None
    ended: datetime | None = None
    waits: Sequence[Wait] = ()
    tries: int = 0
    items: Items | None = None
    progress: float | None = None
    """How far its tool says that it is, from 0 to 1."""
    asking: Mapping[str, str | None] = field(default_factory=dict)
    """Which of its parts, by name, need somebody: with the request for approval, or with none if
    nobody knows whether it was done."""

    given: Mapping[str, str] = field(default_factory=dict)
    """By part: what those were called with of which nobody knows whether they were done."""

    @property
    def waits_since(self) -> datetime | None:
        return self.waits[-1].since if self.waits and self.waits[-1].until is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    run: str
    name: str | None = None
    kind: str = "workflow"
    status: str = "queued"
    steps: Mapping[str, StepView] = field(default_factory=dict)
    """In the plan's order."""
    critical: frozenset[str] = frozenset()
    began: datetime | None = None
    ended: datetime | None = None
    parked: Sequence[Wait] = ()
    """When nothing of it ran, since it only waited for people."""
    as_of: datetime | None = None
    """What happened before is in the report."""
    heard_at: datetime | None = None
    """When the last that is known happened, by the server's clock."""
    output: JsonValue = None
    output_handle: str | None = None
    printed: str | None = None
    error: str | None = None

    @property
    def over(self) -> bool:
        return self.status in ENDED

    def counted(self) -> Mapping[State, int]:
        states = [step.state for step in self.steps.values()]
        return {state: states.count(state) for state in State if state in states}
