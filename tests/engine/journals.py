"""Journals that hand everything on to the room's own, each but for one thing."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Protocol

from portico.adapters.inline import InlineRuns
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Activation, ClaimedActivation, Failure, RunStatus, Step
from portico.kernel.ids import RunId
from portico.kernel.json import JsonValue
from tests.engine.room import Room


class HasRuns(Protocol):
    runs: InlineRuns


class Through:
    """`before` each of them happens nothing."""

    def __init__(self, room: HasRuns) -> None:
        self._runs = room.runs

    async def before(self) -> None:
        pass

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        await self.before()
        return await self._runs.claim(leg)

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        await self.before()
        return await self._runs.finish(taken, step, told)

    async def announce(self, taken: ClaimedActivation, told: Sequence[NewEntry]) -> bool:
        await self.before()
        return await self._runs.announce(taken, told)

    async def answer(
        self, taken: ClaimedActivation, topics: Sequence[str]
    ) -> Mapping[str, JsonValue] | None:
        await self.before()
        return await self._runs.answer(taken, topics)

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        await self.before()
        return await self._runs.park(taken, topics, wakes_at)

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        await self.before()
        return await self._runs.settle(taken, status, result, failure)


class AwayNowAndThen(Through):
    """Its database is away half of the times that it is asked."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self._dice = Random(7)

    async def before(self) -> None:
        if self._dice.random() < 0.5:
            raise StoreUnavailable("away")


class SlowToNote(Through):
    """Takes a while for what is to be noted, each time another one: what ended first may be
    written down last."""

    def __init__(self, room: Room, dice: Random) -> None:
        super().__init__(room)
        self._dice = dice

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        for _ in range(self._dice.randrange(6)):
            await asyncio.sleep(0)
        return await super().finish(taken, step, told)


class SlowToPark(Through):
    """Says when it is about to put a run away, and then takes its time."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.parking = asyncio.Event()

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        self.parking.set()
        await asyncio.sleep(0.01)
        return await super().park(taken, topics, wakes_at)


class Meanwhile(Through):
    """Something happens just before it puts a run away."""

    def __init__(self, room: Room, happens: Callable[[RunId], Awaitable[object]]) -> None:
        super().__init__(room)
        self._happens = happens

    async def park(
        self, taken: ClaimedActivation, topics: Sequence[str], wakes_at: datetime | None
    ) -> bool | None:
        await self._happens(taken.run.id)
        return await super().park(taken, topics, wakes_at)


class Barring(Through):
    """Whoever the run is for may not any more."""

    async def claim(self, leg: Activation) -> ClaimedActivation | None:
        taken = await super().claim(leg)
        return None if taken is None else replace(taken, barred="ana is disabled")


class Fuse:
    """Burns down by one at each place where a process could be killed."""

    def __init__(self, length: int) -> None:
        self.left = length
        self.gone = asyncio.Event()
        self.at = ""

    async def __call__(self, place: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.at = place
            self.gone.set()
        if self.gone.is_set():
            await asyncio.Event().wait()

    def mended(self) -> None:
        """Another process takes over, and is not killed."""
        self.gone.clear()
        self.left = -1


class FusedJournal(Through):
    """Each step that is noted is a place where a process could be killed."""

    def __init__(self, room: HasRuns, fuse: Fuse) -> None:
        super().__init__(room)
        self._fuse = fuse

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        await self._fuse(f"before noting {step.name}")
        noted = await super().finish(taken, step, told)
        await self._fuse(f"after noting {step.name}")
        return noted

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        await self._fuse("before the run is settled")
        return await super().settle(taken, status, result, failure)
