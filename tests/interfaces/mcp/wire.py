"""Requests of either era, written by hand: what the official client would not send."""

from typing import Any

import httpx2

from tests.interfaces.mcp.gateway import Socket

VERSION = "2026-07-28"
GREETING: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def envelope(params: dict[str, Any], capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }
    return {**params, "_meta": {**meta, **params.get("_meta", {})}}


def headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    name = params.get("name", params.get("uri"))
    named = {} if name is None else {"Mcp-Name": name}
    return {**BOTH, "MCP-Protocol-Version": VERSION, "Mcp-Method": method, **named}


async def modern(
    site: Socket,
    method: str,
    params: dict[str, Any],
    *,
    key: str = "ana",
    path: str = "/mcp",
    capabilities: dict[str, Any] | None = None,
    more: dict[str, str] | None = None,
) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": envelope(params, capabilities)}
    async with site.http(key) as http:
        return await http.post(path, json=body, headers={**headers(method, params), **(more or {})})


async def greet(site: Socket, *, key: str = "ana", path: str = "/mcp") -> httpx2.Response:
    async with site.http(key) as http:
        return await http.post(path, json=GREETING, headers=BOTH)


async def legacy(
    site: Socket,
    session: str,
    method: str,
    *,
    key: str = "ana",
    path: str = "/mcp",
    more: dict[str, str] | None = None,
) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": {}}
    told = {**BOTH, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    async with site.http(key) as http:
        return await http.post(path, json=body, headers={**told, **(more or {})})
