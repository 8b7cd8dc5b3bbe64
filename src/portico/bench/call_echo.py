"""The server at the far end of `portico bench call`: says back what it is told, and counts what it
is asked.

    python -m portico.bench.call_echo stdio
    python -m portico.bench.call_echo http PORT
"""

import sys
from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

_READS: Final = ToolAnnotations(read_only_hint=True)
_TOOLS: Final = [
    Tool(
        name="echo",
        description="Says back a text.",
        input_schema={
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
        annotations=_READS,
    ),
    Tool(
        name="requests",
        description="How many requests this server has had.",
        input_schema={"type": "object"},
        annotations=_READS,
    ),
]
Context = ServerRequestContext[Any, Any]


class Echo:
    def __init__(self) -> None:
        self.requests = 0

    async def list_tools(
        self, _context: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        self.requests += 1
        return ListToolsResult(tools=_TOOLS)

    async def call_tool(self, _context: Context, params: CallToolRequestParams) -> CallToolResult:
        self.requests += 1
        told = (params.arguments or {}).get("text", "")
        said = str(self.requests) if params.name == "requests" else str(told)
        return CallToolResult(content=[TextContent(type="text", text=said)])


def build() -> Server[Any]:
    echo = Echo()
    return Server("echo", version="1", on_list_tools=echo.list_tools, on_call_tool=echo.call_tool)


async def on_stdio() -> None:
    server = build()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def on_http(port: int) -> None:
    import uvicorn

    uvicorn.run(build().streamable_http_app(), port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    if sys.argv[1] == "http":
        on_http(int(sys.argv[2]))
    else:
        anyio.run(on_stdio)
