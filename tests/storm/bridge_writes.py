"""How a house fills, and goes on being written in."""

from collections.abc import Awaitable, Callable, Mapping
from random import Random

from tests.storm.bridge_lattice import EVERY_LABEL
from tests.storm.bridge_world import World
from tests.storm.bridge_writes_of_talk import (
    acknowledge,
    add_project,
    add_talk,
    delete,
    edit,
    lower,
    member,
    reader_says,
    rename,
    say,
)
from tests.storm.bridge_writes_of_things import (
    add_work,
    attach,
    claim,
    forget,
    lease,
    presence,
    remember,
)
from tests.storm.named import name_of
from tests.storm.walled_house import WalledHouse

Write = Callable[[World], Awaitable[bool]]
"""Whether something was written."""
WRITES: Mapping[Write, int] = {
    say: 8,
    remember: 3,
    edit: 2,
    attach: 2,
    add_work: 2,
    lease: 2,
    member: 2,
    add_talk: 1,
    delete: 1,
    forget: 1,
    claim: 1,
    presence: 1,
    rename: 1,
    acknowledge: 1,
    lower: 1,
    reader_says: 1,
}
"""How often each comes up among the others."""
KINDS = frozenset(name_of(write) for write in WRITES)
_CHANCES = [write for write, often in WRITES.items() for _ in range(often)]


async def write(world: World) -> None:
    """Something, somewhere."""
    await _written(world, world.random.choice(_CHANCES))


async def _written(world: World, write: Write) -> None:
    if await write(world):
        world.wrote[name_of(write)] += 1


async def a_world(house: WalledHouse, seed: int) -> World:
    world = World(house, Random(seed))
    await world.people_enter()
    for label in EVERY_LABEL:
        await add_project(world, label)
    for _ in range(24):
        await _written(world, add_talk)
    for kind in (say, remember, attach, add_work, lease):
        for _ in range(5):
            await _written(world, kind)
    for _ in range(250):
        await write(world)
    await house.embed()
    return world
