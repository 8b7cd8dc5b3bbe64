"""The way out of a sandbox: an HTTP proxy, and tunnels to the places that were named."""

import asyncio
import base64
import hmac
import logging
import re
import socket
from asyncio import Server, StreamReader, StreamWriter, Task
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Self

import h11

from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.errors import AddressRefused, InvalidNetworkEndpoint
from portico.sandbox.core.profile import METADATA, Network, NetworkEndpoint, why_not_public

# Two connections made one: what comes from either goes to the other, until both have said all.

PIECE: Final = 64 * 1024
_PARTING: Final = 5.0
_LAST_WORDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class End:
    """One connection, as whoever is at its other side hears and is heard."""

    reader: StreamReader
    writer: StreamWriter

    async def say(self, content: bytes) -> None:
        """As fast as it is taken. Raises `OSError`."""
        self.writer.write(content)
        await self.writer.drain()

    async def say_last(self, content: bytes) -> None:
        """And let it finish: what is closed while the other still speaks takes the last words with
        it. Raises `OSError`."""
        await self.say(content)
        self.writer.write_eof()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                while await self.reader.read(PIECE):
                    pass

    async def part(self) -> None:
        """What was said last may still be on its way; not for ever."""
        try:
            with suppress(OSError):
                async with asyncio.timeout(_PARTING):
                    self.writer.close()
                    await self.writer.wait_closed()
        finally:
            self.writer.transport.abort()


class Pulse:
    """Something moves, or it is over: leaving it raises `TimeoutError` then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer = asyncio.timeout(seconds)

    async def __aenter__(self) -> Self:
        await self._timer.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._timer.__aexit__(kind, error, trace)

    def beat(self, seconds: float | None = None) -> None:
        """`seconds` for how long it may stand still from now on."""
        self._seconds = self._seconds if seconds is None else seconds
        until = asyncio.get_running_loop().time() + self._seconds
        # Not at every piece: setting a timer costs more than carrying one.
        if not self._timer.expired() and abs(until - (self._timer.when() or 0)) > self._seconds / 8:
            self._timer.reschedule(until)


async def tunnel(near: End, far: End, *, idle: float, lingering: float) -> None:
    """`lingering` seconds are what one side has once the other has said all. Raises `OSError`, or a
    group of them."""

    async def carried(start: End, end: End) -> None:
        while piece := await start.reader.read(PIECE):
            pulse.beat()
            await end.say(piece)
        pulse.beat(lingering)
        end.writer.write_eof()

    async with Pulse(idle) as pulse, asyncio.TaskGroup() as group:
        group.create_task(carried(near, far))
        group.create_task(carried(far, near))


# One request of plain HTTP, handed on to where it belongs, and its answer handed back.
#
# Each side is read and written by its own state machine, so that neither can make the other see
# where a message ends differently. One request a connection: a second one would be for somebody
# else.

HEAD: Final = 16 * 1024
_ANSWER_HEAD: Final = 64 * 1024
_NOT_HANDED_ON: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"host"),
        *(b"proxy-connection", b"proxy-authorization", b"proxy-authenticate"),
    }
)
"""What is between two neighbours only; and `Host`, which is what the address says."""

Event = h11.Event | type[h11.PAUSED]


class ForwardedExchange:
    """An end, and how far its conversation has come."""

    def __init__(self, end: End, state: h11.Connection) -> None:
        self.end = end
        self.state = state

    @classmethod
    def asked(cls, near: End) -> "ForwardedExchange":
        return cls(near, h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD))

    @classmethod
    def asking(cls, far: End) -> "ForwardedExchange":
        return cls(far, h11.Connection(h11.CLIENT, max_incomplete_event_size=_ANSWER_HEAD))

    async def receive(self) -> Event:
        """Raises `h11.RemoteProtocolError`, `OSError`."""
        while (event := self.state.next_event()) is h11.NEED_DATA:
            self.state.receive_data(await self.end.reader.read(PIECE))
        assert not isinstance(event, type) or event is h11.PAUSED  # noqa: S101 # said to the checker
        return event

    async def say(self, event: h11.Event) -> None:
        """Raises `h11.LocalProtocolError`, `OSError`."""
        await self.end.say(self.state.send(event) or b"")

    async def say_last(self, *events: h11.Event) -> None:
        """Raises `h11.LocalProtocolError`, `OSError`."""
        await self.end.say_last(b"".join(self.state.send(event) or b"" for event in events))


async def forward(
    near: ForwardedExchange, request: h11.Request, place: NetworkEndpoint, far: End, *, idle: float
) -> None:
    """Raises `OSError` and `h11.ProtocolError`, or a group of them."""
    beyond = ForwardedExchange.asking(far)
    asked = h11.Request(
        method=request.method,
        target=origin_form(request.target),
        headers=[(b"Host", _host(place)), *_handed_on(request.headers)],
    )
    async with Pulse(idle) as pulse, asyncio.TaskGroup() as group:
        await beyond.say(asked)
        question = group.create_task(_question(near, beyond, pulse))
        await _answer(beyond, near, pulse)
        question.cancel()


async def _question(near: ForwardedExchange, beyond: ForwardedExchange, pulse: Pulse) -> None:
    while isinstance(event := await near.receive(), h11.Data | h11.EndOfMessage):
        pulse.beat()
        await beyond.say(event)


async def _answer(beyond: ForwardedExchange, near: ForwardedExchange, pulse: Pulse) -> None:
    while not isinstance(event := await beyond.receive(), h11.EndOfMessage):
        pulse.beat()
        match event:
            case h11.Response():
                await near.say(_response(event))
            case h11.Data() | h11.InformationalResponse():
                await near.say(event)
            case _:
                raise ConnectionResetError("it broke off")
    await near.say(event)


def _response(event: h11.Response) -> h11.Response:
    return h11.Response(
        status_code=event.status_code, headers=_handed_on(event.headers), reason=event.reason
    )


def _handed_on(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = [(name.lower(), value) for name, value in headers]
    named = b",".join(value for name, value in given if name == b"connection")
    private = _NOT_HANDED_ON | {each.strip().lower() for each in named.split(b",")}
    kept = [(name, value) for name, value in given if name not in private]
    return [*kept, (b"connection", b"close")]


def origin_form(target: bytes) -> bytes:
    """`/path?query` of `http://host/path?query`."""
    rest = target.split(b"://", 1)[1]
    start = min((at for at in map(rest.find, (b"/", b"?")) if at >= 0), default=len(rest))
    path = rest[start:].split(b"#", 1)[0]
    return path if path.startswith(b"/") else b"/" + path


def _host(place: NetworkEndpoint) -> bytes:
    shown = str(place)
    return (shown.removesuffix(":80") if place.port == 80 else shown).encode()


# The way out of a box: an HTTP proxy, and straight ways to the places that were named.
#
# The box has no network but the listening sockets that it handed to us, so whatever leaves it
# passes here, and here passes the same gate as everything else.

_log: Final = logging.getLogger("portico.web")

USER: Final = "portico"
_AUTHORITY: Final = re.compile(rb"[^/?#@\\\s]+")
_ABSOLUTE: Final = re.compile(rb"http://([^/?#@\\\s]+)(?:[/?#].*)?", re.IGNORECASE)
_WITH_PORT: Final = re.compile(r":[0-9]+\Z")
_REMEMBERED: Final = 1000
_FULL: Final = b"HTTP/1.1 503 Too many connections at once\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressTerms:
    connections: int = 128
    """At once."""
    head: float = 10.0
    """Seconds in which a request must have said where to."""
    dial: float = 10.0
    idle: float = 1800.0
    """Seconds in which nothing moves before it is over."""
    lingering: float = 60.0
    """The same, once one side has said all."""


class Egress:
    """For one box: what `network` says, and the places in `reach`."""

    def __init__(
        self,
        network: Network,
        reach: Sequence[NetworkEndpoint],
        *,
        dialer: Dialer,
        token: str | None = None,
        terms: EgressTerms | None = None,
    ) -> None:
        self._dialer = dialer.narrowed(reach, public=network is Network.PUBLIC)
        self._token = token
        self._terms = terms or EgressTerms()
        self._servers: list[Server] = []
        self._guests: dict[Task[None], End] = {}
        self._refused: Counter[str] = Counter()
        self._unspoken: set[str] = set()

    @property
    def refused(self) -> Mapping[str, int]:
        """How often, by place."""
        return self._refused

    @property
    def could_be_let(self) -> Sequence[str]:
        """Of those that were refused: where credentials are given out, nobody is shown a way."""
        return [place for place in self._refused if place not in self._unspoken]

    async def serve(self, listener: socket.socket, *, to: NetworkEndpoint | None = None) -> None:
        """From now until `close`, which closes the listener too. Without `to` it is a proxy; else
        every connection leads to that place, which must be among those that may be reached."""
        met = partial(self._met, to=to)
        self._servers.append(await asyncio.start_server(met, sock=listener, limit=PIECE))

    async def close(self) -> None:
        """Whoever is still talking is cut off."""
        for server in self._servers:
            server.close()
        guests = dict(self._guests)
        for each in guests:
            each.cancel()
        await asyncio.gather(*guests, return_exceptions=True)
        for end in guests.values():  # also of those that had not begun
            end.writer.transport.abort()
        for place, times in self._refused.items():
            if times > 1:
                _log.info("%s was refused %d times", place, times)

    def _met(
        self, reader: StreamReader, writer: StreamWriter, *, to: NetworkEndpoint | None
    ) -> None:
        if len(self._guests) >= self._terms.connections:
            writer.write(_FULL if to is None else b"")
            writer.close()
            return
        near = End(reader, writer)
        guest = asyncio.get_running_loop().create_task(self._led_out(near, to))
        self._guests[guest] = near
        guest.add_done_callback(self._guests.pop)

    async def _led_out(self, near: End, to: NetworkEndpoint | None) -> None:
        try:
            await (self._asked(near) if to is None else self._straight(near, to))
        except* (OSError, h11.ProtocolError):
            _log.debug("a connection broke off")
        finally:
            await near.part()

    async def _straight(self, near: End, to: NetworkEndpoint) -> None:
        try:
            far = await self._dialled(to)
        except AddressRefused as error:
            self._note(to, error)
            return
        try:
            await self._joined(near, far)
        finally:
            await far.part()

    async def _asked(self, near: End) -> None:
        talk = ForwardedExchange.asked(near)
        try:
            async with asyncio.timeout(self._terms.head):
                request = await talk.receive()
        except h11.RemoteProtocolError as error:
            await _proxy_answer(talk, error.error_status_hint, str(error))
            return
        if not isinstance(request, h11.Request):  # it left without a word
            return
        if not self._is_known(request):
            await _proxy_answer(
                talk, 407, "Say who you are, with the user and token of your proxy."
            )
            return
        try:
            await self._led(talk, request, _place(request))
        except InvalidNetworkEndpoint as error:
            await _proxy_answer(talk, 400, f"{error} {error.fix}")

    async def _led(
        self, talk: ForwardedExchange, request: h11.Request, place: NetworkEndpoint
    ) -> None:
        try:
            far = await self._dialled(place)
        except AddressRefused as error:
            self._note(place, error)
            await _proxy_answer(talk, 403, f"{error}{_way_to_let_it(place, error)}")
        except OSError as error:
            reason = error.strerror or str(error) or "no answer in time"
            await _proxy_answer(talk, 502, f"{place} cannot be reached: {reason}.")
        else:
            await self._handed_over(talk, request, place, far)

    async def _handed_over(
        self, talk: ForwardedExchange, request: h11.Request, place: NetworkEndpoint, far: End
    ) -> None:
        try:
            if request.method != b"CONNECT":
                await forward(talk, request, place, far, idle=self._terms.idle)
            elif not isinstance(await talk.receive(), h11.EndOfMessage):
                await _proxy_answer(talk, 400, "A CONNECT has no body.")
            else:
                await talk.say(h11.Response(status_code=200, headers=[], reason=b"Connected"))
                early, _ = talk.state.trailing_data
                await far.say(early)
                await self._joined(talk.end, far)
        finally:
            await far.part()

    async def _joined(self, near: End, far: End) -> None:
        await tunnel(near, far, idle=self._terms.idle, lingering=self._terms.lingering)

    async def _dialled(self, place: NetworkEndpoint) -> End:
        """Raises `AddressRefused`, `OSError`."""
        connection = await self._dialer.dial(place.host, place.port, seconds=self._terms.dial)
        try:
            return End(*await asyncio.open_connection(sock=connection, limit=PIECE))
        except BaseException:
            connection.close()
            raise

    def _is_known(self, request: h11.Request) -> bool:
        if self._token is None:
            return True
        pair = base64.b64encode(f"{USER}:{self._token}".encode())
        given = dict(request.headers).get(b"proxy-authorization", b"")
        return hmac.compare_digest(given, b"Basic " + pair)

    def _note(self, place: NetworkEndpoint, error: AddressRefused) -> None:
        """In the log once a place, however often it is tried."""
        if str(place) not in self._refused and len(self._refused) < _REMEMBERED:
            _log.warning("from a box: %s", error)
        if str(place) in self._refused or len(self._refused) < _REMEMBERED:
            self._refused[str(place)] += 1
            if _gives_credentials(place, error):
                self._unspoken.add(str(place))


def _place(request: h11.Request) -> NetworkEndpoint:
    """Raises `InvalidNetworkEndpoint`."""
    target = request.target
    if request.method == b"CONNECT":
        found = _AUTHORITY.fullmatch(target)
        authority, usual = found and found[0], ""
    else:
        found = _ABSOLUTE.fullmatch(target)
        authority, usual = found and found[1], ":80"
    if authority is None or not authority.isascii():
        raise InvalidNetworkEndpoint(target.decode("latin-1"))
    text = authority.decode()
    return NetworkEndpoint.parse(text if _WITH_PORT.search(text) else text + usual)


async def _proxy_answer(talk: ForwardedExchange, status: int, said: str) -> None:
    """In the body, and in the line of the status: most programs show that alone."""
    line = " ".join(said.split())[:300].encode("ascii", "replace")
    headers = [("Content-Type", "text/plain"), ("Connection", "close")]
    if status == 407:
        headers.append(("Proxy-Authenticate", 'Basic realm="portico"'))
    headers.append(("Content-Length", str(len(line) + 1)))
    await talk.say_last(
        h11.Response(status_code=status, headers=headers, reason=line),
        h11.Data(data=line + b"\n"),
        h11.EndOfMessage(),
    )


def _way_to_let_it(place: NetworkEndpoint, error: AddressRefused) -> str:
    """A program may show this to a model: where credentials are given out, no way is shown."""
    if _gives_credentials(place, error):
        return ""
    return f" To let it: portico servers profile NAME --reach {place}"


def _gives_credentials(place: NetworkEndpoint, error: AddressRefused) -> bool:
    return METADATA in error.reason or why_not_public(place.host) == METADATA
