"""The MCP server of debates, met by both eras: each method decodes, calls, and encodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, PaginatedRequestParams, RequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from portico.interfaces.mcp.answers import Result, refusal
from portico.interfaces.mcp.debate.calls import DebateCalls
from portico.interfaces.mcp.debate.errors import for_a_model
from portico.interfaces.mcp.debate.tools import INSTRUCTIONS, schema_of, shown_to
from portico.interfaces.mcp.telling import Context, Handler, handle, knock_in
from portico.kernel.errors import PorticoError

_CACHED: Final[Sequence[CacheableMethod]] = ("tools/list", "server/discover")
_HINTS: Final = {method: CacheHint(ttl_ms=0, scope="private") for method in _CACHED}
"""What one caller is shown is no other's."""


@dataclass(frozen=True, slots=True)
class DebateMethods:
    calls: DebateCalls

    async def discover(self, _context: Context, _params: RequestParams) -> Result:
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": {"tools": {"listChanged": False}},
            "instructions": INSTRUCTIONS,
        }

    async def list_tools(self, context: Context, _params: PaginatedRequestParams) -> Result:
        return {"tools": [tool.listed() for tool in shown_to(knock_in(context).caller)]}

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> Result:
        try:
            return await self.calls(knock_in(context).caller, params.name, params.arguments or {})
        except PorticoError as error:
            return refusal(for_a_model(error))


def build_debate_server(methods: DebateMethods, version: str) -> Server[Any]:
    server: Server[Any] = Server(  # ty: ignore[no-matching-overload] # checked by mypy
        "portico-debate",
        title="Portico's debates",
        version=version,
        instructions=INSTRUCTIONS,
        cache_hints=_HINTS,
        get_tool_input_schema=schema_of,
    )
    handlers: Mapping[str, tuple[type[BaseModel], Handler]] = {
        "server/discover": (RequestParams, methods.discover),
        "tools/list": (PaginatedRequestParams, methods.list_tools),
        "tools/call": (CallToolRequestParams, methods.call_tool),
    }
    handle(server, handlers)
    return server
