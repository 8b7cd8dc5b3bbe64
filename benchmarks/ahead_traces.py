"""Sessions of an agent that was not ours, on tasks that it was given once each."""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.ahead_sessions import Made, Recording, Session
from portico.kernel.json import JsonObject

TRACES: Final = "traces/livemcpbench-sonnet.json"
_CALL: Final = "execute-tool"
_SEARCH: Final = "route"


def read_traces(path: Path) -> Recording:
    """Those in which a tool was called. Latencies were not recorded."""
    told = json.loads(path.read_text(encoding="utf-8"))
    sessions = [_session(number, each) for number, each in enumerate(told)]
    called = [each for each in sessions if each.calls]
    calls = [call for each in called for call in each.calls]
    given: dict[str, set[str]] = {}
    for call in calls:
        given.setdefault(call.name, set()).update(call.arguments)
    return Recording(called, {call.name: _bare(call.tool, given[call.name]) for call in calls})


def _bare(tool: str, given: Iterable[str]) -> JsonObject:
    """Definitions were not recorded: only a name tells what a tool does, and what it was given
    which parameters it has."""
    properties: JsonObject = {name: {} for name in sorted(given)}
    return {"name": tool, "inputSchema": {"type": "object", "properties": properties}}


def _session(number: int, told: Mapping[str, Any]) -> Session:
    answers = {
        each["tool_call_id"]: str(each["content"])
        for each in told["messages"]
        if each["role"] == "tool"
    }
    calls: list[Made] = []
    words: dict[int, list[str]] = {}
    for asked in _asked(told["messages"]):
        given = json.loads(asked["function"]["arguments"] or "{}")
        if asked["function"]["name"] == _SEARCH:
            words.setdefault(len(calls), []).append(str(given.get("query", "")))
        elif asked["function"]["name"] == _CALL:
            calls.append(_made(given, answers.get(asked["id"], "")))
    return Session(number, str(number), told["question"], words.pop(0, []), calls, words)


def _asked(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        yield from message.get("tool_calls") or ()


def _made(given: Mapping[str, Any], answer: str) -> Made:
    server, tool = str(given.get("server_name", "")), str(given.get("tool_name", ""))
    arguments = given.get("params") or {}
    text, failed = _unwrapped(answer)
    server = server.replace(".", "-") or "nobody"
    return Made(server, tool, arguments, text, None, failed, 1.0)


def _unwrapped(answer: str) -> tuple[str, bool]:
    """A result in a result, and the outer one as Python shows it."""
    failed = "isError=True" in answer[-40:] or answer.startswith("Tool call timed out")
    begin, end = answer.find("text="), answer.rfind(", annotations=")
    try:
        outer = ast.literal_eval(answer[begin + 5 : end])
        inner = json.loads(outer)
        text = "\n".join(str(block.get("text", "")) for block in inner["content"])
        return text, failed or bool(inner.get("isError"))
    except (ValueError, SyntaxError, KeyError, TypeError, AttributeError):
        return answer, failed
