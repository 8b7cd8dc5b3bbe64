"""Wake-ups across processes by LISTEN and NOTIFY: one ear and one mouth a process."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Final, LiteralString

import psycopg
from psycopg import AsyncConnection

from portico.adapters.inline import InlineBus, InlineWakeups
from portico.adapters.postgres.transaction import KEEPALIVE, ListeningConnection
from portico.kernel.clock import Entropy
from portico.kernel.ids import SpaceId

_log: Final = logging.getLogger("portico.postgres")
_LISTEN: Final[LiteralString] = "LISTEN portico_wake"
_NOTIFY: Final[LiteralString] = """
    SELECT pg_notify('portico_wake', said) FROM unnest(%(payloads)s::text[]) said
"""
_TOGETHER: Final = 0.01
"""Seconds: committing a NOTIFY takes a lock that the whole server shares."""
_APART: Final = 0.04
"""Seconds between two where there is much to say: each also wakes every process that listens."""
_PAUSE: Final = 0.5
_PAYLOAD: Final = 7_900
"""Bytes; PostgreSQL takes less than 8,000."""

BusTopic = tuple[str, str]


class PostgresBus:
    """Best effort: what is lost is found by whoever looks by himself now and then."""

    def __init__(self, address: str, entropy: Entropy) -> None:
        self._address = address
        self._name = entropy(8).hex()
        self._here = InlineBus()
        self._unsaid: dict[BusTopic, None] = {}
        self._something = asyncio.Event()

    def wake(self, space: SpaceId, topic: str) -> None:
        self._here.wake(space, topic)
        self._unsaid[str(space), topic] = None
        self._something.set()

    def listen(self, space: SpaceId, topic: str) -> AbstractContextManager[InlineWakeups]:
        return self._here.listen(space, topic)

    async def say_all(self) -> None:
        """What is still to be said, for a process that does not `run` this and is about to end."""
        try:
            async with await self._connect("portico mouth") as connection:
                await self._say(connection)
        except psycopg.Error:
            _log.info("no wake-ups to other processes")

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._listen_on())
            both.create_task(self._say_on())

    async def _listen_on(self) -> None:
        while True:
            try:
                async with await self._connect("portico ear") as connection:
                    await connection.execute(_LISTEN)
                    # What was said before is lost, and so everybody looks.
                    self._here.wake_all()
                    async for notice in connection.notifies():
                        self._heard(notice.payload)
            except psycopg.Error:
                _log.info("no wake-ups from other processes; trying again")
            await asyncio.sleep(_PAUSE)

    async def _say_on(self) -> None:
        while True:
            try:
                async with await self._connect("portico mouth") as connection:
                    while True:
                        await self._something.wait()
                        await asyncio.sleep(_TOGETHER)
                        await self._say(connection)
                        await asyncio.sleep(_APART)
            except psycopg.Error:
                _log.info("no wake-ups to other processes; trying again")
            await asyncio.sleep(_PAUSE)

    async def _say(self, connection: AsyncConnection) -> None:
        saying, self._unsaid = self._unsaid, {}
        self._something.clear()
        try:
            await connection.execute(_NOTIFY, {"payloads": _payloads(self._name, saying)})
        except psycopg.Error:
            self._unsaid = saying | self._unsaid
            self._something.set()
            raise

    def _heard(self, payload: str) -> None:
        name, *lines = payload.split("\n")
        if name == self._name:
            return
        for line in lines:
            space, _, topic = line.partition("/")
            self._here.wake(SpaceId.parse(space), topic)

    async def _connect(self, name: str) -> AsyncConnection:
        return await ListeningConnection.connect(
            self._address, autocommit=True, application_name=name, **KEEPALIVE
        )


def _payloads(name: str, places: Iterable[BusTopic]) -> list[str]:
    """As few as will hold them all: a name to know one's own by, then a place a line."""
    payloads, size = [name], len(name)
    for space, topic in places:
        line = f"\n{space}/{topic}"
        length = len(line.encode())
        if size + length > _PAYLOAD:
            payloads.append(name)
            size = len(name)
        payloads[-1] += line
        size += length
    return payloads
