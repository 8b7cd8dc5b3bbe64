"""Many readers at once in a house that goes on being written in, and in which people come to be
cleared for more and for less."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random
from typing import Any

from portico.adapters.postgres.addresses import Addresses
from portico.kernel.errors import PorticoError
from tests.storm.bridge_bugs import Bug
from tests.storm.deck import dealt, name_of
from tests.storm.leak_oracle import CANARY, Judged, Tally, as_text, refusal
from tests.storm.walled_house import without_waiting_for_the_disk

Way = Callable[[Any], Awaitable[object]]
_A_ROUND = 25
"""Questions of each, between which nothing is written."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Where is read, and in which ways."""

    house: Callable[..., AbstractAsyncContextManager[Any]]
    furnished: Callable[[Any, int], Awaitable[Any]]
    between: Callable[[Any], Awaitable[None]]
    """What happens in a world between two rounds."""
    visit: Callable[[Any, Any, Random], Any]
    ways: Sequence[Way]
    costly: Sequence[Way]
    """Each asks the database many times, or writes."""
    telling: float
    """Canaries that are told at least, for each read."""
    only_refused: AbstractSet[str]
    kinds: AbstractSet[str]
    """Of what is written."""
    at_once: int
    a_world: int
    """Reads, after which there is another: what is there grows, and so do the answers."""

    @property
    def all_ways(self) -> Mapping[str, Way]:
        return {name_of(way): way for way in (*self.ways, *self.costly)}

    @property
    def chances(self) -> Sequence[str]:
        return [name_of(way) for way in (*self.ways, *self.ways, *self.ways, *self.costly)]

    async def visited(self, visit: Any, name: str) -> Judged:
        """One question, and what the oracle finds in what came of it."""
        calls, outcome = 1, "answered"
        try:
            told = await self.all_ways[name](visit)
            calls = visit.calls
        except PorticoError as error:
            told, outcome = refusal(error), error.code
        text = as_text(told)
        found = visit.world.book.leaks(
            text,
            way=name,
            who=str(visit.who.id),
            cleared=visit.cleared,
            asked=as_text(visit.asked),
        )
        return Judged(calls, outcome, len(CANARY.findall(text)), [*found, *visit.wrong])

    async def in_world(self, world: Any, tally: Tally, reads: int) -> None:
        """Until there are so many, or a leak."""
        until = tally.reads.total() + reads
        ways = dealt(self.chances, world.random)
        while tally.reads.total() < until and not tally.leaks:
            await self.between(world)
            async with asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
                    group.create_task(self._reader(world, tally, ways, world.random.random()))

    async def _reader(self, world: Any, tally: Tally, ways: Iterator[str], seed: float) -> None:
        random = Random(seed)
        for _ in range(_A_ROUND):
            way = next(ways)
            visit = self.visit(world, random.choice(world.readers), random)
            tally.note(way, await self.visited(visit, way))

    async def upon(self, addresses: Addresses, seed: int, reads: int) -> Tally:
        """Through the use cases upon a real database, in as many worlds as it takes."""
        without_waiting_for_the_disk(addresses)
        tally = Tally()
        while tally.reads.total() < reads and not tally.leaks:
            number = seed * 1_000 + tally.worlds
            async with self.house(
                addresses, space=f"world {number}", connections=self.at_once + 2
            ) as house:
                world = await self.furnished(house, number)
                await self.in_world(world, tally, min(self.a_world, reads - tally.reads.total()))
            tally.worlds += 1
            tally.wrote += world.wrote
            tally.changed += world.changed
        return tally

    async def not_found(
        self, addresses: Addresses, bugs: Mapping[str, Bug], most: int
    ) -> AbstractSet[str]:
        """Which of these nobody notices within so many reads. One that asks as somebody else is
        stopped by no wall."""
        left = set(bugs)
        async with self.house(addresses, connections=self.at_once + 2) as house:
            world = await self.furnished(house, 5)
            for name, bug in bugs.items():
                world.house, tally = bug.in_(house), Tally()
                await self.in_world(world, tally, most)
                print(f"{name}: found after {tally.reads.total()} reads")
                if tally.leaks:
                    left.remove(name)
                world.house = house
        return left

    def check_much_was_tried(self, tally: Tally, reads: int) -> None:
        """So many reads, by every way out, answered and refused, and with something to tell."""
        print(f"\n{tally}")
        each = reads // len(self.chances) // 2
        assert tally.reads.total() >= reads
        assert {way for way in self.all_ways if tally.reads[way] < each} == set()
        few = {way for way in self.all_ways if tally.answered(way) < each // 16}
        assert few <= self.only_refused
        assert tally.canaries.total() > reads * self.telling
        assert tally.refused.total() > reads // 20
        assert {kind for kind in self.kinds if not tally.wrote[kind]} == set()
        assert tally.wrote.total() > reads // 100
        assert tally.changed > reads // 400
