"""The two ends that `portico stdio` joins: a client's pipes, and the running server."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final, Self

import httpx2

from portico.interfaces.cli.house import Whereabouts
from portico.interfaces.cli.server import NotReached, NotRunning, ours, read_key
from portico.kernel.errors import PorticoError

_LONGEST: Final = 8 * 1024 * 1024
"""Bytes of a line; the server takes half of it."""
_TOO_LONG: Final = b"?"
"""What stands for the beginning of a line that is cut off: no message begins so."""
_PART: Final = 64 * 1024
_AHEAD: Final = 16
"""Lines that are read before they are taken."""


class Link:
    """Our own server is met on its private socket, as by every other command."""

    def __init__(
        self, client: httpx2.AsyncClient, socket: Path | None, missing: PorticoError
    ) -> None:
        self.client = client
        self.missing = missing
        """What to say when it is not there."""
        self._socket = socket

    @classmethod
    @asynccontextmanager
    async def to(
        cls, where: Whereabouts, key_file: Path | None, context: str | None = None
    ) -> AsyncIterator[Self]:
        """Without a key only whether it is ready can be asked. Raises `NoKey`."""
        key = None if key_file is None else read_key(key_file, agent=True)
        url = where.remote or where.server_url
        socket = None if where.remote else where.private_socket
        async with httpx2.AsyncClient(
            base_url=url,
            headers={
                **({} if key is None else {"Authorization": f"Bearer {key}"}),
                **({} if context is None else {"Portico-Context": context}),
            },
            timeout=httpx2.Timeout(None, connect=5),
            limits=httpx2.Limits(max_connections=None),
            trust_env=False,
            transport=None if socket is None else httpx2.AsyncHTTPTransport(uds=str(socket)),
        ) as client:
            yield cls(client, socket, NotReached(url) if where.remote else NotRunning(url))

    @property
    def there(self) -> bool:
        """Whether it may be spoken to: nobody else's socket is shown the key."""
        return self._socket is None or ours(self._socket)

    async def ready(self) -> bool:
        if not self.there:
            return False
        try:
            return (await self.client.get("/readyz", timeout=5)).status_code == 200
        except httpx2.TransportError:
            return False


class PipedOutput:
    """A message a line. Raises `BrokenPipeError` when whoever reads has gone."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __call__(self, message: bytes) -> None:
        self._stream.write(message + b"\n")
        self._stream.flush()


async def lines_of_input(source: int = 0) -> AsyncIterator[bytes]:
    """Until the input ends, whatever it is: a pipe, a file, a terminal. A line that is too long
    comes as something that is no message."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)

    def put(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    # A thread of its own: not every input can be waited for by a loop, and none that waits for it
    # may keep the process from ending.
    threading.Thread(target=_read, args=(source, put), daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def _read(source: int, put: Callable[[bytes | None], None]) -> None:
    unfinished = bytearray()
    with suppress(RuntimeError, CancelledError):  # the loop has ended before the input
        while part := _part(source):
            unfinished += part
            if b"\n" in part:
                *lines, rest = bytes(unfinished).split(b"\n")
                unfinished = bytearray(rest)
                for line in filter(None, map(bytes.strip, lines)):
                    put(line if len(line) <= _LONGEST else _TOO_LONG)
            elif len(unfinished) > _LONGEST:
                unfinished = bytearray(_TOO_LONG)
        if last := bytes(unfinished).strip():
            put(last)
        put(None)


def _part(source: int) -> bytes:
    """Nothing at its end; one that was closed, or whose terminal has gone, has ended too."""
    try:
        return os.read(source, _PART)
    except OSError:
        return b""


async def events(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """What each server-sent event says."""
    data: list[str] = []
    async for line in answer.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            if said := "\n".join(data).strip():
                yield said.encode()
            data = []
