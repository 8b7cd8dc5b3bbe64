"""The smallest server of tools: as many as it is told to have, if it was given its key."""

import os
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=f"{name.replace('_', ' ').capitalize()} by its id.",
                input_schema=schema,
                annotations=types.ToolAnnotations(read_only_hint=name.startswith("get_")),
            )
            for name in sys.argv[1:]
        ]
    )


async def main() -> None:
    server = Server[Any]("tiny", version="1.0", on_list_tools=list_tools)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    if os.environ.get("TINY_KEY") != "SECRET-of-tiny":
        sys.exit("TINY_KEY is required")
    anyio.run(main)
