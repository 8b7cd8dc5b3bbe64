"""One request of plain HTTP, handed on to where it belongs, and its answer handed back.

Each side is read and written by its own state machine, so that neither can make the other see where
a message ends differently. One request a connection: a second one would be for somebody else.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import h11

from portico.adapters.egress.tunnel import PIECE, End, Pulse
from portico.sandbox.core.profile import Place

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


class Talk:
    """An end, and how far its conversation has come."""

    def __init__(self, end: End, state: h11.Connection) -> None:
        self.end = end
        self.state = state

    @classmethod
    def asked(cls, near: End) -> "Talk":
        return cls(near, h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD))

    @classmethod
    def asking(cls, far: End) -> "Talk":
        return cls(far, h11.Connection(h11.CLIENT, max_incomplete_event_size=_ANSWER_HEAD))

    async def heard(self) -> Event:
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


async def forward(near: Talk, request: h11.Request, place: Place, far: End, *, idle: float) -> None:
    """Raises `OSError` and `h11.ProtocolError`, or a group of them."""
    beyond = Talk.asking(far)
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


async def _question(near: Talk, beyond: Talk, pulse: Pulse) -> None:
    while isinstance(event := await near.heard(), h11.Data | h11.EndOfMessage):
        pulse.beat()
        await beyond.say(event)


async def _answer(beyond: Talk, near: Talk, pulse: Pulse) -> None:
    while not isinstance(event := await beyond.heard(), h11.EndOfMessage):
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


def _host(place: Place) -> bytes:
    shown = str(place)
    return (shown.removesuffix(":80") if place.port == 80 else shown).encode()
