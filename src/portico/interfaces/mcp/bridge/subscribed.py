"""What sessions of the older era have subscribed to. They are told on a stream that is not always
there: what happens meanwhile they are told of when it is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from mcp.server.connection import Connection
from starlette.types import Message, Send

from portico.interfaces.mcp.bridge.following import MOST_OF_ONE, Followed, Following
from portico.interfaces.mcp.errors import TooManyListening
from portico.interfaces.mcp.knock import Knock

_PATIENCE: Final = 1.0
"""Seconds to take in a notice."""


@dataclass(slots=True, eq=False)
class _Line:
    """To the client of one session."""

    connection: Connection
    followed: dict[str, Followed] = field(default_factory=dict)
    streams: int = 0
    missed: dict[str, None] = field(default_factory=dict)

    async def tell(self, uri: str) -> None:
        if not self.streams:
            self.missed[uri] = None
            return
        with suppress(TimeoutError):  # who is so slow sees what is new when it reads again
            async with asyncio.timeout(_PATIENCE):
                await self.connection.outbound.notify(
                    "notifications/resources/updated", {"uri": uri}
                )

    async def catch_up(self) -> None:
        missed, self.missed = self.missed, {}
        for uri in missed:
            await self.tell(uri)


@dataclass(slots=True)
class Subscribed:
    following: Following
    _lines: dict[str, _Line] = field(default_factory=dict)
    """By the id of a session."""
    _streams: dict[str, int] = field(default_factory=dict)
    """How many are open to one; also before it subscribes to anything."""

    async def add(self, session: str, connection: Connection, knock: Knock, uri: str) -> None:
        """Twice is once. Raises `TooManyListening`, and what following raises."""
        line = self._lines.get(session)
        if line is None:
            line = self._lines[session] = _Line(connection, streams=self._streams.get(session, 0))
            connection.exit_stack.push_async_callback(self._left, session)
        if uri in line.followed:
            return
        if len(line.followed) >= MOST_OF_ONE:
            raise TooManyListening
        followed = await self.following.open(knock, uri)
        if uri in line.followed:  # asked for twice at once
            await self.following.end([followed])
            return
        line.followed[uri] = followed
        self.following.begin(followed, line.tell)

    async def remove(self, session: str, uri: str) -> None:
        line = self._lines.get(session)
        followed = None if line is None else line.followed.pop(uri, None)
        if followed is not None:
            await self.following.end([followed])

    @asynccontextmanager
    async def heard(self, session: str, send: Send) -> AsyncIterator[Send]:
        """Around the stream of a session: once it has begun there is somebody who hears."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            await send(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                begun = True
                self._count(session, 1)
                if (line := self._lines.get(session)) is not None:
                    await line.catch_up()

        try:
            yield sending
        finally:
            if begun:
                self._count(session, -1)

    def _count(self, session: str, by: int) -> None:
        self._streams[session] = self._streams.get(session, 0) + by
        if (line := self._lines.get(session)) is not None:
            line.streams = self._streams[session]
        if not self._streams[session]:
            del self._streams[session]

    async def _left(self, session: str) -> None:
        line = self._lines.pop(session)
        await self.following.end([*line.followed.values()])
