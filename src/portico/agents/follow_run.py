"""Follow what is said and done in a run, and hear how it ended."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from portico.agents.core.happening import (
    RunEnded,
    TextAdded,
    ThoughtAdded,
    Told,
    ToolEnded,
    ToolWaits,
)
from portico.agents.core.spoken import Spoken
from portico.agents.core.trace import AgentRunStatus, RunTrace, WholeTrace
from portico.agents.own_run import ended_of, inside, seen
from portico.agents.ports import Talk, Tasks, Traces
from portico.engine.ports import RunBook
from portico.guard.approvals import Approvals
from portico.guard.core.access_request import TaskContext
from portico.guard.core.approvals import Approval, Status
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

_STEP: Final = re.compile(r"~approval:call-(\d+)-(\d+)\b")
_BROKEN: Final = "agent_run_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRun:
    traces: Traces
    talk: Talk
    tasks: Tasks
    book: RunBook
    clock: Clock

    async def __call__(
        self, caller: Principal, run: RunId, *, after: str | None = None
    ) -> AsyncGenerator[Told, None]:
        """From where one left off, to its end, which is always told. Whoever follows it has read
        what the run has. Raises `AgentRunNotFound`, `BadCursor`."""
        trace = (await seen(self.traces, caller, run)).run
        whole, read = _Whole(), await self._take_over(caller, trace)
        async with aclosing(self.talk.follow(caller, run, after=after)) as telling:
            async for told in telling:
                if isinstance(told.happening, ToolEnded | RunEnded) and not _all(trace, read):
                    read = await self._take_over(caller, trace)
                if isinstance(told.happening, RunEnded) and await self._goes_on(caller, run, told):
                    continue
                if whole.lets_through(told):
                    yield told
                if isinstance(told.happening, RunEnded):
                    return
        yield Told(ended_of(await self.settled(caller, run)), None)

    async def seen(self, caller: Principal, run: RunId) -> WholeTrace:
        """Taken in by the caller's task. Raises `AgentRunNotFound`."""
        trace = await seen(self.traces, caller, run)
        await self._take_over(caller, trace.run)
        return trace

    async def _goes_on(self, caller: Principal, run: RunId, ended: Told) -> bool:
        """Somebody has taken it up again since: that was not its end."""
        if not (await self.traces.read(caller, run)).run.status.over:
            return True
        last = ended.cursor
        return last is not None and await self.talk.went_on(caller, run, after=last)

    async def _take_over(self, caller: Principal, run: RunTrace) -> TaskContext:
        return await self.tasks.take_over(caller, after=inside(caller, run))

    async def settled(self, caller: Principal, run: RunId) -> RunTrace:
        """Of one that is over. It may have ended before it could say so: its starter was disabled
        meanwhile, or it was taken up so often that somebody has to look."""
        trace = (await self.traces.read(caller, run)).run
        if trace.status.over:
            return trace
        found = await self.book.get(caller, run)
        if not found.status.over:
            return trace
        failure = found.failure
        broken = replace(
            trace,
            status=AgentRunStatus.FAILED,
            ended_at=found.finished_at or self.clock.now(),
            error_code=_BROKEN if failure is None else failure.code or _BROKEN,
            error=f"It is {found.status}." if failure is None else failure.message,
        )
        await self.traces.end(caller, broken)
        # What is kept, which is not this if it has said so meanwhile.
        return (await self.traces.read(caller, run)).run


def _all(run: RunTrace, read: TaskContext) -> bool:
    """Whether nothing more can be read in it: what strangers wrote, and as secret as it may be."""
    return read.untrusted and read.label.covers(run.label)


@dataclass(slots=True)
class _Whole:
    """Whoever comes while the model speaks hears live words only once those before them have come
    from what is kept: those words are told again with them, and no gap is."""

    text: Spoken = field(default_factory=Spoken)
    thought: Spoken = field(default_factory=Spoken)

    def lets_through(self, told: Told) -> bool:
        piece = told.happening
        if not isinstance(piece, TextAdded | ThoughtAdded):
            return True
        before = self.text if isinstance(piece, TextAdded) else self.thought
        if told.cursor is None and before.misses(piece):
            return False
        if isinstance(piece, TextAdded):
            self.text = before.after(piece)
        else:
            self.thought = before.after(piece)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOf:
    follow_run: FollowRun
    approvals: Approvals
    clock: Clock

    async def __call__(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunEnded | ToolWaits | None:
        """How it ended, if it does so in time; else what it waits for then, if it waits for
        people. Without patience, as it is now. Raises `AgentRunNotFound`."""
        trace = await self.follow_run.seen(caller, run)
        if not trace.run.status.over and patience > timedelta(0):
            ended = await self._ended(caller, run, patience)
            if ended is not None:
                return ended
            trace = await self.follow_run.seen(caller, run)
        if trace.run.status.over:
            return ended_of(trace.run)
        return await self._waits(caller, run, trace)

    async def _ended(self, caller: Principal, run: RunId, patience: timedelta) -> RunEnded | None:
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(patience.total_seconds()),
                aclosing(self.follow_run(caller, run)) as telling,
            ):
                async for told in telling:
                    if isinstance(told.happening, RunEnded):
                        return told.happening
        return None

    async def _waits(self, caller: Principal, run: RunId, trace: WholeTrace) -> ToolWaits | None:
        now = self.clock.now()
        asked = await self.approvals.of_run(caller, run)
        waiting = (each for each in asked if each.status_at(now) is Status.WAITING)
        first = next(waiting, None)
        return None if first is None else _waits_for(trace, first)


def _waits_for(trace: WholeTrace, asked: Approval) -> ToolWaits:
    found = _STEP.match("" if asked.waiter is None else asked.waiter.topic)
    turn, place = (0, 0) if found is None else (int(found[1]), int(found[2]))
    calls = next((each.calls for each in trace.turns if each.number == turn), ())
    return ToolWaits(
        turn=turn,
        call=calls[place].id if place < len(calls) else "",
        tool=asked.tool,
        approval=asked.id,
        expires_at=asked.expires_at,
    )
