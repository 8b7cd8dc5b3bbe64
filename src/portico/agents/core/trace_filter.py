"""Which runs somebody wants to see, and where in a list of them they are."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from portico.agents.core.trace import AgentRunStatus, RunTrace
from portico.engine.core.errors import BadCursor
from portico.kernel.ids import BadId, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """What is None does not matter."""

    agent: str | None = None
    """The name that it had then."""
    statuses: frozenset[AgentRunStatus] = frozenset()
    """Any of these; none is all."""
    since: datetime | None = None
    until: datetime | None = None
    """Both of when it was started; not at this moment itself."""
    tool: str | None = None
    """`server.tool`, that was used in it."""
    error: str | None = None
    """A code: of what ended it, or of a use of a tool in it."""
    text: str | None = None
    """Words, or how they begin, that were said together in it: by people, by the model or by a
    tool. Capitals do not matter."""
    mine: bool = False
    """Only what the caller has started."""


@dataclass(frozen=True, slots=True)
class TracePlace:
    """A run's place in a list, newest first. Ids do not sort by time: some are made of a claim."""

    started_at: datetime
    run: RunId

    @classmethod
    def of(cls, trace: RunTrace) -> Self:
        return cls(trace.started_at, trace.run)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `BadCursor`."""
        moment, _, run = text.partition(" ")
        try:
            started_at = datetime.fromisoformat(moment)
            place = cls(started_at, RunId.parse(run))
        except (ValueError, BadId) as error:
            raise BadCursor from error
        if started_at.tzinfo is None:
            raise BadCursor
        return place

    def __str__(self) -> str:
        return f"{self.started_at.astimezone(UTC).isoformat()} {self.run}"
