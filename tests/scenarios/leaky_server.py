"""A server of tools that tells whatever it was given: to whoever asks, in errors, and aloud."""

import json
import os
import sys
from typing import Any
from urllib.parse import quote

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_LONG = 3_000
"""Words, so that an answer is kept and given out page by page."""


def given() -> str:
    """Every secret, as it is, as a program quotes it, and as an address has it."""
    mine = {name: value for name, value in os.environ.items() if name.startswith("LEAK_")}
    return f"{mine} {json.dumps(mine)} {quote(' '.join(mine.values()), safe='')}"


def aloud(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    told = f"{name} {json.dumps(arguments)} {given()}"
    aloud(told)
    if name == "die":
        sys.exit(f"I was given {given()}")
    padding = " word" * (_LONG * 10) if name == "tell_long" else ""
    return {
        "content": [{"type": "text", "text": told + padding}],
        "structuredContent": {"told": told},
        "isError": name == "fail",
    }


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    if message["method"] == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "leaky", "version": "1"},
        }
    if message["method"] == "tools/list":
        names = ("tell", "tell_long", "fail", "die", "wipe")
        return {"tools": [{"name": name, "inputSchema": _SCHEMA} for name in names]}
    if message["method"] == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


if __name__ == "__main__":
    aloud(given())
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
