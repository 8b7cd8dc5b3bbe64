"""No request is larger than what any of ours needs to be."""

import re
from collections.abc import Sequence
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST: Final = 1_000_000


class BodyLimit:
    """Counts what is read, whatever the request says of its own length; 413 past the limit."""

    def __init__(self, app: ASGIApp, larger: Sequence[tuple[re.Pattern[str], int]] = ()) -> None:
        """`larger`: paths that take more, and how much."""
        self._app = app
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read, most = 0, self._most(scope["path"])

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)

    def _most(self, path: str) -> int:
        return next((most for each, most in self._larger if each.fullmatch(path)), MOST)
