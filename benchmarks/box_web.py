"""A request through the guarded client beside one of a plain client, to the same small server.

    python -m benchmarks.box_web

is that server; it says on which port it listens.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Final

import httpx2

from benchmarks.boxes import by_round
from portico.adapters.egress.client import guarded_client
from portico.sandbox.core.profile import NetworkEndpoint

_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
_FRESH: Final = 10
_ALONE: Final = {"Connection": "close"}
_HOST: Final = "127.0.0.1"


@dataclass(slots=True)
class _Way:
    client: httpx2.AsyncClient
    url: str
    kept: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)

    async def ask(self, number: int) -> None:
        """Now and then with a connection of its own, which is counted apart."""
        alone = number % _FRESH == 0
        began = time.perf_counter()
        answer = await self.client.get(self.url, headers=_ALONE if alone else None)
        taken = time.perf_counter() - began
        if answer.text != "hello":
            raise RuntimeError(f"the server said {answer.text!r}")
        if number % _FRESH != 1:  # the one that opens the next connection is in neither
            (self.fresh if alone else self.kept).append(taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    plain: float
    guarded: float
    plain_fresh: float
    """With a connection of its own."""
    guarded_fresh: float
    by_round: Sequence[float]


async def measure_requests(rounds: int, requests: int) -> Requests:
    """One request of each in turn."""
    with _answering() as port:
        url, place = f"http://{_HOST}:{port}/", NetworkEndpoint(_HOST, port)
        async with (
            httpx2.AsyncClient(trust_env=False) as one,
            guarded_client(allow=[place]) as other,
        ):
            plain, guarded = _Way(one, url), _Way(other, url)
            for number in range(rounds * requests):
                for way in (plain, guarded) if number % 2 else (guarded, plain):
                    await way.ask(number)
    return Requests(
        plain=median(plain.kept),
        guarded=median(guarded.kept),
        plain_fresh=median(plain.fresh),
        guarded_fresh=median(guarded.fresh),
        by_round=by_round(guarded.kept, plain.kept, max(1, len(plain.kept) // rounds)),
    )


@contextmanager
def _answering() -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.box_web"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 # for the types
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while request := await _request(reader):
        writer.write(_ANSWER)
        if b"connection: close" in request.lower():
            break
    writer.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _serve() -> None:
    server = await asyncio.start_server(_answer, _HOST, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
