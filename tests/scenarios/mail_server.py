"""A server of tools that cannot be undone: it says what it has sent."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_MAIL = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    destroys = types.ToolAnnotations(destructive_hint=True)
    send = types.Tool(
        name="send", description="Send a mail.", input_schema=_MAIL, annotations=destroys
    )
    return types.ListToolsResult(tools=[send])


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = f"sent to {(params.arguments or {})['to']}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    server = Server[Any]("mail", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
