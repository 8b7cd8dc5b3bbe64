"""A stream without an end ends all the same: when its client goes, when the server does, and when
its key is no longer good."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.guard.authentication import Entry
from portico.interfaces.http.line import line_of
from portico.kernel.errors import Kind, PorticoError

_ASK_AGAIN: Final = 15.0
"""Seconds."""

Again = Callable[[], Awaitable[Entry]]


async def lasting(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, again: Again
) -> None:
    """Whatever ends it, the application is told that its client has gone."""
    ended, sending = asyncio.Event(), _Sending(send)
    line = line_of(scope)
    if line is not None:
        line.when_ending(ended.set)
        if line.ending:
            ended.set()
    asking = asyncio.create_task(_until_refused(again, ended))
    try:
        await app(scope, _or_ended(receive, ended), sending)
        if ended.is_set():
            await sending.finish()
    finally:
        if line is not None:
            line.when_ending(None)
        asking.cancel()
        await asyncio.wait([asking])


class _Sending:
    """Passes everything on; what the application left open, because it thought that nobody was
    there any more, can be finished."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def __call__(self, message: Message) -> None:
        self._open = message["type"] == "http.response.start" or bool(message.get("more_body"))
        await self._send(message)

    async def finish(self) -> None:
        if self._open:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_refused(again: Again, ended: asyncio.Event) -> None:
    while not ended.is_set():
        await asyncio.sleep(_ASK_AGAIN)
        try:
            await again()
        except PorticoError as error:
            if error.kind is Kind.DENIED:
                ended.set()


def _or_ended(receive: Receive, ended: asyncio.Event) -> Receive:
    async def hear() -> Message:
        said, over = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait([said, over], return_when=asyncio.FIRST_COMPLETED)
            return said.result() if said.done() else {"type": "http.disconnect"}
        finally:
            said.cancel()
            over.cancel()

    return hear
