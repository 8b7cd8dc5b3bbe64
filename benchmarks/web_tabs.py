"""Many tabs that hear what happens, and whether each of them has heard all of it.

python -m benchmarks.web_tabs < JSON
"""

import asyncio
import json
import re
import sys
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.postgres_cpu import postgres_cpu
from benchmarks.web_figures import heard_of, percentile

_TOLD: Final = re.compile(rb'"n":\s?(\d+),\s?"sent":\s?([\d.]+)')
_AT_A_TIME: Final = 20
_PATIENCE: Final = 30.0
_QUIET: Final = 10.0
"""Seconds after the last was written in which a tab may still hear of it."""


class Tab(asyncio.Protocol):
    """One stream. What is heard is read as it comes, and judged when all is over."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self._more = asyncio.Event()
        self.status = b""
        self.open = asyncio.get_running_loop().create_future()
        self.closed = False
        self.heard = array("l")
        self.took = array("d")
        self.bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 # of a stream
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self.bytes += len(data)
        whole = self._rest + data
        if not self.status:
            self.status = whole.partition(b"\r\n")[0]
        # Up to where an event ends: what comes behind it is read with the next piece.
        before, ended, self._rest = whole.rpartition(b"\n\n")
        if not ended:
            return
        if not self.open.done():
            self.open.set_result(None)
        for number, sent in _TOLD.findall(before):
            self.heard.append(int(number))
            self.took.append(now - float(sent))
        self._more.set()

    async def heard_all(self, wanted: int) -> None:
        while len(self.heard) < wanted and not self.closed:
            self._more.clear()
            await self._more.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # it is told as one that broke off
        self.closed = True
        self._more.set()
        if not self.open.done():
            self.open.set_result(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What is asked of this process."""

    host: str
    port: int
    cookie: str
    run: str
    tabs: int
    seconds: int
    rate: int
    server: int
    """Its process."""
    home: str

    def spelled(self) -> str:
        return json.dumps(asdict(self))

    @property
    def request(self) -> bytes:
        return (
            f"GET /live?topics=runs,{self.run} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Cookie: {self.cookie}\r\nAccept: text/event-stream\r\n"
            "Sec-Fetch-Site: same-origin\r\n\r\n"
        ).encode()


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds of processor time, and of time."""

    at: float
    server: float
    postgres: float
    tabs: float

    @classmethod
    def read(cls, server: psutil.Process, home: Path) -> "Clocks":
        used = server.cpu_times()
        return cls(
            time.monotonic(), used.user + used.system, postgres_cpu(home), time.process_time()
        )

    def since(self, before: "Clocks") -> dict[str, float]:
        """Percent of one core."""
        took = (self.at - before.at) / 100
        return {
            "server_cpu_percent": (self.server - before.server) / took,
            "postgres_cpu_percent": (self.postgres - before.postgres) / took,
            "tabs_cpu_percent": (self.tabs - before.tabs) / took,
        }


async def opened(asked: Watching) -> Sequence[Tab]:
    loop, tabs = asyncio.get_running_loop(), list[Tab]()
    while len(tabs) < asked.tabs:
        some = [
            loop.create_connection(lambda: Tab(asked.request), asked.host, asked.port)
            for _ in range(min(_AT_A_TIME, asked.tabs - len(tabs)))
        ]
        fresh = [tab for _, tab in await asyncio.gather(*some)]
        async with asyncio.timeout(_PATIENCE):
            await asyncio.gather(*(tab.open for tab in fresh))
        tabs += fresh
    return tabs


async def measured(asked: Watching) -> dict[str, Any]:
    server, home = psutil.Process(asked.server), Path(asked.home)
    tabs = await opened(asked)
    before = Clocks.read(server, home)
    told = await _written(asked)
    wanted = sum(map(len, told["written"].values()))
    with suppress(TimeoutError):
        async with asyncio.timeout(_QUIET):
            for tab in tabs:
                await tab.heard_all(wanted)
    used = Clocks.read(server, home).since(before)
    return {
        "tabs": asked.tabs,
        "events": wanted,
        "events_per_s": wanted / told["seconds"],
        **_judged(tabs, told["written"]),
        **used,
        "server_mb": server.memory_info().rss / 1_000_000,
        "writer_late_ms": told["late_max"] * 1_000,
    }


def _judged(tabs: Sequence[Tab], written: dict[str, list[int]]) -> dict[str, Any]:
    took = sorted(each for tab in tabs for each in tab.took)
    made = [heard_of(written, tab.heard) for tab in tabs]
    return {
        "complete": sum(each.complete for each in made),
        "missing": sum(each.missing for each in made),
        "twice": sum(each.twice for each in made),
        "out_of_order": sum(each.out_of_order for each in made),
        "refused": sum(b" 200 " not in tab.status for tab in tabs),
        "broken_off": sum(tab.closed for tab in tabs),
        **{f"p{part}_ms": percentile(took, part / 100) * 1_000 for part in (50, 95, 99, 100)},
        "mb": sum(tab.bytes for tab in tabs) / 1_000_000,
    }


async def _written(asked: Watching) -> dict[str, Any]:
    given = (asked.run, str(asked.seconds), str(asked.rate))
    command = [sys.executable, "-m", "benchmarks.web_writer", *given]
    writer = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await writer.communicate()
    if writer.returncode != 0:
        raise RuntimeError(f"the writer ended with {writer.returncode}")
    found: dict[str, Any] = json.loads(said)
    return found


if __name__ == "__main__":
    wish = Watching(**json.loads(sys.stdin.read()))
    print(json.dumps(asyncio.run(measured(wish))), flush=True)
