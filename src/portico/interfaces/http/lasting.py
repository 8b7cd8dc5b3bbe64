"""An answer that lasts: one connection, for as long as both sides want it."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from portico.interfaces.http.line import line_of
from portico.interfaces.http.sse import MEDIA_TYPE

_log: Final = logging.getLogger("portico.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """Seconds."""

    heartbeat: float = 15.0
    """How often it says that it is still there, and asks whether it may still be heard."""
    patience: float = 20.0
    """How long one send may take until the client is let go; it can come again."""


MANNERS: Final = Manners()


class Stirred(Protocol):
    """Whoever waits for news, and looks again when it is stirred."""

    def stir(self) -> None: ...


class Lasting(Response):
    """Server-sent events; `stream` says which."""

    media_type = MEDIA_TYPE

    def __init__(self, manners: Manners) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._manners = manners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        line = line_of(scope)
        connection = Connection(send, self._manners)
        connection.left = line is not None and line.ending
        if line is not None:
            line.when_ending(connection.leave)
        leaving = asyncio.create_task(connection.until_left(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with asyncio.timeout(None) as connection.limit:
                await self.stream(connection)
                await connection.send(b"", more=False)
        except TimeoutError:
            if not connection.gave_up:
                raise
            _log.info("a client that did not read its events was let go")
            if line is not None:
                line.cut()
                await leaving
        finally:
            if line is not None:
                line.when_ending(None)
            connection.close()
            leaving.cancel()
            await asyncio.wait([leaving])

    async def stream(self, connection: "Connection") -> None:
        raise NotImplementedError


class Connection:
    """Its clock runs by itself, so that waiting and sending need none of their own."""

    def __init__(self, send: Send, manners: Manners) -> None:
        self.left = False
        self.gave_up = False
        self.limit: asyncio.Timeout | None = None
        self._send = send
        self._manners = manners
        self._follower: Stirred | None = None
        self._loop = asyncio.get_running_loop()
        self._sending_since: float | None = None
        self._beat_at = self._loop.time() + manners.heartbeat
        self._tick = min(manners.heartbeat, manners.patience) / 4
        self._clock = self._loop.call_later(self._tick, self._ticked)

    def follows(self, follower: Stirred) -> None:
        self._follower = follower

    def heartbeat_due(self) -> bool:
        """Once each time."""
        now = self._loop.time()
        due = now >= self._beat_at
        if due:
            self._beat_at = now + self._manners.heartbeat
        return due

    async def send(self, body: bytes, *, more: bool = True) -> None:
        self._sending_since = self._loop.time()
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
        self._sending_since = None

    async def until_left(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.leave()

    def leave(self) -> None:
        self.left = True
        self._stir()

    def close(self) -> None:
        self._clock.cancel()

    def _ticked(self) -> None:
        now, since = self._loop.time(), self._sending_since
        self._clock = self._loop.call_later(self._tick, self._ticked)
        stuck = since is not None and now - since > self._manners.patience
        if stuck and self.limit is not None and not self.gave_up:
            self.gave_up = True
            self.limit.reschedule(now)
        elif now >= self._beat_at:
            self._stir()

    def _stir(self) -> None:
        if self._follower is not None:
            self._follower.stir()
