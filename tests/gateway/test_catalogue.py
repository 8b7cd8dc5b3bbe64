"""What is held in memory follows what is written, and search never waits for it long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from portico.gateway.catalogue import CATALOGUE
from portico.testing.gateway import a_tool
from tests.gateway.open_room import ANA, READ, OpenRoom


@asynccontextmanager
async def running(room: OpenRoom) -> AsyncIterator[None]:
    task = asyncio.ensure_future(room.gateway.catalogues.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_the_shelf_is_kept_until_something_changes() -> None:
    room = OpenRoom()
    async with running(room):
        await room.gateway.catalogues.current(ANA)
        await asyncio.sleep(0.01)
        first = await room.gateway.catalogues.current(ANA)
        second = await room.gateway.catalogues.current(ANA)
        room.replace(READ)
        room.bus.wake(ANA.space, CATALOGUE)
        await asyncio.sleep(0.01)
        third = await room.gateway.catalogues.current(ANA)

    assert first is second
    assert third is not first
    assert len(third.tools) == 2


async def test_a_space_that_was_looked_at_before_anybody_listened_is_followed_as_well() -> None:
    room = OpenRoom()
    await room.gateway.catalogues.current(ANA)
    async with running(room):
        await asyncio.sleep(0.01)
        first = await room.gateway.catalogues.current(ANA)
        second = await room.gateway.catalogues.current(ANA)
        room.replace(READ)
        room.bus.wake(ANA.space, CATALOGUE)
        await asyncio.sleep(0.01)
        third = await room.gateway.catalogues.current(ANA)

    assert first is second
    assert len(third.tools) == 2


async def test_the_index_follows_the_shelf() -> None:
    room = OpenRoom()
    async with running(room):
        before = await room.gateway.catalogues.finder(ANA)
        room.replace(READ)
        room.bus.wake(ANA.space, CATALOGUE)
        await asyncio.sleep(0.01)
        after = await room.gateway.catalogues.finder(ANA)

    assert len(before.live.tools) == 4
    assert len(after.shelf.tools) == 2


async def test_a_search_over_an_older_index_finds_nothing_that_is_gone() -> None:
    room = OpenRoom()
    finder = await room.gateway.catalogues.finder(ANA)
    room.replace(replace(a_tool("files.read", "Other."), accepted_pin="another"))
    newer = finder.on(await room.gateway.catalogues.current(ANA))

    found = await room.use.find_tools.look_up(newer, ["read a file"], 10)

    assert [str(match.ref) for match in found.found] == ["sky.forecast"]
