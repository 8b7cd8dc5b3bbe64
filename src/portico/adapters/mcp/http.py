"""Servers reached over HTTP: Streamable HTTP, SSE of the first revision, resumed streams."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import httpx2
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from portico.adapters.egress.client import GuardedTransport, environment_proxy, place_of
from portico.adapters.egress.dialer import Dialer
from portico.adapters.mcp import transport
from portico.adapters.mcp.secrets import Address
from portico.adapters.mcp.transport import (
    CANCELLED,
    Duplex,
    InvalidMessage,
    Message,
    Overloaded,
    PendingRequest,
    Refusal,
    TransportFailed,
)
from portico.sandbox.core.errors import AddressRefused

# Somebody's address: what is sent there is what its configuration says, and nothing of a caller.
#
# Not an `httpx2.AsyncClient`: that keeps cookies, follows redirects and looks for credentials, each
# of which would one day carry something of one server, or of one space, to another. Its transport
# does none of this. The context for TLS is what is dear to build, and shared; the connections are
# each server's own, so that one that hangs uses up no one else's. They lead to the host and port
# that stand in the launch that was approved, whatever these are, and nowhere else.

_PATIENCE: Final = {"connect": 10.0, "write": 30.0, "pool": 10.0, "read": None}
_BEFORE_SENT: Final = "http11.send_request_headers.started"
_FOLLOWED: Final = 3
_SAME_METHOD: Final = frozenset({307, 308})
_ASIDE: Final = range(300, 400)
_EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
_UNKNOWN: Final = 401
_NOBODY_THERE: Final = frozenset({401, 403, 404, 410, 502, 503, 504})
_NOT_TO_BE_GIVEN: Final = frozenset(
    {
        *("accept", "content-type", "content-length", "transfer-encoding", "connection", "host"),
        *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"),
    }
)
"""Headers of the connection and of the protocol; a configuration that sets them would break it."""


Bearer: TypeAlias = Callable[[str | None], Awaitable[str]]
"""The token of whoever's conversation it is; given one that was refused, another. Raises
`NotLoggedIn`."""


class Status(TransportFailed):
    """An answer of HTTP alone: nobody who speaks the protocol gave it."""

    def __init__(self, number: int, response: httpx2.Response | None = None) -> None:
        reason, fix = _meaning(number)
        super().__init__(reason, reached=number >= 500, fix=fix)
        self.number = number
        if number == _UNKNOWN and response is not None:
            self.login = response.headers.get("www-authenticate", "")

    @property
    def final(self) -> bool:
        """Not if it may be due to what was asked alone."""
        return self.number in _NOBODY_THERE


class NotLoggedIn(TransportFailed):
    """Nobody has asked the server: there is no token to ask it with."""

    def __init__(self) -> None:
        super().__init__("whoever is calling is not logged in there", reached=False)
        self.login = ""


class Endpoint:
    def __init__(
        self,
        address: Address,
        tls: ssl.SSLContext,
        dialer: Dialer,
        *,
        largest: int,
        bearer: Bearer | None = None,
    ) -> None:
        """`bearer` is asked for the token of each request, at the moment in which it is made."""
        self.url = _parsed(address.url)
        self.largest = largest
        self._headers = _given(self.url, address.headers)
        self._transport = _way(self.url, tls, dialer)
        self._bearer = bearer
        self._ended = asyncio.Event()

    def sibling(self, place: str) -> "Endpoint":
        """Another address of the same host, over the same connections. Raises `TransportFailed`."""
        other = copy(self)
        other.url = self._joined(place)
        if not self._same_host(other.url):
            raise TransportFailed(
                "it sends us to another host, where its credentials do not belong"
            )
        return other

    def end(self) -> None:
        """Whoever still waits for a token, or for a connection, sends nothing any more."""
        self._ended.set()

    async def close(self) -> None:
        self.end()
        with suppress(httpx2.HTTPError):
            await self._transport.aclose()

    async def post(self, body: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        """Raises `TransportFailed`, `Overloaded`."""
        accepted = {"accept": f"{JSON}, {_EVENTS}", "content-type": JSON, **headers}
        return await self._send("POST", accepted, body)

    async def listen(self, headers: Mapping[str, str]) -> httpx2.Response:
        """Raises `TransportFailed`, `Overloaded`."""
        return await self._send("GET", {"accept": _EVENTS, "cache-control": "no-store", **headers})

    async def delete(self, headers: Mapping[str, str]) -> httpx2.Response:
        """The farewell: it is sent even after the end. Raises `TransportFailed`, `Overloaded`."""
        return await self._send("DELETE", headers)

    async def _send(
        self, method: str, headers: Mapping[str, str], body: bytes = b""
    ) -> httpx2.Response:
        for _ in range(_FOLLOWED):
            response = await self._as_somebody(method, headers, body)
            if response.status_code not in _ASIDE:
                return response
            self.url = await self._aside(method, response)
        raise TransportFailed("it sends us from one address to the next", reached=False)

    async def _as_somebody(
        self, method: str, headers: Mapping[str, str], body: bytes
    ) -> httpx2.Response:
        """In the name of whose conversation it is. What was not let in has not been done, so that
        it is sent again with a newer token, once."""
        if self._bearer is None:
            return await self._sent(method, headers, body)
        token = await self._bearer(None)
        response = await self._sent(method, _with(headers, token), body)
        if response.status_code != _UNKNOWN:
            return response
        await response.aclose()
        newer = await self._bearer(token)
        return await self._sent(method, _with(headers, newer), body)

    async def _sent(self, method: str, headers: Mapping[str, str], body: bytes) -> httpx2.Response:
        watched = {} if method == "DELETE" else self._watched()
        try:
            made = httpx2.Request(
                method,
                self.url,
                headers=[*self._headers, *headers.items()],
                content=body,
                extensions={"timeout": _PATIENCE, **watched},
            )
            response = await self._transport.handle_async_request(made)
        except httpx2.PoolTimeout as error:
            raise Overloaded("too many calls to it are under way") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise TransportFailed(
                f"no connection to {self.url.host}: {error}", reached=False
            ) from error
        except (httpx2.LocalProtocolError, UnicodeEncodeError) as error:
            # What it says may quote the header, and that may be the secret.
            raise TransportFailed("one of its headers cannot be sent", reached=False) from error
        except httpx2.HTTPError as error:
            raise TransportFailed(f"the connection broke off: {error}") from error
        response.request = made
        return response

    def _watched(self) -> Mapping[str, object]:
        """Looked at now, and again once there is a connection: to close those that are open closes
        none that is still being made. Raises `TransportFailed`."""

        async def trace(event: str, _facts: Mapping[str, object]) -> None:
            if event == _BEFORE_SENT:
                self._check_not_ended()

        self._check_not_ended()
        return {"trace": trace}

    def _check_not_ended(self) -> None:
        if self._ended.is_set():
            raise TransportFailed("it was ended", reached=False)

    async def _aside(self, method: str, response: httpx2.Response) -> httpx2.URL:
        """Only to another path of the same host, and only if we may send the same again there:
        what we send was given to us for this host."""
        await response.aclose()
        target = self._joined(response.headers.get("location", ""))
        again = response.status_code in _SAME_METHOD or method == "GET"
        if not self._same_host(target) or not again or target == self.url:
            shown = target.copy_with(userinfo=b"", query=None, fragment=None)
            raise TransportFailed(
                f"it sends us on to {shown}, where its credentials do not belong",
                reached=False,
                fix=f"If that is where it lives now, set its address to {shown}.",
            )
        return target

    def _joined(self, place: str) -> httpx2.URL:
        try:
            return self.url.join(place)
        except httpx2.InvalidURL as error:
            raise TransportFailed(
                "it sends us to an address that is none", reached=False
            ) from error

    def _same_host(self, other: httpx2.URL) -> bool:
        ours = self.url
        same = (other.scheme, other.host, other.port) == (ours.scheme, ours.host, ours.port)
        return same and other.userinfo in {b"", ours.userinfo}


async def whole(response: httpx2.Response, largest: int) -> bytes:
    """Raises `TransportFailed`, and `InvalidMessage` if it is too long."""
    pieces, size = [], 0
    async for piece in _pieces(response):
        size += len(piece)
        if size > largest:
            raise InvalidMessage("its answer is too long")
        pieces.append(piece)
    return b"".join(pieces)


async def events(response: httpx2.Response, largest: int) -> AsyncIterator[httpx2.ServerSentEvent]:
    """Raises `TransportFailed`."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise InvalidMessage("its answer is packed, which was not asked for")
    try:
        async for event in httpx2.EventSource(response, max_event_size=largest):
            yield event
    except httpx2.SSEError as error:
        raise InvalidMessage("one of its events is too long") from error
    except httpx2.HTTPError as error:
        raise TransportFailed(f"the connection broke off: {error}") from error


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Never unpacked: a few bytes could become more than we have room for."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise InvalidMessage("its answer is packed, which was not asked for")
    try:
        async for piece in response.aiter_raw():
            yield piece
    except httpx2.HTTPError as error:
        raise TransportFailed(f"the connection broke off: {error}") from error


def kind(response: httpx2.Response) -> str:
    content: str = response.headers.get("content-type", "")
    return content.partition(";")[0].strip().lower()


def is_events(response: httpx2.Response) -> bool:
    return kind(response) == _EVENTS


def _meaning(number: int) -> tuple[str, str | None]:
    if number in {401, 403}:
        fix = "Give it its credentials, as a header Authorization in its configuration."
        return f"it wants to know who is calling (HTTP {number})", fix
    if number in {400, 404, 405, 406, 410, 415}:
        return f"nothing there speaks MCP (HTTP {number})", "Check its address."
    return f"it answered with HTTP {number}", None


def _parsed(url: str) -> httpx2.URL:
    """Raises `TransportFailed`."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise TransportFailed(
            "its address is none", reached=False, fix="Check its address."
        ) from error
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise TransportFailed(
            "its address is none of HTTP", reached=False, fix="Check its address."
        )
    return parsed


def _given(url: httpx2.URL, headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    given = {"accept-encoding": "identity", "user-agent": "portico"}
    if url.userinfo:
        pair = unquote(url.userinfo.decode()).encode()
        given["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    given.update({name.lower(): value for name, value in headers.items()})
    return [(name, value) for name, value in given.items() if name not in _NOT_TO_BE_GIVEN]


def _with(headers: Mapping[str, str], token: str) -> dict[str, str]:
    return {**headers, "authorization": f"Bearer {token}"}


def _way(url: httpx2.URL, tls: ssl.SSLContext, dialer: Dialer) -> GuardedTransport:
    """By the proxy that whoever runs Portico has set for all programs, if they have. Raises
    `TransportFailed`."""
    try:
        proxy = environment_proxy(url)
    except AddressRefused as error:
        raise TransportFailed(str(error), reached=False, fix=error.fix) from error
    place = place_of(proxy or url)
    return GuardedTransport(dialer.narrowed([place], public=False), tls, proxy=proxy)


_RESUMED: Final = 3
_UNHURRIED: Final = 1.0
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


@dataclass(slots=True)
class StreamPosition:
    """How far a stream has come."""

    last: str = ""
    pause: float = FIRST_PAUSE
    fruitless: int = 0
    """How often in a row it was taken up again in vain."""

    def note(self, event: httpx2.ServerSentEvent) -> None:
        if event.id and event.id != self.last:
            self.last, self.fruitless = event.id, 0
        if event.retry is not None:
            self.pause = event.retry / 1000

    @property
    def resumable(self) -> bool:
        return bool(self.last) and self.fruitless < _RESUMED

    def rest(self, *, asking: bool) -> float:
        """Seconds until it is taken up again. While somebody is asked it has nothing to say, and
        may be cut for as long as they think."""
        if asking:
            return min(max(self.pause, _UNHURRIED), LONGEST_PAUSE)
        self.fruitless += 1
        return min(self.pause, LONGEST_PAUSE)


# Streamable HTTP: a request is a POST, and its answer comes back on that, alone or as a stream.
#
# What a server asks in the course of a call comes on the stream of that call, so it is never in
# doubt whose it is. Only what comes on the standing stream (GET) of the older era belongs to
# nobody.

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
        self._asides: dict[PendingRequest, dict[asyncio.Task[None], Message]] = {}
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

    async def ask(self, asked: PendingRequest) -> Message:
        if self._over is not None:
            raise TransportFailed(self._over, reached=False)
        number = next(self._numbers)
        body = transport.written(transport.request(number, asked))
        try:
            response = await self._endpoint.post(body, {**self._standing(), **asked.headers})
            return await self._answered(number, asked, response)
        except (TransportFailed, Overloaded, Refusal):
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

    async def _answered(
        self, number: int, asked: PendingRequest, response: httpx2.Response
    ) -> Message:
        drained = False
        self._words += 1
        try:
            if response.status_code >= 400:
                await self._object(number, response)
            if response.status_code == _ACCEPTED:
                raise InvalidMessage("it took the request, and will not answer it")
            if asked.method == "initialize":
                self._session = response.headers.get(_SESSION)
            if kind(response) == JSON:
                return transport.result_of(_read(await whole(response, self._endpoint.largest)))
            if not is_events(response):
                raise InvalidMessage(f"it answered with {kind(response)[:80]!r}")
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
            raise Overloaded("it says that it is asked too much")
        said = await self._said(response)
        of_session = self._session is not None and status in _SESSION_LOST
        if of_session and not _of_request(number, said):
            self._over = "its session is over"
            raise TransportFailed(self._over, reached=False)
        with suppress(TransportFailed):
            transport.result_of(said)
        raise Status(status, response)

    async def _said(self, response: httpx2.Response) -> Message:
        """Nothing, if it is no message."""
        if kind(response) == JSON:
            with suppress(TransportFailed):
                return _read(await whole(response, self._endpoint.largest))
        return {}

    async def _streamed(self, asked: PendingRequest, response: httpx2.Response) -> Message:
        """Servers of the older era may cut the stream, also on purpose; it goes on from where we
        say it was cut."""
        place = StreamPosition()
        while True:
            try:
                return await self._until_answered(asked, response, place)
            except TransportFailed as error:
                await response.aclose()
                if self._modern or not place.resumable or not error.final:
                    raise
            await asyncio.sleep(place.rest(asking=bool(self._asides.get(asked))))
            response = await self._endpoint.listen({**self._standing(), _LAST_EVENT: place.last})
            if response.status_code != 200:
                await response.aclose()
                raise TransportFailed("its stream ended without an answer")

    async def _until_answered(
        self, asked: PendingRequest, response: httpx2.Response, place: StreamPosition
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
                return transport.result_of(message)
            if transport.asks_somebody(message):
                self.deliver(asked, message)  # it may answer, or end, before they do
            else:
                await self._heard(asked, message)
        raise TransportFailed("its stream ended without an answer")

    async def _heard(self, asked: PendingRequest, message: Message) -> None:
        answer = None if asked.receive is None else await asked.receive(message)
        if answer is not None:
            await self._post(answer)

    async def _post(self, message: Message) -> None:
        """What has no answer; if it does not arrive, the other side will notice."""
        with suppress(TransportFailed, Overloaded):
            response = await self._endpoint.post(transport.written(message), self._standing())
            await response.aclose()

    def _give_up(self, number: int, asked: PendingRequest) -> None:
        """In the modern era the end of the stream says it all."""
        if asked.may_cancel and not self._modern:
            self._gave_up = True
            self.tell(transport.notification(CANCELLED, {"requestId": number}))

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

    def deliver(self, asked: PendingRequest, stray: Message) -> None:
        asides = self._asides.setdefault(asked, {})
        if len(asides) < transport.MOST_OPEN:
            task = self._begin(self._heard_aside(asked, stray))
            asides[task] = stray
            task.add_done_callback(lambda task: asides.pop(task, None))
        else:
            self._refuse(stray)

    async def _heard_aside(self, asked: PendingRequest, stray: Message) -> None:
        """Whatever becomes of it, the server does not wait for an answer that never comes."""
        try:
            await self._heard(asked, stray)
        except Exception:
            self._refuse(stray)
            raise

    def _refuse(self, stray: Message) -> None:
        if "id" in stray:
            self.tell(transport.nobody_there(stray))

    async def settle(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)
        if not self._modern:
            _ = self._begin(self._listen())

    async def _listen(self) -> None:
        """The standing stream, for as long as there is one."""
        pause, last = FIRST_PAUSE, ""
        while self._over is None:
            with suppress(TransportFailed, Overloaded):
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
                with suppress(TransportFailed, Overloaded, TimeoutError):
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
        return transport.read(text)
    except transport.TooDeep as error:
        raise InvalidMessage(str(error)) from error
    except ValueError as error:
        raise InvalidMessage("what it sent is no message") from error


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
        with suppress(TimeoutError, TransportFailed):
            async with asyncio.timeout(_DRAINED):
                async for _ in stream:
                    pass
    finally:
        await response.aclose()


_UNSENT: Final = 1_000


async def open_sse(endpoint: Endpoint, spawn: Spawn) -> Duplex:
    """Raises `TransportFailed`, `Overloaded`."""
    response = await endpoint.listen({})
    if response.status_code != 200 or not is_events(response):
        await response.aclose()
        raise Status(response.status_code if response.status_code != 200 else 404, response)
    stream = EventStream(endpoint)
    duplex = Duplex(stream)
    try:
        stream.tasks.append(spawn(stream.read(duplex, response)))
        stream.tasks.append(spawn(stream.write(duplex, await stream.posting)))
    except BaseException:
        await duplex.close()
        raise
    return duplex


class EventStream:
    """The carrier. One POST after the other, so that what is said keeps its order."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(_UNSENT)
        self._news = asyncio.Event()
        """There is room, or there will be none any more."""
        self.posting: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        """Where to, once the server has said so."""
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def process(self) -> int | None:
        return None

    @property
    def ready(self) -> bool:
        return not self._unsent.full()

    async def wait(self) -> None:
        await self._news.wait()

    def send(self, data: bytes) -> None:
        self._unsent.put_nowait(data)
        if self._unsent.full():
            self._news.clear()

    def tell(self, data: bytes) -> None:
        with suppress(asyncio.QueueFull):
            self.send(data)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        self._news.set()
        await self._endpoint.close()

    async def write(self, duplex: Duplex, posting: Endpoint) -> None:
        while duplex.over is None:
            data = await self._unsent.get()
            self._news.set()
            try:
                response = await posting.post(data, {})
                await response.aclose()
                if response.status_code >= 400:
                    raise Status(response.status_code, response)
            except (TransportFailed, Overloaded) as error:
                duplex.end(str(error))
        self._news.set()

    async def read(self, duplex: Duplex, response: httpx2.Response) -> None:
        reason = "its stream ended"
        try:
            async for event in events(response, self._endpoint.largest):
                if event.event == "endpoint" and not self.posting.done():
                    self.posting.set_result(self._endpoint.sibling(event.data))
                elif event.event == "message" and event.data:
                    hear(duplex, event.data)
        except TransportFailed as error:
            reason = error.reason
        finally:
            duplex.end(reason)
            self._news.set()
            if not self.posting.done():
                self.posting.set_exception(TransportFailed(reason, reached=False))
            await response.aclose()


def hear(duplex: Duplex, text: str) -> None:
    try:
        duplex.received(transport.read(text))
    except transport.TooDeep as error:
        duplex.spoil(error.number, str(error))
    except ValueError:
        pass
