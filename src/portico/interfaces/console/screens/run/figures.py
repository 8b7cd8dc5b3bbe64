"""The numbers above everything: how long it took, how far it has come, what was saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.interfaces.console.screens.run.seen import Seen
from portico.interfaces.console.screens.run.tasks import Sort, Span, State, Task, covered

_MOMENT: Final = timedelta(milliseconds=1)
_AT_ONCE: Final = 8
"""So many calls a server may well take at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
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


def figures_of(seen: Seen, now: datetime) -> Figures:
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
    return Figures(
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


def _at_work(seen: Seen) -> bool:
    return not seen.over and any(task.state is State.RUNNING for task in seen.tasks)
