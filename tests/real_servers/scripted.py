"""A server of tools that does what its plan says: python -I -S scripted.py PLAN.json

On nothing but the standard library, so that it starts in no time; it speaks the older protocol. The
plan is read anew with each request: a test changes a server by changing the file. A tool answers
with what it was called with, after the `seconds` that its arguments ask for; or, where the plan has
`answers` for it, with that `result`, after those `seconds`, and not before it failed `fails` times.
A `quiet` one keeps no log beside its plan.
"""

import json
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

PROTOCOL = "2025-11-25"
NO_SUCH_METHOD = -32601
_FAILED: Counter[str] = Counter()


class Script:
    def __init__(self, plan: Path) -> None:
        self._path = plan

    @property
    def plan(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._path.read_text())
        return read

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """None for what is not to be answered: a notification, or all while it hangs."""
        plan = self.plan
        if not plan.get("quiet"):
            self._note(message["method"])
        if "id" not in message:
            return None
        if plan.get("hangs"):
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        result = self._result(plan, message["method"], message.get("params") or {})
        if result is None:
            return {**reply, "error": {"code": NO_SUCH_METHOD, "message": "no such method"}}
        return {**reply, "result": result}

    def _note(self, method: str) -> None:
        with self._path.with_suffix(".log").open("a") as log:
            log.write(f"{method}\n")

    def _result(
        self, plan: dict[str, Any], method: str, params: dict[str, Any]
    ) -> dict[str, Any] | None:
        kinds = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
        if method == "initialize":
            return _greeting(plan)
        if method in kinds:
            return {kinds[method]: plan.get(kinds[method], [])}
        if method == "tools/call":
            return _called(plan, params)
        return {} if method == "ping" else None


def _greeting(plan: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": PROTOCOL,
        "capabilities": {kind: {} for kind in ("tools", "prompts", "resources") if kind in plan},
        "serverInfo": {"name": plan["name"], "version": plan.get("version", "1")},
        "instructions": plan.get("instructions", ""),
    }


def _called(plan: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    arguments = params.get("arguments") or {}
    answer = plan.get("answers", {}).get(params["name"])
    if answer is not None:
        return _answered(params["name"], answer)
    time.sleep(arguments.get("seconds", 0))
    known = any(tool["name"] == params["name"] for tool in plan["tools"])
    said = {"server": plan["name"], "tool": params["name"], "arguments": arguments}
    return {"content": [{"type": "text", "text": json.dumps(said)}], "isError": not known}


def _answered(tool: str, answer: dict[str, Any]) -> dict[str, Any]:
    if _FAILED[tool] < answer.get("fails", 0):
        _FAILED[tool] += 1
        time.sleep(answer.get("seconds", 0) / 2)
        return {"content": [{"type": "text", "text": "504 upstream timed out"}], "isError": True}
    _FAILED[tool] = 0
    time.sleep(answer.get("seconds", 0))
    result = answer["result"]
    said = {"type": "text", "text": json.dumps(result)}
    return {"content": [said], "structuredContent": result, "isError": False}


def serve(script: Script) -> None:
    """Each request in a thread of its own: one that takes long does not hold up the others."""
    writing = threading.Lock()

    def attend(message: dict[str, Any]) -> None:
        answered = script.answer(message)
        if answered is not None:
            with writing:
                sys.stdout.write(json.dumps(answered) + "\n")
                sys.stdout.flush()

    for line in sys.stdin:
        threading.Thread(target=attend, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    serve(Script(Path(sys.argv[1])))
