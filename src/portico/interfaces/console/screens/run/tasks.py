"""What a run does, one thing at a time, whatever kind of run it is: what the page draws."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.workflows.core.plan_report import Items


class State(StrEnum):
    """How a task stands; each has a word of its own, so that no colour has to say it alone."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """For somebody's yes."""
    ASLEEP = "asleep"
    """For a time, or for something to be told."""
    UNCERTAIN = "uncertain"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_NEEDED = "not_needed"

    @property
    def over(self) -> bool:
        return self in _OVER

    @property
    def words(self) -> str:
        return _WORDS.get(self, str(self))


_OVER: Final = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.NOT_NEEDED})
_WORDS: Final = {
    State.WAITING: "needs approval",
    State.ASLEEP: "waits",
    State.UNCERTAIN: "nobody knows",
    State.NOT_NEEDED: "not needed",
}


class Sort(StrEnum):
    RAN = "ran"
    FAILED = "failed"
    """An attempt that came to nothing."""
    WAITED = "waited"
    """Nothing was done meanwhile: somebody or a time was waited for."""


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime
    end: datetime | None
    """None while it goes on."""
    sort: Sort = Sort.RAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    """By which it is known in its run."""
    tool: str
    """`server.tool`, or in words what it is."""
    state: State
    needs: Sequence[str] = ()
    spans: Sequence[Span] = ()
    tries: int = 0
    ahead: bool = False
    """Whether it was begun before it was asked for."""
    items: Items | None = None
    why: str | None = None
    """Why it failed, was left out, or waits."""
    approval: str | None = None
    handle: str | None = None
    """Where what it gave is kept, for whoever may read it."""
    size: int | None = None
    code: str | None = None
    """Of the error that ended it."""

    @property
    def server(self) -> str:
        server, dot, _ = self.tool.partition(".")
        return server if dot else ""

    @property
    def short(self) -> str:
        server, dot, tool = self.tool.partition(".")
        return tool if dot else server

    @property
    def works(self) -> bool:
        """Whether it is more than a pause."""
        return not self.spans or any(span.sort is not Sort.WAITED for span in self.spans)

    @property
    def started(self) -> datetime | None:
        return min((span.start for span in self.spans), default=None)

    @property
    def ended(self) -> datetime | None:
        ends = [span.end for span in self.spans if span.end is not None]
        return max(ends, default=None) if len(ends) == len(self.spans) else None

    def took(self, now: datetime) -> timedelta | None:
        """What it was at work for, without what it waited."""
        work = [span for span in self.spans if span.sort is not Sort.WAITED]
        return covered(work, now) if work else None


def covered(spans: Sequence[Span], now: datetime) -> timedelta:
    """How long at least one of them was on."""
    if len(spans) == 1:
        [span] = spans
        return max((span.end or now) - span.start, timedelta(0))
    return sum((end - start for start, end in merged(spans, now)), timedelta(0))


def merged(spans: Iterable[Span], now: datetime) -> Sequence[tuple[datetime, datetime]]:
    """When at least one of them was on, in order, without overlaps."""
    found: list[tuple[datetime, datetime]] = []
    for start, end in sorted((span.start, max(span.end or now, span.start)) for span in spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
