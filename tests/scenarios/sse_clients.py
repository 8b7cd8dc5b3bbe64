"""Many clients of event streams in one process: python -m tests.scenarios.sse_clients < JSON

Bare sockets and a regular expression: what is measured is the server. Says `ready` when all are
connected, and at the end what became of them as JSON.
"""

import asyncio
import json
import random
import re
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import quantiles
from typing import Any, Final

_NUMBER: Final = re.compile(rb'"n":(\d+)')
_ID: Final = re.compile(rb"id: (\S+)\n")
_AT: Final = re.compile(rb'"at":"([^"]+)"')


@dataclass(frozen=True)
class Crowd:
    port: int
    key: str
    clients: int
    topics: list[str]
    count: int
    """Events in all; which of them are whose is known from the writer's seed."""
    leave: float
    """Forced disconnects a second, of all together."""
    breaks: int
    """And in all: where connecting takes a slow machine longer, some end would never come."""
    patience: float

    def text(self) -> str:
        return json.dumps(asdict(self))

    def expected(self) -> dict[str, list[int]]:
        chance = random.Random(0)
        found: dict[str, list[int]] = {topic: [] for topic in self.topics}
        for number in range(self.count):
            found[chance.choice(self.topics)].append(number)
        return found


class Client(asyncio.Protocol):
    def __init__(self, crowd: Crowd, topic: str, expected: Sequence[int]) -> None:
        self.had = 0
        self.faults = 0
        self.connected = asyncio.Event()
        self.late: list[float] = []
        self._crowd = crowd
        self._topic = topic
        self._expected = expected
        self._cursor = b""
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    @property
    def whole(self) -> bool:
        return self.had == len(self._expected) and not self.faults

    async def connect(self) -> None:
        self._rest = b""
        await asyncio.get_running_loop().create_connection(
            lambda: self, "127.0.0.1", self._crowd.port
        )

    def leave(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        resume = b"Last-Event-ID: " + self._cursor + b"\r\n" if self._cursor else b""
        transport.write(
            f"GET /api/v1/events?topics={self._topic} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self._crowd.port}\r\n"
            f"Authorization: Bearer {self._crowd.key}\r\n".encode()
            + resume
            + b"\r\n"
        )

    def data_received(self, data: bytes) -> None:
        self.connected.set()
        whole, _, self._rest = (self._rest + data).rpartition(b"\n\n")
        numbers = [int(number) for number in _NUMBER.findall(whole)]
        if not numbers:
            return
        if numbers != self._expected[self.had : self.had + len(numbers)]:
            self.faults += 1
        self.had += len(numbers)
        self._cursor = _ID.findall(whole)[-1]
        if len(self.late) < 1000:
            at = datetime.fromisoformat(_AT.findall(whole)[-1].decode())
            self.late.append(time.time() - at.timestamp())

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None


async def attend(crowd: Crowd) -> dict[str, Any]:
    expected = crowd.expected()
    topics = [crowd.topics[place % len(crowd.topics)] for place in range(crowd.clients)]
    clients = [Client(crowd, topic, expected[topic]) for topic in topics]
    for place in range(0, len(clients), 50):
        await asyncio.gather(*(client.connect() for client in clients[place : place + 50]))
        await asyncio.gather(*(client.connected.wait() for client in clients[place : place + 50]))
    print("ready", flush=True)
    deadline, breaks = time.monotonic() + crowd.patience, 0
    chance = random.Random(1)
    started = time.monotonic()
    while not all(client.whole for client in clients) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
        busy = any(client.had < len(client._expected) for client in clients)
        while busy and breaks < min(crowd.breaks, (time.monotonic() - started) * crowd.leave):
            client = chance.choice(clients)
            client.leave()
            await asyncio.sleep(0)
            await client.connect()
            breaks += 1
    late = sorted(seconds for client in clients for seconds in client.late)
    marks = quantiles(late, n=100) if len(late) > 1 else [0.0] * 99
    return {
        "clients": len(clients),
        "whole": sum(client.whole for client in clients),
        "faults": sum(client.faults for client in clients),
        "delivered": sum(client.had for client in clients),
        "breaks": breaks,
        "seconds": time.monotonic() - started,
        "p50": marks[49],
        "p99": marks[98],
    }


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    print(json.dumps(asyncio.run(attend(Crowd(**json.loads(sys.stdin.readline()))))), flush=True)
