"""What lies between agents and servers: it breaks off after the server has done its work, and kills
whoever asks, or what is asked, just then."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

_SAYING = re.compile(rb"POST /api/v1/conversations/[^/ ]+/messages ")
_HOST = re.compile(rb"host: [^\r]+", re.IGNORECASE)
_KEY = re.compile(rb"idempotency-key: ([^\r]+)", re.IGNORECASE)


class Harm(StrEnum):
    """What happens to one message on its way."""

    DROP = "its answer is dropped"
    KILL_ASKING = "its sender is killed as it asks"
    KILL_ANSWERED = "its sender is killed before the answer comes"
    LOSE = "nobody is asked, and it is acknowledged all the same"


@dataclass
class Proxy:
    servers: Sequence[int]
    """Their ports."""
    kill: Callable[[str], None]
    """Whoever has this name."""
    harms: Mapping[int, Harm]
    """By the number of the message among all that came by."""
    done: list[tuple[Harm, str]] = field(default_factory=list)
    passed: int = 0
    """Messages so far, those that were sent again among them."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: int = 0
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        server = await self._server()
        if server is not None:
            self._open.add(server[1])
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._carry(reader, writer, *server)
            self._hang_up(server[1])
        self._hang_up(writer)

    def _hang_up(self, writer: asyncio.StreamWriter) -> None:
        self._open.discard(writer)
        writer.close()

    async def close(self) -> None:
        """All lines; whoever waits for an answer on one gets none."""
        for writer in [*self._open]:
            writer.close()
        while self._open:  # noqa: ASYNC110 # each goes by itself
            await asyncio.sleep(0)

    async def _server(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """One that is there, in turn."""
        for _ in self.servers:
            self._turn += 1
            port = self.servers[self._turn % len(self.servers)]
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        """One request after the other, as our agents ask."""
        while request := await _message(reader):
            harm, key = self._harm(request)
            name = key.partition(".")[0]
            if harm is Harm.LOSE:
                writer.write(_acknowledged())
                await writer.drain()
                continue
            if harm is Harm.KILL_ASKING:
                self.kill(name)
            server.write(_HOST.sub(_host(server), request, count=1))
            await server.drain()
            answer = await _message(answers)
            if harm is Harm.KILL_ANSWERED:  # also if the server was killed just then
                self.kill(name)
            if not answer or harm is Harm.DROP:
                return
            writer.write(answer)
            await writer.drain()

    def _harm(self, request: bytes) -> tuple[Harm | None, str]:
        if _SAYING.match(request) is None:
            return None, ""
        found = _KEY.search(request)
        assert found is not None
        key = found[1].decode()
        harm = self.harms.get(self.passed)
        self.passed += 1
        self.moved.set()
        if harm is not None:
            self.done.append((harm, key))
        return harm, key


def _host(server: asyncio.StreamWriter) -> bytes:
    """It answers to nobody else's name."""
    return b"Host: 127.0.0.1:%d" % server.get_extra_info("peername")[1]


def _acknowledged() -> bytes:
    body = json.dumps({"id": "msg_" + "0" * 26}).encode()
    return b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def _message(reader: asyncio.StreamReader) -> bytes:
    """A whole request or answer; empty at the end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        return head + await _chunks(reader)
    length = re.search(rb"content-length: (\d+)", lower)
    return head + await reader.readexactly(int(length[1]) if length else 0)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    whole = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        part = await reader.readexactly(int(size, 16) + 2)
        whole += size + part
        if int(size, 16) == 0:
            return whole
