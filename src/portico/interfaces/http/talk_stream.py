"""What is told of a run of an agent, or of a debate, on one connection, in the words of whoever
asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final, Generic, Protocol, TypeVar

from fastapi import Depends, Request

from portico.engine.core.errors import StoreUnavailable
from portico.guard.authentication import Entry
from portico.interfaces.http.authentication import Caller, CallerAgain
from portico.interfaces.http.lasting import Connection, Lasting, Manners
from portico.interfaces.http.line import Line
from portico.interfaces.http.sse import HEARTBEAT
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

Item = TypeVar("Item")
Told = TypeVar("Told")
Told_contra = TypeVar("Told_contra", contravariant=True)

_MOST: Final = 256
"""That is told and not yet sent: whoever reads slowly is told slowly."""


class Telling(Protocol[Told_contra]):
    """The words for it, of one protocol."""

    @property
    def waits(self) -> bool:
        """Whether it is people that it waits for."""
        ...

    def begun(self) -> bytes: ...

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
                self.stir()
        except PorticoError as error:
            self.error = error
        self._full = True
        self.stir()

    def take(self) -> Item | None:
        return None if self._waiting.empty() else self._waiting.get_nowait()

    def stir(self) -> None:
        self._stirred.set()

    async def stirred(self) -> None:
        await self._stirred.wait()
        self._stirred.clear()


class TalkStream(Lasting, Generic[Told]):
    def __init__(
        self,
        asked: "Listener",
        told: AsyncIterator[Told],
        telling: Telling[Told],
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
                await _send(connection, self._telling.begun())
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
    told: AsyncIterator[Told], telling: Telling[Told], *, patience: float, line: Line | None
) -> PorticoError | None:
    """The same for whoever wants only the end of it: what they are told is left with `telling`.
    What is given back is why there is no more, if it is not what it should be."""
    inbox = Inbox(told)
    telling.begun()
    if line is not None:
        line.when_ending(inbox.stir)
    async with asyncio.TaskGroup() as group:
        filling = group.create_task(inbox.fill())
        try:
            return await _collected(inbox, telling, patience, line)
        finally:
            filling.cancel()
            if line is not None:
                line.when_ending(None)


async def _collected(
    inbox: Inbox[Told], telling: Telling[Told], patience: float, line: Line | None
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
    again: Callable[[], Awaitable[Entry]]


def _listener(request: Request, caller: Caller, again: CallerAgain) -> Listener:
    return Listener(request.app.state.manners, caller, again)


Listening = Annotated[Listener, Depends(_listener)]
