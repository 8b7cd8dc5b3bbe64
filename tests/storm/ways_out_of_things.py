"""Every way in which something comes out of memory, files, leases, work, and out of the house."""

from contextlib import aclosing

from portico.bridge.core.attachment import Digest
from tests.storm.bridge_visit import Visit
from tests.storm.bridge_world import COMMON


async def recall(visit: Visit) -> object:
    return await visit.world.house.things.recall(visit.who, *visit.key())


async def memory_history(visit: Visit) -> object:
    return await visit.world.house.things.memory_history(visit.who, *visit.key())


async def list_memory(visit: Visit) -> object:
    random = visit.random
    return await visit.world.house.things.list_memory(
        visit.who,
        visit.project().id,
        prefix=random.choice(["", random.choice(COMMON)]),
        after=visit.key()[1] if random.random() < 0.2 else None,
        limit=random.choice([1, 50]),
    )


async def search_memory(visit: Visit) -> object:
    project, key = visit.key()
    words = visit.asks(visit.random.choice([*COMMON, key.rpartition("/")[2]]))
    return await visit.world.house.things.search_memory(visit.who, project, words)


async def fetch_attachment(visit: Visit) -> object:
    digest = visit.random.choice([*visit.world.files, Digest("0" * 64)])
    return await visit.world.house.things.fetch_attachment(visit.who, digest)


async def list_leases(visit: Visit) -> object:
    return await visit.world.house.things.list_leases(visit.who, visit.project().id)


async def check_lease(visit: Visit) -> object:
    lease = visit.one_of(visit.world.leases, lambda its: its.id)
    visit.asked += [lease.project, lease.resource]
    return await visit.world.house.things.check_lease(
        visit.who, lease.project, lease.resource, lease.token
    )


async def show_work(visit: Visit) -> object:
    work = visit.one_of(visit.world.works, lambda its: its.id)
    return await visit.world.house.things.show_work(visit.who, work.id)


async def list_work(visit: Visit) -> object:
    random, works = visit.random, visit.world.works
    after = str(visit.asks(random.choice(works).id)) if works and random.random() < 0.2 else None
    return await visit.world.house.things.list_work(
        visit.who, visit.project().id, after=after, limit=random.choice([1, 50])
    )


async def list_presence(visit: Visit) -> object:
    return await visit.world.house.things.list_presence(visit.who, visit.project().id)


async def export(visit: Visit) -> object:
    lines = await visit.world.house.use_cases.letting_out.export_project(
        visit.who, visit.project().id
    )
    async with aclosing(lines):
        return [line async for line in lines]
