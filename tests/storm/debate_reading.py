"""Many readers at once in a house that goes on being debated in, and in which people come to be
cleared for more and for less."""

import asyncio
from collections.abc import Iterator
from random import Random

from portico.adapters.postgres.addresses import Addresses
from tests.storm.bridge_tally import Tally
from tests.storm.debate_house import debate_house
from tests.storm.debate_ways_out import CHANCES, Visit, visited
from tests.storm.debate_world import DebateWorld
from tests.storm.debate_writes import a_debating_world, write
from tests.storm.deck import dealt
from tests.storm.walled_postgres import without_waiting_for_the_disk

AT_ONCE = 6
_A_ROUND = 25
"""Questions of each, between which nothing is written."""
_A_WORLD = 5_000
"""Reads, after which there is another: what is there grows, and so do the answers."""


async def read_debates_in(world: DebateWorld, tally: Tally, reads: int) -> None:
    """Until there are so many, or a leak."""
    until = tally.reads.total() + reads
    ways = dealt(CHANCES, world.random)
    while tally.reads.total() < until and not tally.leaks:
        for _ in range(8):
            await write(world)
        await world.change_clearance()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(_reader(world, tally, ways, world.random.random()))


async def _reader(world: DebateWorld, tally: Tally, ways: Iterator[str], seed: float) -> None:
    random = Random(seed)
    for _ in range(_A_ROUND):
        way = next(ways)
        visit = Visit(world, random.choice(world.readers), random)
        tally.note(way, await visited(visit, way))


async def read_debates_upon(addresses: Addresses, seed: int, reads: int) -> Tally:
    """Through the use cases upon a real database, in as many worlds as it takes."""
    without_waiting_for_the_disk(addresses)
    tally = Tally()
    while tally.reads.total() < reads and not tally.leaks:
        number = seed * 1_000 + tally.worlds
        async with debate_house(
            addresses, space=f"debating {number}", connections=AT_ONCE + 2
        ) as house:
            world = await a_debating_world(house, number)
            await read_debates_in(world, tally, min(_A_WORLD, reads - tally.reads.total()))
        tally.worlds += 1
        tally.wrote += world.wrote
        tally.changed += world.changed
    return tally
