"""The doors of the bridge and of debates, each on a socket, and the official client before it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp_types import CallToolResult

from portico.interfaces.mcp.bridge.server import BRIDGE, BridgeFace
from portico.interfaces.mcp.debate.server import DEBATE, DebateFace
from portico.interfaces.mcp.tool_values import ERROR_META
from tests.interfaces.http.conftest import Site, built
from tests.interfaces.http.table import Seat, Table, laid
from tests.interfaces.mcp.gateway import Socket, on_a_socket


@dataclass
class Caller:
    """Somebody who calls tools."""

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
    """With a table of people around it."""

    table: Table
    face: BridgeFace
    socket: Socket

    def http(self, seat: Seat) -> httpx2.AsyncClient:
        return self.socket.http(seat.key)

    @asynccontextmanager
    async def client(self, seat: Seat, era: str = "auto", **more: Any) -> AsyncIterator[Client]:
        async with self.socket.client(era, key=seat.key, path=BRIDGE, **more) as client:
            yield client

    @asynccontextmanager
    async def caller(self, seat: Seat, era: str = "auto") -> AsyncIterator[Caller]:
        async with self.client(seat, era) as client:
            yield Caller(client)


@asynccontextmanager
async def bridge_serving() -> AsyncIterator[BridgeSite]:
    table = await laid(await built())
    face = BridgeFace(table.site.bridge_over_mcp)
    async with on_a_socket(face) as socket:
        yield BridgeSite(table, face, socket)


@dataclass
class DebateSite:
    site: Site
    socket: Socket

    @asynccontextmanager
    async def client(self, key: str | None = None, era: str = "auto") -> AsyncIterator[Client]:
        async with self.socket.client(era, key=key or self.site.key, path=DEBATE) as client:
            yield client

    @asynccontextmanager
    async def caller(self, key: str | None = None, era: str = "auto") -> AsyncIterator[Caller]:
        async with self.client(key, era) as client:
            yield Caller(client)


@asynccontextmanager
async def debates_serving() -> AsyncIterator[DebateSite]:
    """With debates carried out."""
    site = await built()
    async with site.working(), on_a_socket(DebateFace(site.debates_over_mcp)) as socket:
        yield DebateSite(site, socket)
