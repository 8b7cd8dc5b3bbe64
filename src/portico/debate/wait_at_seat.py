"""Sit at a table until something is asked there, or until patience is over."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.debate.core.debate import DebateId
from portico.debate.core.guest import Seat
from portico.engine.ports import Bus
from portico.kernel.principal import Principal

_LOOK: Final = 2.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
AT_FIRST: Final = timedelta(seconds=5)
"""That whoever has just sat down waits at least: a debate that waits for guests asks them
as soon as it has woken."""
_BREATH: Final = 0.1
"""Seconds; a debate in which much happens is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitAtSeat:
    join_debate: Callable[[Principal, DebateId], Awaitable[Seat]]
    bus: Bus
    at_first: timedelta = AT_FIRST

    async def __call__(self, caller: Principal, which: DebateId, *, patience: timedelta) -> Seat:
        """The seat, once an answer is waited for there or the debate is over, and else as it is
        then. Raises what joining a debate raises."""
        now = asyncio.get_running_loop().time
        until = now() + patience.total_seconds()
        seat = await self.join_debate(caller, which)
        if seat.new:
            until = max(until, now() + self.at_first.total_seconds())
        with self.bus.listen(caller.space, str(seat.run)) as wakeups:
            while True:
                left = until - now()
                if seat.asked is not None or seat.over or left <= 0:
                    return seat
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await asyncio.sleep(_BREATH)
                        await wakeups.wait()
                seat = await self.join_debate(caller, which)
