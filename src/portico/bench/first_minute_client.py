"""The official client, run by itself as the newcomer; its answer is JSON.

`call TOOL ARGUMENTS COMMAND…`: from nothing to the first answered call, through that command.
`list`: every server of the JSON on its input, one after another, without Portico.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent


async def first_call(tool: str, arguments: Mapping[str, Any], command: Sequence[str]) -> object:
    started = time.perf_counter()
    program = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(os.environ), cwd=Path.cwd()
    )
    async with Client(program) as client:
        listed = await client.list_tools()
        shown = time.perf_counter() - started
        given = {"tool": tool, "arguments": arguments}
        answer = await client.call_tool("call_read", given)
        answered = time.perf_counter() - started
    said = "".join(each.text for each in answer.content if isinstance(each, TextContent))
    return {
        "listed_s": shown,
        "first_call_s": answered,
        "tools": [each.name for each in listed.tools],
        "failed": bool(answer.is_error),
        "said": said,
    }


async def list_each(entries: Mapping[str, Any]) -> object:
    started = time.perf_counter()
    tools: dict[str, int] = {}
    for name, entry in entries.items():
        program = StdioServerParameters(
            command=entry["command"],
            args=entry["args"],
            env={**os.environ, **entry["env"]},
            cwd=Path.cwd(),
        )
        async with Client(program) as client:
            tools[name] = len((await client.list_tools()).tools)
    return {"seconds": time.perf_counter() - started, "tools": tools}


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case ["call", tool, given, *command]:
            found = asyncio.run(first_call(tool, json.loads(given), command))
        case ["list", entries]:
            found = asyncio.run(list_each(json.loads(entries)))
        case _:
            raise SystemExit(__doc__)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
