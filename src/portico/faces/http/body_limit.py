"""No request is larger than what any of ours needs to be."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST: Final = 1_000_000


class BodyLimit:
    """Counts what is read, whatever the request says of its own length; 413 past the limit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)
