"""The tool server of `just bench workflow`: over stdio, with latencies by a seed.

`look` and `change` wait as long as the step takes that is named, and give back its name and what
they were given. On the official library, as most servers are; or `lean`, in the fewest words that
the protocol has, so that what is measured is whoever calls it.

    python -P benchmarks/workflow_tools.py SEED [lean]
"""

import asyncio
import json
import os
import random
import sys
from typing import Any, Final

PROGRAM: Final = (sys.executable, "-P", __file__)
"""By its file, since in a box nothing else of this repository is seen."""
LEAN: Final = "lean"
SPREAD: Final = 0.1
"""A step takes so much less or more than it is said to, at most."""
_INPUT: Final = {
    "type": "object",
    "properties": {
        "step": {"type": "string", "description": "The name of the step."},
        "seconds": {"type": "number", "description": "How long it takes, about."},
        "given": {"description": "What earlier steps gave."},
    },
    "required": ["step", "seconds"],
}
TOOLS: Final = [
    {
        "name": "look",
        "description": "Looks something up, which takes its time.",
        "inputSchema": _INPUT,
        "annotations": {"readOnlyHint": True},
    },
    {"name": "change", "description": "Changes something.", "inputSchema": _INPUT},
]
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "seeded", "version": "1"},
}


def seconds(seed: int, name: str, nominal: float) -> float:
    """What the tool server waits, and what the critical path is reckoned with."""
    return nominal * (1 + SPREAD * random.Random(f"{seed} {name}").uniform(-1, 1))  # noqa: S311 # a seeded latency


async def official(seed: int) -> None:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolResult, ListToolsResult

    listed = ListToolsResult.model_validate({"tools": TOOLS})

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        return listed

    async def call_tool(_context: object, params: Any) -> CallToolResult:  # noqa: ANN401 # the library's, loaded late
        given = params.arguments or {}
        await asyncio.sleep(seconds(seed, given["step"], given["seconds"]))
        return CallToolResult.model_validate(_result(given))

    server: Server[Any] = Server(
        "seeded", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def lean(seed: int) -> None:
    """Until whoever started it goes away."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**22)
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        match str(asked["method"]):
            case "tools/call":
                given = asked["params"].get("arguments") or {}
                wait = seconds(seed, given["step"], given["seconds"])
                loop.call_later(wait, _say, asked["id"], {"result": _result(given)})
            case "tools/list":
                _say(asked["id"], {"result": {"tools": TOOLS}})
            case "initialize":
                _say(asked["id"], {"result": _HELLO})
            case other if "id" in asked:
                refusal = {"code": -32601, "message": f"There is no method {other}."}
                _say(asked["id"], {"error": refusal})
            case _:
                continue


def _result(given: dict[str, Any]) -> dict[str, Any]:
    said = {"step": given["step"], "given": given.get("given")}
    return {"content": [{"type": "text", "text": json.dumps(said)}]}


def _say(number: object, answer: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": number, **answer}
    os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run((lean if LEAN in sys.argv[2:] else official)(int(sys.argv[1])))
