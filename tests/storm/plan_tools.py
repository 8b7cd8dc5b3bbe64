"""The outside of a storm of plans: an MCP server of its own that notes every call in a file.

Over HTTP, so that whoever calls it may die and it does not. It ignores idempotency keys, as real
servers do: what is done twice is noted twice.

    python -m tests.storm.plan_tools PORT LEDGER
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

EFFECTS = {
    "look": "local_read",
    "list": "local_read",
    "fail": "local_read",
    "change": "local_write",
    "delete": "irreversible",
}
WRITES = frozenset({"change", "delete"})
ITEMS = ["ash", "birch", "cedar"]
_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {"type": "string"},
        "step": {"type": "string"},
        "given": {},
    },
    "required": ["plan", "step"],
}


def build(ledger: Path) -> Server[Any]:
    stream = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        tools = [
            Tool(name=name, description=f"Does {name}.", input_schema=_INPUT) for name in EFFECTS
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
        given = params.arguments or {}
        noted = {"tool": params.name, "at": time.time(), **given}
        os.write(stream, json.dumps(noted).encode() + b"\n")
        return CallToolResult(
            content=[TextContent(type="text", text=json.dumps(_said(params.name, given)))],
            is_error=params.name == "fail",
        )

    return Server("outside", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def _said(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    said = {"step": given["step"], "given": given.get("given")}
    return {**said, "items": ITEMS} if tool == "list" else said


def calls(ledger: Path) -> Iterator[dict[str, Any]]:
    """As they arrived."""
    for line in ledger.read_text().splitlines():
        yield json.loads(line)


if __name__ == "__main__":
    import uvicorn

    app = build(Path(sys.argv[2])).streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False)
