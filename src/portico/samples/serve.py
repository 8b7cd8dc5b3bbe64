"""One of the sample servers, over standard input and output: python -I -S serve.py notes

It needs nothing that is installed, so that it starts at once. What is changed in it is kept for as
long as it runs; then it is as it was shipped.
"""

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from portico.samples.tool import Tool

NAMES: Final = ("notes", "tickets", "orders")
_PROTOCOL: Final = "2025-11-25"
_NO_SUCH_METHOD: Final = -32601
_WRONG_CALL: Final = -32602

Json = Mapping[str, Any]


class NoSuchMethod(Exception):
    """What is asked for is nothing that a server of tools does."""


class Conversation:
    def __init__(self, name: str, tools: Mapping[str, "Tool"]) -> None:
        self._name = name
        self._tools = tools

    def answer(self, message: Json) -> Json | None:
        """None for what nobody waits for."""
        if "id" not in message:
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**reply, "result": self._result(message["method"], message.get("params") or {})}
        except NoSuchMethod:
            return {**reply, "error": {"code": _NO_SUCH_METHOD, "message": "no such method"}}
        except KeyError as error:
            return {**reply, "error": {"code": _WRONG_CALL, "message": f"there is no {error}"}}

    def _result(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return {
                    "protocolVersion": _PROTOCOL,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": f"portico-sample-{self._name}", "version": "1"},
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.listed for tool in self._tools.values()]}
            case "tools/call":
                return _called(self._tools[params["name"]], params.get("arguments") or {})
            case _:
                raise NoSuchMethod(method)


def _called(tool: "Tool", arguments: Json) -> Json:
    try:
        given = tool.run(**arguments)
    except (LookupError, TypeError, ValueError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    text = {"type": "text", "text": json.dumps(given, ensure_ascii=False)}
    return {"content": [text], "structuredContent": given, "isError": False}


def main(name: str) -> None:
    # Of the package itself, which a Python without site packages does not find.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    tools = importlib.import_module(f"portico.samples.{name}").TOOLS
    conversation = Conversation(name, {tool.name: tool for tool in tools})
    for line in sys.stdin:
        answered = conversation.answer(json.loads(line))
        if answered is not None:
            sys.stdout.write(json.dumps(answered, ensure_ascii=False) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
