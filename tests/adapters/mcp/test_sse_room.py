"""An old server over SSE that takes nothing more: whoever waits for room is told how it ends."""

import asyncio
from typing import cast

import httpx2
import pytest

from portico.adapters.mcp import sse
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.endpoint import Endpoint
from portico.adapters.mcp.sse import EventStream
from portico.adapters.mcp.wire import Asked, Broken

ASKED = Asked("tools/call", {"name": "x"})

NO_MORE = httpx2.Response(200, content=b"", request=httpx2.Request("GET", "http://old.test/sse"))


class Slow:
    """Takes a POST when it is let."""

    largest = 1_000

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)
        self.bodies: list[bytes] = []

    async def post(self, body: bytes, _headers: object) -> "Taken":
        await self.let.acquire()
        self.bodies.append(body)
        return Taken()

    async def close(self) -> None: ...


class Taken:
    status_code = 202

    async def aclose(self) -> None: ...


@pytest.fixture(autouse=True)
def room_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "_UNSENT", 2)


async def asked(duplex: Duplex, times: int) -> "list[asyncio.Task[object]]":
    asking = [asyncio.ensure_future(duplex.ask(ASKED)) for _ in range(times)]
    for _ in range(3):
        await asyncio.sleep(0)
    return cast("list[asyncio.Task[object]]", asking)


async def test_whoever_waits_for_room_is_told_that_there_will_be_none() -> None:
    slow = Slow()
    stream = EventStream(cast("Endpoint", slow))
    duplex = Duplex(stream)
    stream.tasks.append(asyncio.ensure_future(stream.write(duplex, cast("Endpoint", slow))))
    asking = await asked(duplex, 6)

    await stream.read(duplex, NO_MORE)
    async with asyncio.timeout(3):
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
    await duplex.close()

    assert all(isinstance(each, Broken) for each in outcomes)
    assert sum(not each.reached for each in outcomes if isinstance(each, Broken)) == 3


async def test_whoever_waits_for_room_goes_on_with_the_first_that_there_is() -> None:
    slow = Slow()
    stream = EventStream(cast("Endpoint", slow))
    duplex = Duplex(stream)
    stream.tasks.append(asyncio.ensure_future(stream.write(duplex, cast("Endpoint", slow))))
    asking = await asked(duplex, 6)

    for taken in range(1, 7):
        slow.let.release()
        async with asyncio.timeout(3):
            while len(slow.bodies) < taken:  # noqa: ASYNC110 # nothing tells of it
                await asyncio.sleep(0)

    assert not any(each.done() for each in asking)
    for each in asking:
        each.cancel()
    await duplex.close()
