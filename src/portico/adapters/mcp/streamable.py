"""Streamable HTTP: a request is a POST, and its answer comes back on that, alone or as a stream.

What a server asks in the course of a call comes on the stream of that call, so it is never in
doubt whose it is. Only what comes on the standing stream (GET) of the older era belongs to nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, Final, TypeAlias

import httpx2
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from portico.adapters.mcp import wire
from portico.adapters.mcp.endpoint import JSON, Endpoint, Status, events, is_events, kind, whole
from portico.adapters.mcp.resuming import FIRST_PAUSE, LONGEST_PAUSE, Place
from portico.adapters.mcp.wire import CANCELLED, Asked, Broken, Crowded, Message, Refusal, Spoilt

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Begins what nobody waits for."""

_SESSION: Final = "mcp-session-id"
_LAST_EVENT: Final = "last-event-id"
_DRAINED: Final = 1.0
"""Seconds for a stream to end after its answer, so that the connection can be used again."""
_GOODBYE: Final = 1.0
_NOTED: Final = 5.0
"""Seconds for a server to take a note; a connection that waits for it is one that no call has."""
_MOST_NOTES: Final = 32
_TOO_MANY: Final = 429
_ACCEPTED: Final = 202
_SESSION_LOST: Final = frozenset({400, 404})
_OF_SESSIONS: Final = (-32600, -32001, -32000)
"""Codes that servers give to what is wrong with a session, for want of one that says so."""


def _unheard(_: object) -> None:
    pass


class Streamable:
    silence = 10.0

    def __init__(self, endpoint: Endpoint, spawn: Spawn) -> None:
        self._endpoint = endpoint
        self._spawn = spawn
        self._numbers = count(1)
        self._session: str | None = None
        self._over: str | None = None
        self._gave_up = False
        self._words = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._notes: set[asyncio.Task[None]] = set()
        self._asides: dict[Asked, dict[asyncio.Task[None], Message]] = {}
        self.version: str | None = None
        self.stray: Callable[[Message], None] = _unheard
        self.ended: Callable[[str], None] = _unheard

    @property
    def over(self) -> str | None:
        return self._over

    @property
    def process(self) -> int | None:
        return None

    @property
    def words(self) -> int | None:
        return self._words

    @property
    def abandoned(self) -> bool:
        return self._gave_up

    @property
    def _modern(self) -> bool:
        return self.version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, asked: Asked) -> Message:
        if self._over is not None:
            raise Broken(self._over, reached=False)
        number = next(self._numbers)
        body = wire.written(wire.request(number, asked))
        try:
            response = await self._endpoint.post(body, {**self._standing(), **asked.headers})
            return await self._answered(number, asked, response)
        except (Broken, Crowded, Refusal):
            raise
        except BaseException:
            self._give_up(number, asked)
            raise
        finally:
            for task, stray in self._asides.pop(asked, {}).items():
                task.cancel()
                self._refuse(stray)

    def _standing(self) -> dict[str, str]:
        """What goes with everything that we send in this session."""
        standing = {} if self._session is None else {_SESSION: self._session}
        if self.version is not None:
            standing[MCP_PROTOCOL_VERSION_HEADER] = self.version
        return standing

    async def _answered(self, number: int, asked: Asked, response: httpx2.Response) -> Message:
        drained = False
        self._words += 1
        try:
            if response.status_code >= 400:
                await self._object(number, response)
            if response.status_code == _ACCEPTED:
                raise Spoilt("it took the request, and will not answer it")
            if asked.method == "initialize":
                self._session = response.headers.get(_SESSION)
            if kind(response) == JSON:
                return wire.result_of(_read(await whole(response, self._endpoint.largest)))
            if not is_events(response):
                raise Spoilt(f"it answered with {kind(response)[:80]!r}")
            answer = await self._streamed(asked, response)
            drained = True
            return answer
        finally:
            if not drained:
                await response.aclose()

    async def _object(self, number: int, response: httpx2.Response) -> None:
        """Raises what an answer that is none means."""
        status = response.status_code
        if status == _TOO_MANY:
            raise Crowded("it says that it is asked too much")
        said = await self._said(response)
        of_session = self._session is not None and status in _SESSION_LOST
        if of_session and not _of_request(number, said):
            self._over = "its session is over"
            raise Broken(self._over, reached=False)
        with suppress(Broken):
            wire.result_of(said)
        raise Status(status, response)

    async def _said(self, response: httpx2.Response) -> Message:
        """Nothing, if it is no message."""
        if kind(response) == JSON:
            with suppress(Broken):
                return _read(await whole(response, self._endpoint.largest))
        return {}

    async def _streamed(self, asked: Asked, response: httpx2.Response) -> Message:
        """Servers of the older era may cut the stream, also on purpose; it goes on from where we
        say it was cut."""
        place = Place()
        while True:
            try:
                return await self._until_answered(asked, response, place)
            except Broken as error:
                await response.aclose()
                if self._modern or not place.resumable or not error.final:
                    raise
            await asyncio.sleep(place.rest(asking=bool(self._asides.get(asked))))
            response = await self._endpoint.listen({**self._standing(), _LAST_EVENT: place.last})
            if response.status_code != 200:
                await response.aclose()
                raise Broken("its stream ended without an answer")

    async def _until_answered(
        self, asked: Asked, response: httpx2.Response, place: Place
    ) -> Message:
        stream = events(response, self._endpoint.largest)
        async for event in stream:
            self._words += 1
            place.note(event)
            message = _read(event.data) if event.data else None
            if message is None:
                continue
            if "method" not in message:
                _ = self._begin(_drained(stream, response))
                return wire.result_of(message)
            if wire.asks_somebody(message):
                self.deliver(asked, message)  # it may answer, or end, before they do
            else:
                await self._heard(asked, message)
        raise Broken("its stream ended without an answer")

    async def _heard(self, asked: Asked, message: Message) -> None:
        answer = None if asked.hear is None else await asked.hear(message)
        if answer is not None:
            await self._post(answer)

    async def _post(self, message: Message) -> None:
        """What has no answer; if it does not arrive, the other side will notice."""
        with suppress(Broken, Crowded):
            response = await self._endpoint.post(wire.written(message), self._standing())
            await response.aclose()

    def _give_up(self, number: int, asked: Asked) -> None:
        """In the modern era the end of the stream says it all."""
        if asked.may_cancel and not self._modern:
            self._gave_up = True
            self.tell(wire.notification(CANCELLED, {"requestId": number}))

    def tell(self, message: Message) -> None:
        """What a server has no time to take is left out, so that it still can be called."""
        if self._over is None and len(self._notes) < _MOST_NOTES:
            note = self._begin(self._noted(message))
            self._notes.add(note)
            note.add_done_callback(self._notes.discard)

    async def _noted(self, message: Message) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_NOTED):
                await self._post(message)

    def deliver(self, asked: Asked, stray: Message) -> None:
        asides = self._asides.setdefault(asked, {})
        if len(asides) < wire.MOST_OPEN:
            task = self._begin(self._heard_aside(asked, stray))
            asides[task] = stray
            task.add_done_callback(lambda task: asides.pop(task, None))
        else:
            self._refuse(stray)

    async def _heard_aside(self, asked: Asked, stray: Message) -> None:
        """Whatever becomes of it, the server does not wait for an answer that never comes."""
        try:
            await self._heard(asked, stray)
        except Exception:
            self._refuse(stray)
            raise

    def _refuse(self, stray: Message) -> None:
        if "id" in stray:
            self.tell(wire.nobody_there(stray))

    async def settle(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)
        if not self._modern:
            _ = self._begin(self._listen())

    async def _listen(self) -> None:
        """The standing stream, for as long as there is one."""
        pause, last = FIRST_PAUSE, ""
        while self._over is None:
            with suppress(Broken, Crowded):
                headers = {**self._standing(), **({_LAST_EVENT: last} if last else {})}
                response = await self._endpoint.listen(headers)
                try:
                    if response.status_code != 200 or not is_events(response):
                        return
                    async for event in events(response, self._endpoint.largest):
                        self._words += 1
                        pause, last = FIRST_PAUSE, event.id or last
                        if event.data:
                            self.stray(_read(event.data))
                finally:
                    await response.aclose()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def close(self) -> None:
        already, self._over = self._over, self._over or "it was ended"
        self._endpoint.end()
        for task in self._tasks:
            task.cancel()
        try:
            if self._session is not None and already is None:
                with suppress(Broken, Crowded, TimeoutError):
                    async with asyncio.timeout(_GOODBYE):
                        await (await self._endpoint.delete(self._standing())).aclose()
        finally:
            await self._endpoint.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _read(text: bytes | str) -> Message:
    try:
        return wire.read(text)
    except wire.TooDeep as error:
        raise Spoilt(str(error)) from error
    except ValueError as error:
        raise Spoilt("what it sent is no message") from error


def _of_request(number: int, said: Message) -> bool:
    """Whether it is an answer to this very request, and not to its session. One that says under
    the number of a request that the session is lost would never be spoken to again otherwise."""
    error = said.get("error")
    if str(said.get("id")) != str(number) or not isinstance(error, dict):
        return False
    message = str(error.get("message"))
    return error.get("code") not in _OF_SESSIONS or "session" not in message.lower()


async def _drained(
    stream: AsyncIterator[httpx2.ServerSentEvent], response: httpx2.Response
) -> None:
    try:
        with suppress(TimeoutError, Broken):
            async with asyncio.timeout(_DRAINED):
                async for _ in stream:
                    pass
    finally:
        await response.aclose()
