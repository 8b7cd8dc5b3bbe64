"""What a call has to do with looking ahead: it is noted, and it may have been made already."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from portico.gateway.ahead.lane import Lane
from portico.gateway.ahead.watching import Watching
from portico.gateway.core.call import Answer
from portico.gateway.core.server import Server
from portico.guard.core.access_request import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideCalls:
    lane: Lane
    watching: Watching

    def changing(self, act: Act) -> AbstractContextManager[None]:
        return self.lane.changing(act)

    async def claim(
        self, act: Act, again: Callable[[], Awaitable[Server]], *, timeout: timedelta
    ) -> Answer | None:
        return await self.lane.claim(act, again, timeout=timeout)

    def note(
        self, act: Act, server: Server, began: datetime, answer: Answer, *, in_run: bool = False
    ) -> None:
        self.watching.note(act, server, began, answer, in_run=in_run)
