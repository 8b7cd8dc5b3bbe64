"""Responses that last: the connection under them, server-sent events, and their end."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar

from fastapi import Depends, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Entry, EphemeralEvent
from portico.guard.authentication import Entry as AuthenticationEntry
from portico.interfaces.http.authentication import Caller, CallerAgain
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

_LINE: Final = "portico.line"


class RawConnection:
    def __init__(self, cut: Callable[[], None]) -> None:
        self.cut = cut
        """At once, with what is still to be sent: closing would wait for a client to read it."""
        self.ending = False
        """The server is to end, and waits for this connection."""
        self._told: Callable[[], None] | None = None

    def when_ending(self, told: Callable[[], None] | None) -> None:
        self._told = told

    def end(self) -> None:
        self.ending = True
        if self._told is not None:
            self._told()


def put_line(scope: Scope, line: RawConnection) -> None:
    scope.setdefault("extensions", {})[_LINE] = line


def line_of(scope: Scope) -> RawConnection | None:
    """None under a server that is not ours."""
    found = scope.get("extensions", {}).get(_LINE)
    return found if isinstance(found, RawConnection) else None


MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT: Final = b":\n\n"
END: Final = b"event: end\ndata: {}\n\n"
_UNSAFE: Final = re.compile(r"[^\x21-\x7e]")
_LINE_ENDS: Final = {0x85: r"\u0085", 0x2028: r"\u2028", 0x2029: r"\u2029"}


class ServerSentEvents:
    """The engine's `Wording`."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        # What cannot be UTF-8, half of a surrogate pair, is written as JSON escapes it.
        name = _UNSAFE.sub("_", happened.type)
        text = json.dumps(event_json(happened), ensure_ascii=False, separators=(",", ":"))
        return f"event: {name}\ndata: {one_line(text)}\n\n".encode(errors="backslashreplace")

    def marked(self, cursor: str, told: bytes) -> bytes:
        return f"id: {cursor}\n".encode() + told

    def trimmed(self, topic: str) -> bytes:
        return f"event: reset\ndata: {json.dumps({'topic': topic})}\n\n".encode()


def one_line(text: str) -> str:
    """JSON that is one line to everybody: some readers end one wherever Unicode does."""
    return text.translate(_LINE_ENDS)


def retry_after(milliseconds: int) -> bytes:
    return f"retry: {milliseconds}\n\n".encode()


def event_json(happened: Entry | EphemeralEvent) -> dict[str, Any]:
    return {
        "topic": happened.topic,
        "type": happened.type,
        "at": happened.at.isoformat().replace("+00:00", "Z"),
        "by": None if happened.by is None else str(happened.by),
        "label": str(happened.label),
        "facts": happened.details,
    }


_log: Final = logging.getLogger("portico.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """Seconds."""

    heartbeat: float = 15.0
    """How often it says that it is still there, and asks whether it may still be heard."""
    wait_timeout: float = 20.0
    """How long one send may take until the client is let go; it can come again."""


MANNERS: Final = Manners()


class Stirred(Protocol):
    """Whoever waits for news, and looks again when it is stirred."""

    def wake(self) -> None: ...


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
        self._tick = min(manners.heartbeat, manners.wait_timeout) / 4
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
        stuck = since is not None and now - since > self._manners.wait_timeout
        if stuck and self.limit is not None and not self.gave_up:
            self.gave_up = True
            self.limit.reschedule(now)
        elif now >= self._beat_at:
            self._stir()

    def _stir(self) -> None:
        if self._follower is not None:
            self._follower.wake()


Item = TypeVar("Item")
Told = TypeVar("Told")
Told_contra = TypeVar("Told_contra", contravariant=True)

_MOST: Final = 256
"""That is told and not yet sent: whoever reads slowly is told slowly."""


class StreamEncoder(Protocol[Told_contra]):
    """The words for it, of one protocol."""

    @property
    def waits(self) -> bool:
        """Whether it is people that it waits for."""
        ...

    def started(self) -> bytes: ...

    def told(self, told: Told_contra) -> bytes: ...

    def gave_up(self) -> bytes:
        """It waits for people, and whoever follows has waited long enough."""
        ...

    def broke(self, error: PorticoError) -> bytes:
        """Nothing more can be told."""
        ...

    def ended(self) -> bytes:
        """Nothing more is told, whether or not the run has ended."""
        ...


class Inbox(Generic[Item]):
    """Told by one task, taken by another; what fills it is not to be broken off in the middle."""

    def __init__(self, told: AsyncIterator[Item]) -> None:
        self._told = told
        self._waiting: asyncio.Queue[Item] = asyncio.Queue(_MOST)
        self._stirred = asyncio.Event()
        self._full = False
        self.error: PorticoError | None = None

    @property
    def over(self) -> bool:
        return self._full and self._waiting.empty()

    async def fill(self) -> None:
        try:
            async for each in self._told:
                await self._waiting.put(each)
                self.wake()
        except PorticoError as error:
            self.error = error
        self._full = True
        self.wake()

    def take(self) -> Item | None:
        return None if self._waiting.empty() else self._waiting.get_nowait()

    def wake(self) -> None:
        self._stirred.set()

    async def stirred(self) -> None:
        await self._stirred.wait()
        self._stirred.clear()


class RunEventStream(Lasting, Generic[Told]):
    def __init__(
        self,
        asked: "Listener",
        told: AsyncIterator[Told],
        telling: StreamEncoder[Told],
        *,
        patience: float | None = None,
    ) -> None:
        """`patience`: seconds that a run may wait for people until no more is told of it here."""
        super().__init__(asked.manners)
        self._again = asked.again
        self._caller = asked.caller
        self._inbox = Inbox(told)
        self._telling = telling
        self._patience = patience

    async def stream(self, connection: Connection) -> None:
        connection.follows(self._inbox)
        async with asyncio.TaskGroup() as group:
            filling = group.create_task(self._inbox.fill())
            try:
                await _send(connection, self._telling.started())
                await self._tell(connection)
            finally:
                filling.cancel()

    async def _tell(self, connection: Connection) -> None:
        until: float | None = None
        while not connection.left:
            if connection.heartbeat_due():
                if not await self._heard_still():
                    return
                await connection.send(HEARTBEAT)
            while (told := self._inbox.take()) is not None:
                await _send(connection, self._telling.told(told))
            if self._inbox.over:
                error = self._inbox.error
                last = self._telling.ended() if error is None else self._telling.broke(error)
                await _send(connection, last)
                return
            until = self._until(until)
            if until is not None and asyncio.get_running_loop().time() >= until:
                await _send(connection, self._telling.gave_up())
                return
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._inbox.stirred()

    def _until(self, until: float | None) -> float | None:
        """When its patience is over, if it waits."""
        if self._patience is None or not self._telling.waits:
            return None
        return asyncio.get_running_loop().time() + self._patience if until is None else until

    async def _heard_still(self) -> bool:
        """Whether whoever follows still is who they were: what a run says is its starter's."""
        try:
            now = (await self._again()).principal
        except StoreUnavailable:
            return True
        except PorticoError:
            return False
        was = self._caller
        return (now.id, now.clearance, now.scopes) == (was.id, was.clearance, was.scopes)


class ServerEnds(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "server_ends"
    title = "The server is about to end"
    fix = "Ask the same again in a moment: the run goes on, and is found by it."

    def __init__(self) -> None:
        super().__init__("The server is about to end, and this answer was not there yet.")


async def collected(
    told: AsyncIterator[Told],
    telling: StreamEncoder[Told],
    *,
    patience: float,
    line: RawConnection | None,
) -> PorticoError | None:
    """The same for whoever wants only the end of it: what they are told is left with `telling`.
    What is given back is why there is no more, if it is not what it should be."""
    inbox = Inbox(told)
    telling.started()
    if line is not None:
        line.when_ending(inbox.wake)
    async with asyncio.TaskGroup() as group:
        filling = group.create_task(inbox.fill())
        try:
            return await _collected(inbox, telling, patience, line)
        finally:
            filling.cancel()
            if line is not None:
                line.when_ending(None)


async def _collected(
    inbox: Inbox[Told], telling: StreamEncoder[Told], patience: float, line: RawConnection | None
) -> PorticoError | None:
    while True:
        while (each := inbox.take()) is not None:
            telling.told(each)
        if inbox.over:
            return inbox.error
        if line is not None and line.ending:
            return ServerEnds()
        try:
            async with asyncio.timeout(patience if telling.waits else None):
                await inbox.stirred()
        except TimeoutError:
            telling.gave_up()
            return None


async def _send(connection: Connection, body: bytes) -> None:
    if body:
        await connection.send(body)


@dataclass(frozen=True, slots=True)
class Listener:
    """Who follows, and how such a connection is kept."""

    manners: Manners
    caller: Principal
    again: Callable[[], Awaitable[AuthenticationEntry]]


def _listener(request: Request, caller: Caller, again: CallerAgain) -> Listener:
    return Listener(request.app.state.manners, caller, again)


Listening = Annotated[Listener, Depends(_listener)]
