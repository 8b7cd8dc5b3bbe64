"""A server that offers what another one offered when it was recorded, and does nothing.

Run by itself, with the file as its argument. Only the standard library: there are dozens at once.
"""

import json
import sys
from pathlib import Path
from typing import Any


def replay(recorded: dict[str, Any]) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], **_answer(recorded, asked)}
            print(json.dumps(answer), flush=True)


def _answer(recorded: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    match asked["method"]:
        case "initialize":
            return {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": recorded["package"], "version": recorded["version"]},
                    "instructions": recorded["instructions"] or "",
                }
            }
        case "tools/list":
            return {"result": {"tools": recorded["tools"]}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "Only what was recorded."}}


if __name__ == "__main__":
    replay(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
