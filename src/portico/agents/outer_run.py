"""The run in which an agent starts another: what is left of it for that one, and whether it is
still wanted."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.agent import Limits
from portico.agents.core.errors import AgentRunOver
from portico.agents.core.given import KIND, RunGiven
from portico.agents.core.loop import time_of
from portico.agents.core.trace import AgentRunStatus, RunTrace, WholeTrace
from portico.agents.ports import Traces
from portico.engine.core.runs import Run, RunStatus
from portico.engine.ports import RunBook
from portico.kernel.ids import ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_LOT: Final = 100
_ON: Final = tuple(status for status in RunStatus if not status.over)


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterRun:
    run: RunId
    key: str | None
    """That its own starter came with: once it has ended, the inner run has, too."""
    left: Limits

    def as_json(self) -> JsonObject:
        return {"run": str(self.run), "key": self.key}


async def outer_of(traces: Traces, book: RunBook, caller: Principal) -> OuterRun | None:
    """Of an agent that acts in a run; nobody else has one. Raises `AgentRunOver`."""
    if not caller.shared or caller.context is None:
        return None
    run = await traces.at(caller, caller.context)
    if run is None:
        return None
    found = await still_wanted(traces, book, caller, run)
    inner = [
        (await traces.read(caller, each.id)).run
        async for each in inner_runs(
            book, caller, of=caller.id, at=caller.context, since=found.created_at
        )
    ]
    whole, given = await traces.read(caller, run), RunGiven.from_json(found.input)
    key = given.asker.get("key")
    return OuterRun(
        run=run,
        key=key if isinstance(key, str) else None,
        left=left_of(given.limits, whole, inner),
    )


async def still_wanted(traces: Traces, book: RunBook, caller: Principal, run: RunId) -> Run:
    """Raises `AgentRunOver` if somebody has stopped it, or ended it by force."""
    found = await book.get(caller, run)
    if found.status is RunStatus.CANCELLED or await traces.stop_asked(caller, run):
        raise AgentRunOver(str(run), AgentRunStatus.STOPPED)
    return found


async def inner_runs(
    book: RunBook,
    caller: Principal,
    *,
    of: PrincipalId,
    at: ContextId,
    since: datetime,
    on: bool = False,
) -> AsyncGenerator[Run, None]:
    """What an agent has started in a run of its own, newest first: it was at that run's task."""
    statuses: Sequence[RunStatus] = _ON if on else ()
    before = None
    while True:
        page = await book.page(
            caller, statuses=statuses, kind=KIND, before=before, limit=_LOT, of=of
        )
        for run in page:
            asker = run.input.get("asker")
            if isinstance(asker, Mapping) and asker.get("context") == str(at):
                yield run
        if len(page) < _LOT or page[-1].created_at < since:
            return
        before = page[-1].position


def left_of(limits: Limits, whole: WholeTrace, inner: Sequence[RunTrace]) -> Limits:
    """Of what a run may spend, after itself and those that it has started. Turns are each run's
    own: those of another are no turns of this one."""
    runs = [whole.run, *inner]
    tokens = sum(run.usage.input + run.usage.output for run in runs)
    money = sum((run.money for run in runs), start=Decimal(0))
    calls = len(whole.uses) + sum(run.tool_uses for run in inner)
    seconds = _took(whole).total_seconds()
    return Limits(
        turns=limits.turns,
        tokens=max(limits.tokens - tokens, 0),
        money=max(limits.money - money, Decimal(0)),
        seconds=max(limits.seconds - seconds, 0.0),
        calls=max(limits.calls - calls, 0),
    )


def _took(whole: WholeTrace) -> timedelta:
    """Its turns and its calls; a call of another agent has taken as long as that one's run."""
    took = timedelta(0)
    for turn in whole.turns:
        took += turn.took
        took += time_of(turn, [use for use in whole.uses if use.turn == turn.number])
    return took
