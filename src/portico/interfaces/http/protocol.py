"""HTTP/1.1 as uvicorn speaks it, which keeps its connections to itself, and a line to each."""

import asyncio
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from portico.interfaces.http.line import Line, put_line


class LineProtocol(H11Protocol):
    _line: Line

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._line = Line(transport.abort)
        self.app = _with_line(cast("ASGIApp", self.app), self._line)

    def shutdown(self) -> None:
        super().shutdown()
        self._line.end()


def _with_line(app: ASGIApp, line: Line) -> ASGIApp:
    async def lined(scope: Scope, receive: Receive, send: Send) -> None:
        put_line(scope, line)
        await app(scope, receive, send)

    return lined
