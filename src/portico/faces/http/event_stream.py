"""A stream of server-sent events on one connection, for as long as both sides want it."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from portico.engine.core.cursor import Positions
from portico.engine.core.errors import StoreUnavailable
from portico.engine.run_events import LAST_WORDS
from portico.engine.subscription import Subscription
from portico.engine.tails import Tails
from portico.faces.http.authentication import Caller, CallerAgain
from portico.faces.http.line import line_of
from portico.faces.http.sse import END, HEARTBEAT, MEDIA_TYPE, retry_after
from portico.faces.http.use_cases import Use
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.http")
_numbers: Final = itertools.count()

Still = Callable[[Principal, Label], Awaitable[None]]
"""Whether somebody may still watch, who had this clearance. Raises what says that they may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """Seconds."""

    heartbeat: float = 15.0
    """How often it says that it is still there, and asks whether it may still be heard."""
    patience: float = 20.0
    """How long one send may take until the client is let go; it can come again."""


MANNERS: Final = Manners()


class EventStream(Response):
    media_type = MEDIA_TYPE

    def __init__(
        self, asked: "Asked", positions: Positions, still: Still, *, ends_with_run: bool
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._tails = asked.tails
        self._manners = asked.manners
        self._caller = asked.caller
        self._again = asked.again
        self._positions = positions
        self._still = still
        self._ends_with_run = ends_with_run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        line = line_of(scope)
        connection = _Connection(send, self._manners)
        connection.left = line is not None and line.ending
        if line is not None:
            line.when_ending(connection.leave)
        leaving = asyncio.create_task(connection.until_left(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with asyncio.timeout(None) as connection.limit:
                await self._stream(connection)
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

    async def _stream(self, connection: "_Connection") -> None:
        # Not all at once: those who are let go together do not come again together.
        await connection.send(retry_after(1000 + next(_numbers) * 37 % 2000))
        caller: Principal | None = self._caller
        positions = self._positions
        while caller is not None:
            async with self._tails.follow(caller, positions) as subscription:
                connection.follows(subscription)
                caller = await self._follow(connection, caller, subscription)
                positions = subscription.positions

    async def _follow(
        self, connection: "_Connection", caller: Principal, subscription: Subscription
    ) -> Principal | None:
        """Until there is nothing more, or the caller may see more or less than before."""
        while not (connection.left or subscription.broken):
            if connection.heartbeat_due():
                now = await self._asked_again(caller)
                if now is None or now.clearance != caller.clearance:
                    return now
                await connection.send(HEARTBEAT)
            try:
                told = await subscription.more()
            except StoreUnavailable:
                return None
            if told:
                await connection.send(told)
            elif self._ends_with_run and subscription.last in LAST_WORDS:
                await connection.send(END)
                return None
            else:
                await subscription.stirred()
        return None

    async def _asked_again(self, caller: Principal) -> Principal | None:
        try:
            now = (await self._again()).principal
            await self._still(now, caller.clearance)
        except StoreUnavailable:
            return caller  # nobody can tell, and nothing is told meanwhile either
        except PorticoError:
            return None
        return now


@dataclass(frozen=True, slots=True)
class Asked:
    """What every stream needs, whatever is watched."""

    tails: Tails
    manners: Manners
    caller: Principal
    again: CallerAgain

    def of_run(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=True)

    def of_topics(self, positions: Positions, still: Still) -> EventStream:
        return EventStream(self, positions, still, ends_with_run=False)


def _asked(request: Request, use: Use, caller: Caller, again: CallerAgain) -> Asked:
    return Asked(use.tails, request.app.state.manners, caller, again)


Streams = Annotated[Asked, Depends(_asked)]


class _Connection:
    """Its clock runs by itself, so that waiting and sending need none of their own."""

    def __init__(self, send: Send, manners: Manners) -> None:
        self.left = False
        self.gave_up = False
        self.limit: asyncio.Timeout | None = None
        self._send = send
        self._manners = manners
        self._subscription: Subscription | None = None
        self._loop = asyncio.get_running_loop()
        self._sending_since: float | None = None
        self._beat_at = self._loop.time() + manners.heartbeat
        self._tick = min(manners.heartbeat, manners.patience) / 4
        self._clock = self._loop.call_later(self._tick, self._ticked)

    def follows(self, subscription: Subscription) -> None:
        self._subscription = subscription

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
        if self._subscription is not None:
            self._subscription.stir()
