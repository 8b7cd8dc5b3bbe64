"""What is held in memory follows what is written, and search never waits for it long."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.search_text import EmbeddingModel
from portico.gateway.search_index import Finder
from portico.kernel.effect import Effect
from portico.testing.gateway import a_tool
from tests.gateway.open_room import ANA, READ, WRITE, OpenRoom, ref
from tests.turns import settled

TRANSLATE = a_tool("files.translate", "Translates it into Portuguese.", effect=Effect.LOCAL_READ)


@asynccontextmanager
async def running(room: OpenRoom) -> AsyncIterator[None]:
    task = asyncio.ensure_future(room.gateway.catalogues.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def completed(room: OpenRoom) -> Finder:
    """Once the encoder's vectors are in it."""
    async with asyncio.timeout(30):
        while not (finder := await room.gateway.catalogues.finder(ANA)).complete:  # noqa: ASYNC110 # seen only so
            await asyncio.sleep(0.01)
    return finder


@pytest.mark.parametrize("looked_at_before", [False, True])
async def test_the_shelf_is_kept_until_it_changes(room: OpenRoom, looked_at_before: bool) -> None:
    if looked_at_before:
        await room.gateway.catalogues.current(ANA)
    async with running(room):
        await room.gateway.catalogues.current(ANA)
        await settled()
        first = await room.gateway.catalogues.current(ANA)
        second = await room.gateway.catalogues.current(ANA)
        room.replace(READ)
        room.bus.wake(ANA.space, CATALOGUE)
        await settled()
        third = await room.gateway.catalogues.current(ANA)

    assert first is second
    assert third is not first
    assert len(third.tools) == 2


async def test_the_index_follows_the_shelf(room: OpenRoom) -> None:
    async with running(room):
        before = await room.gateway.catalogues.finder(ANA)
        room.replace(READ)
        room.bus.wake(ANA.space, CATALOGUE)
        await settled()
        after = await room.gateway.catalogues.finder(ANA)

    assert len(before.live.tools) == 4
    assert len(after.snapshot.tools) == 2


async def test_a_search_over_an_older_index_finds_nothing_that_is_gone(room: OpenRoom) -> None:
    finder = await room.gateway.catalogues.finder(ANA)
    room.replace(replace(a_tool("files.read", "Other."), accepted_pin="another"))
    newer = finder.on(await room.gateway.catalogues.current(ANA))

    found = await room.use.find_tools.look_up(newer, ["read a file"], 10)

    assert [str(match.ref) for match in found.found] == ["sky.forecast"]


async def test_a_tool_that_comes_while_others_are_encoded_is_found_at_once() -> None:
    encoder = SlowEncoder()
    room = OpenRoom(encoder=encoder)
    async with running(room):
        encoder.answers.clear()
        room.gateway.catalogues.wait_timeout = timedelta(seconds=30)
        before = await room.gateway.catalogues.finder(ANA)
        await encoder.begun.wait()
        room.replace(READ, WRITE, TRANSLATE)
        room.bus.wake(ANA.space, CATALOGUE)
        await settled()

        found = await room.use.find_tools(ANA, ["translate into Portuguese"])

        encoder.answers.set()
        after = await completed(room)

    assert not before.complete
    assert found.hits[0].ref == ref("files.translate")
    assert "files.translate" in {tool.ref for tool in after.live.tools}


async def test_what_several_look_for_at_first_is_encoded_once() -> None:
    encoder = SlowEncoder()
    room = OpenRoom(encoder=encoder)
    async with running(room):
        await asyncio.gather(*(room.gateway.catalogues.finder(ANA) for _ in range(5)))
        await completed(room)

    texts = [text for some in encoder.asked for text in some]
    assert len(texts) == len(set(texts))


async def test_what_goes_while_it_is_encoded_is_not_found_by_what_was_encoded() -> None:
    encoder = SlowEncoder()
    room = OpenRoom(encoder=encoder)
    async with running(room):
        encoder.answers.clear()
        await room.gateway.catalogues.finder(ANA)
        await encoder.begun.wait()
        room.replace(WRITE)
        room.bus.wake(ANA.space, CATALOGUE)
        await settled()
        encoder.answers.set()
        await completed(room)

        found = await room.use.find_tools(ANA, ["read the text of a file"])

    assert ref("files.read") not in {hit.ref for hit in found.hits}


class SlowEncoder:
    model = EmbeddingModel("slow", 8, "of the test")

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []
        self.away = False
        self.begun = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(texts)
        self.begun.set()
        await self.answers.wait()
        if self.away:
            raise EmbedderUnavailable("It is away.")
        return np.full((len(texts), 8), 8**-0.5, np.float32)
