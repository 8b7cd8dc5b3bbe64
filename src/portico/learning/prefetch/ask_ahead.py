"""Ask a server what nobody has asked for yet, and look at what it says before it is kept."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Final

from portico.gateway.core.calls import Answer, Target
from portico.gateway.core.reserved_metadata import admits, unmarked
from portico.gateway.ports import Upstreams
from portico.kernel.clock import Clock
from portico.learning.core.prefetch.attempt import Arrival
from portico.learning.core.prefetch.buffer import Buffer, Held
from portico.learning.core.prefetch.gates import ARRIVAL, ArrivalGate, closed
from portico.learning.core.prefetch.staleness import size_of
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.core.prefetch.totals import Waste
from portico.learning.prefetch.flight import Flight
from portico.learning.prefetch.still_so import StillSo
from portico.learning.prefetch_ports import AheadTally

_LONGEST: Final = timedelta(seconds=5)
"""Whatever the terms say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAhead:
    still_so: StillSo
    upstreams: Upstreams
    tally: AheadTally
    clock: Clock
    terms: AheadTerms
    timeout: timedelta
    """Of a call that somebody waits for."""
    gates: Sequence[ArrivalGate] = ARRIVAL
    now: Callable[[], float] = monotonic

    async def __call__(self, flight: Flight, buffer: Buffer) -> Answer | None:
        """What is kept, in what the flight holds; None, with why, if nothing is. Raises as
        `Upstreams` does, and `TimeoutError`."""
        if not await self._as_decided(flight):
            return None
        answer = await self._asked(flight)
        return answer if await self._kept(flight, answer, buffer) else None

    async def _as_decided(self, flight: Flight) -> bool:
        held = flight.held
        if not await self.still_so.on(held):
            flight.why = Waste.SWITCHED
            return False
        if await self.still_so.aim(held.act) != held.act.aim or held.doomed:
            flight.why = Waste.CHANGED
            return False
        return True

    async def _asked(self, flight: Flight) -> Answer:
        held, act = flight.held, flight.held.act
        held.begun_at, held.begun = self.clock.now(), self.now()
        held.until = held.begun + self.terms.keep.total_seconds()
        self.tally.tried(act.caller, held.label, held.wanted.edge)
        target = Target.of(act.caller.space, held.server, act.caller.id, links=False)
        timeout = self._timeout(held)
        longest = flight.patience or min(self.terms.longest, _LONGEST, timeout).total_seconds()
        async with asyncio.timeout(longest) as flight.timer:
            return await self.upstreams.call(
                target, held.wanted.ref.name, act.arguments, timeout=timeout, line=flight.line
            )

    async def _kept(self, flight: Flight, answer: Answer, buffer: Buffer) -> bool:
        """Between the gates and its being kept, nothing else happens."""
        held, act = flight.held, flight.held.act
        took = self.now() - held.begun
        on, aim = await self.still_so.on(held), await self.still_so.aim(act)
        arrival = Arrival(
            act=act,
            aim=aim,
            on=on,
            overtaken=held.doomed,
            failed=answer.failed,
            asked=flight.line.asked,
            orders=admits(answer),
            size=size_of(answer),
            room=buffer.room(act.caller),
        )
        if closed(arrival, self.gates) is not None:
            flight.why = Waste.FAILED if answer.failed else Waste.CHANGED
            return False
        held.answer, held.size, held.took = unmarked(answer), arrival.size, took
        return True

    def _timeout(self, held: Held) -> timedelta:
        own = held.server.timeout
        return timedelta(seconds=own) if own else self.timeout
