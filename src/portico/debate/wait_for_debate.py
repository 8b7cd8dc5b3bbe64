"""Wait for a debate to end, as long as somebody has patience."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta

from portico.debate.core.debate import Debate, DebateId
from portico.debate.core.happening import DebateEnded, Told
from portico.debate.look_at_debates import LookAtDebates
from portico.kernel.principal import Principal

Following = Callable[[Principal, DebateId], AsyncGenerator[Told, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForDebate:
    look: LookAtDebates
    follow_debate: Following

    async def __call__(self, caller: Principal, debate: DebateId, *, patience: timedelta) -> Debate:
        """As it is once it is over, or once patience is. Whoever waits has read it. Raises
        `DebateNotFound`."""
        now = (await self.look.one(caller, debate)).debate
        if now.status.over or patience <= timedelta(0):
            return now
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(patience.total_seconds()),
                aclosing(self.follow_debate(caller, debate)) as telling,
            ):
                async for told in telling:
                    if isinstance(told.happening, DebateEnded):
                        break
        return (await self.look.one(caller, debate)).debate
