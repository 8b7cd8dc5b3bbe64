"""A server of tools whose every word is hostile: names of fields, descriptions, errors, results."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tests.scenarios.hostile_texts import hostile_texts

TEXTS = hostile_texts()
EACH = 8
"""Texts a tool."""


def _tool(number: int) -> types.Tool:
    own = TEXTS[number * EACH : (number + 1) * EACH]
    fields: dict[str, Any] = {
        text[:120]: {"type": "string", "description": text, "title": text} for text in own[:3]
    }
    fields["choice"] = {"type": "string", "enum": own, "default": own[0]}
    return types.Tool(
        name=f"tool_{number}",
        title=own[0],
        description="\n".join(own),
        input_schema={"type": "object", "properties": fields},
    )


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_tool(number) for number in range(len(TEXTS) // EACH)])


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    number = int(params.name.removeprefix("tool_"))
    own = TEXTS[number * EACH : (number + 1) * EACH]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in own],
        structured_content={"answers": own, own[0]: own[1]},
        is_error=number % 5 == 4,
    )


async def main() -> None:
    server = Server[Any]("hostile", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
