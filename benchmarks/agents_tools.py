"""The tool server of `just bench agents`: over stdio, in the fewest words the protocol has.

`look` waits as long as it is told and gives back the name of its step. Every call is a line in a
file, so that whoever counts them need not ask.

    python -P benchmarks/agents_tools.py LEDGER
"""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = (sys.executable, "-P", __file__)
"""By its file, since in a box nothing else of this repository is seen."""
TOOL: Final = {
    "name": "look",
    "description": "Looks something up, which takes its time.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "run": {"type": "string", "description": "Whose run it is."},
            "step": {"type": "string", "description": "What to look up."},
            "seconds": {"type": "number", "description": "How long it takes."},
        },
        "required": ["run", "step", "seconds"],
    },
    "annotations": {"readOnlyHint": True},
}
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "counting", "version": "1"},
}


async def attend(ledger: int) -> None:
    """Until whoever started it goes away."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**22)
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        match str(asked["method"]):
            case "tools/call":
                given = asked["params"].get("arguments") or {}
                os.write(ledger, json.dumps(given).encode() + b"\n")
                loop.call_later(given["seconds"], _say, asked["id"], {"result": _result(given)})
            case "tools/list":
                _say(asked["id"], {"result": {"tools": [TOOL]}})
            case "initialize":
                _say(asked["id"], {"result": _HELLO})
            case other if "id" in asked:
                refusal = {"code": -32601, "message": f"There is no method {other}."}
                _say(asked["id"], {"error": refusal})
            case _:
                continue


def counted(ledger: Path) -> Counter[tuple[str, str]]:
    """The calls that have come in, by run and step."""
    given = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    return Counter((each["run"], each["step"]) for each in given)


def _result(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps({"step": given["step"]})}]}


def _say(number: object, answer: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": number, **answer}
    os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    kept = os.open(Path(sys.argv[1]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    asyncio.run(attend(kept))
