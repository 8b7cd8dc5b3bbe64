"""The bridge's door on a socket, with a table of people around it, and the official client."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from portico.faces.http.host_guard import HostGuard, allowed
from portico.faces.http.protocol import LineProtocol
from portico.faces.mcp.answers import ERROR_META
from portico.faces.mcp.bridge.mount import BRIDGE, BridgeFace
from tests.faces.http.conftest import built
from tests.faces.http.table import Seat, Table, laid


@dataclass
class Caller:
    """One of those at the table, at the door of the bridge."""

    client: Client

    async def call(self, tool: str, **given: Any) -> CallToolResult:
        return await self.client.call_tool(tool, given)

    async def got(self, tool: str, **given: Any) -> dict[str, Any]:
        """What must have gone well, as a program reads it."""
        result = await self.call(tool, **given)
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def told(self, tool: str, **given: Any) -> str:
        """The same, as a model reads it."""
        result = await self.call(tool, **given)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def refused(self, tool: str, **given: Any) -> str:
        """Its code."""
        result = await self.call(tool, **given)
        assert result.is_error, text_of(result)
        facts = result.model_dump(by_alias=True)["_meta"][ERROR_META]
        assert text_of(result).startswith(f"{facts['code']}: ")
        code: str = facts["code"]
        return code


def text_of(result: CallToolResult) -> str:
    text: str = result.model_dump()["content"][0]["text"]
    return text


@dataclass
class BridgeSite:
    table: Table
    face: BridgeFace
    port: int

    def http(self, seat: Seat) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {seat.key}"},
            timeout=30,
            trust_env=False,
            verify=False,  # nothing here is encrypted, and a TLS context takes 40 ms to make
        )

    @asynccontextmanager
    async def client(self, era: str, seat: Seat, **more: Any) -> AsyncIterator[Client]:
        async with self.http(seat) as http:
            url = f"http://127.0.0.1:{self.port}{BRIDGE}"
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=era, **more) as client:
                yield client

    @asynccontextmanager
    async def caller(self, era: str, seat: Seat) -> AsyncIterator[Caller]:
        async with self.client(era, seat) as client:
            yield Caller(client)


@asynccontextmanager
async def bridge_serving() -> AsyncIterator[BridgeSite]:
    table = await laid(await built())
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        face = BridgeFace(table.site.bridge_over_mcp)
        config = uvicorn.Config(
            HostGuard(face, allowed(port, None)),
            http=LineProtocol,
            lifespan="off",
            log_config=None,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        async with face.running():
            config.load()
            server.lifespan = config.lifespan_class(config)
            await server.startup([listener])
            try:
                yield BridgeSite(table, face, port)
            finally:
                await server.shutdown()
