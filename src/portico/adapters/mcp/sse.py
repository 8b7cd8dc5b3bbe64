"""HTTP as it was first: the server speaks on one standing stream, and is spoken to by POST."""

import asyncio
from contextlib import suppress
from typing import Final

import httpx2

from portico.adapters.mcp import wire
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.endpoint import Endpoint, Status, events, is_events
from portico.adapters.mcp.streamable import Spawn
from portico.adapters.mcp.wire import Broken, Crowded

_UNSENT: Final = 1_000


async def open_sse(endpoint: Endpoint, spawn: Spawn) -> Duplex:
    """Raises `Broken`, `Crowded`."""
    response = await endpoint.listen({})
    if response.status_code != 200 or not is_events(response):
        await response.aclose()
        raise Status(response.status_code if response.status_code != 200 else 404, response)
    stream = EventStream(endpoint)
    duplex = Duplex(stream)
    try:
        stream.tasks.append(spawn(stream.read(duplex, response)))
        stream.tasks.append(spawn(stream.write(duplex, await stream.posting)))
    except BaseException:
        await duplex.close()
        raise
    return duplex


class EventStream:
    """The carrier. One POST after the other, so that what is said keeps its order."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(_UNSENT)
        self._news = asyncio.Event()
        """There is room, or there will be none any more."""
        self.posting: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        """Where to, once the server has said so."""
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def process(self) -> int | None:
        return None

    @property
    def ready(self) -> bool:
        return not self._unsent.full()

    async def wait(self) -> None:
        await self._news.wait()

    def send(self, data: bytes) -> None:
        self._unsent.put_nowait(data)
        if self._unsent.full():
            self._news.clear()

    def tell(self, data: bytes) -> None:
        with suppress(asyncio.QueueFull):
            self.send(data)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        self._news.set()
        await self._endpoint.close()

    async def write(self, duplex: Duplex, posting: Endpoint) -> None:
        while duplex.over is None:
            data = await self._unsent.get()
            self._news.set()
            try:
                response = await posting.post(data, {})
                await response.aclose()
                if response.status_code >= 400:
                    raise Status(response.status_code, response)
            except (Broken, Crowded) as error:
                duplex.end(str(error))
        self._news.set()

    async def read(self, duplex: Duplex, response: httpx2.Response) -> None:
        reason = "its stream ended"
        try:
            async for event in events(response, self._endpoint.largest):
                if event.event == "endpoint" and not self.posting.done():
                    self.posting.set_result(self._endpoint.sibling(event.data))
                elif event.event == "message" and event.data:
                    hear(duplex, event.data)
        except Broken as error:
            reason = error.reason
        finally:
            duplex.end(reason)
            self._news.set()
            if not self.posting.done():
                self.posting.set_exception(Broken(reason, reached=False))
            await response.aclose()


def hear(duplex: Duplex, text: str) -> None:
    try:
        duplex.heard(wire.read(text))
    except wire.TooDeep as error:
        duplex.spoil(error.number, str(error))
    except ValueError:
        pass
