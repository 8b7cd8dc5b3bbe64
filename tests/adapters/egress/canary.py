"""A listener of this machine that nobody should ever reach, and remembers who did."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Canary:
    ports: dict[str, int] = field(default_factory=dict)
    """By the address it listens at."""
    hits: list[bytes] = field(default_factory=list)
    """The first bytes of every connection."""

    @property
    def port(self) -> int:
        return self.ports["127.0.0.1"]


async def greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nINTERNAL")
    await writer.drain()


@asynccontextmanager
async def canary(
    answer: Answer = greeted, *, hosts: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> AsyncIterator[Canary]:
    found = Canary()

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            found.hits.append(await reader.read(65_536))
            await answer(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            open_ones.discard(task)

    open_ones: set[asyncio.Task[None]] = set()
    servers = []
    for host in hosts:
        server = await asyncio.start_server(met, host, port)
        servers.append(server)
        found.ports[host] = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        for server in servers:
            server.close()
        left = list(open_ones)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def listener(host: str = "127.0.0.1") -> socket.socket:
    return socket.create_server((host, 0))
