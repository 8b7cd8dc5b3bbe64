"""Follow the events of a debate."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from portico.debate.conduct import ended_of
from portico.debate.core.conduct import noted, status_of
from portico.debate.core.debates import Debate, DebateId, DebateStatus
from portico.debate.core.events import DebateEnded, DebaterAnswered, DebateStreamItem
from portico.debate.debates import DebateAccess
from portico.debate.ports import Blackboard, DebateContexts, DebateEventSink
from portico.engine.ports import RunQueries
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.label import join
from portico.kernel.principal import Principal

_NO_MORE: Final = ""
"""The cursor of an end that was never told: there is nothing after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowDebate:
    blackboard: Blackboard
    tasks: DebateContexts
    event_sink: DebateEventSink
    book: RunQueries
    clock: Clock

    async def __call__(
        self, caller: Principal, which: DebateId, after: str | None = None
    ) -> AsyncGenerator[DebateStreamItem, None]:
        """From where one left off, to its end, which is always told. Whoever follows it has read
        what is in it by then. Raises `NotPermitted`, `DebateNotFound`, `InvalidCursor`."""
        require_scope(caller, Scope.DEBATES_READ)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see(caller, which)
        answered: set[tuple[str, int]] = set()
        read = whole.debate.label
        async with aclosing(self.event_sink.follow(caller, which, after=after)) as telling:
            async for told in telling:
                happening = told.event
                if not read.covers(told.label):
                    read = join([read, told.label])
                    await self.tasks.read(caller, read, untrusted=True)
                if isinstance(happening, DebaterAnswered | DebateEnded):
                    caller, whole = await see(caller, which)
                if isinstance(happening, DebaterAnswered):
                    place = (happening.voice, happening.round)
                    if place in answered:
                        continue  # told again by whoever carried it on after a crash
                    answered.add(place)
                yield told
                if isinstance(happening, DebateEnded):
                    return
        yield DebateStreamItem(_NO_MORE, ended_of(await self.settled(caller, whole.debate)))

    async def settled(self, caller: Principal, debate: Debate) -> Debate:
        """It may be over without having said so: its starter was disabled meanwhile, or it was
        taken up so often that somebody has to look."""
        whole = await self.blackboard.read(caller, debate.id)
        its, decision = whole.debate, noted(whole.notes)
        if its.status.over:
            return its
        run = await self.book.get(caller, its.run)
        if not run.status.over:
            return its
        now = run.finished_at or self.clock.now()
        failed = DebateStatus.FAILED
        status = failed if decision is None else status_of(decision, whole.notes)
        return await self.blackboard.end(caller, its.id, status, decision, at=now)
