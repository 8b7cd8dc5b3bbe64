"""The older era spoken over stdio with the standard library alone, so that it starts at once."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Tool = Callable[["Speaker", Message], Message]

_NAMES = (
    *("echo", "where", "environment", "die", "sleep", "cancelled", "ask", "twice", "grow", "say"),
    *("print", "big", "steps", "log"),
)


def say_to_people(words: str) -> None:
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def content(words: str) -> Message:
    return {"content": [{"type": "text", "text": words}]}


class Speaker:
    def __init__(self, *, capabilities: Message | None = None) -> None:
        self.capabilities = capabilities or {"tools": {"listChanged": True}}
        self.tools: dict[str, Tool] = {name: globals()[f"_{name}"] for name in _NAMES}
        self.cancelled: list[object] = []
        self.heard: list[Message] = []
        self._writing = threading.Lock()
        self._answers: dict[object, Any] = {}
        self._arrived = threading.Condition()
        self._number = 0

    def send(self, message: Message) -> None:
        with self._writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def ask(self, method: str, params: Message) -> Message:
        """A request of our own; waits for the reply."""
        with self._arrived:
            self._number += 1
            number = f"q{self._number}"
        self.send({"id": number, "method": method, "params": params})
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._answers)
            answer: Message = self._answers.pop(number)
            return answer

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            self.heard.append(message)
            if "method" not in message:
                with self._arrived:
                    self._answers[message["id"]] = message
                    self._arrived.notify_all()
            elif "id" not in message:
                self.notified(message)
            else:
                threading.Thread(target=self.answer, args=(message,), daemon=True).start()

    def notified(self, message: Message) -> None:
        if message["method"] == "notifications/cancelled":
            self.cancelled.append(message["params"]["requestId"])

    def answer(self, request: Message) -> None:
        result = self.result(request)
        if result is not None and request["id"] not in self.cancelled:
            self.send({"id": request["id"], **result})

    def result(self, request: Message) -> Message | None:
        match request["method"]:
            case "initialize":
                return {"result": self.greeting()}
            case "tools/list":
                return {"result": {"tools": self.listed()}}
            case "tools/call":
                return self.called(request)
            case "ping":
                return {"result": {}}
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}

    def greeting(self) -> Message:
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": self.capabilities,
            "serverInfo": {"name": "plain", "version": "1.2"},
            "instructions": "Say something.",
        }

    def listed(self) -> list[Message]:
        return [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]

    def called(self, request: Message) -> Message:
        params = request["params"]
        tool = self.tools.get(params["name"])
        if tool is None:
            return {"error": {"code": -32602, "message": f"Unknown tool {params['name']}"}}
        return {"result": tool(self, params)}


def _echo(_speaker: Speaker, params: Message) -> Message:
    return content(params["arguments"].get("text", ""))


def _where(_speaker: Speaker, _params: Message) -> Message:
    return content(str(os.getpid()))


def _environment(_speaker: Speaker, params: Message) -> Message:
    """Backwards if it is asked to, since what it was given itself would be hidden."""
    way = -1 if params["arguments"].get("backwards") else 1
    found = {name: value[::way] for name, value in os.environ.items()}
    return content(json.dumps({"environment": found, "folder": str(Path.cwd())}))


def _die(_speaker: Speaker, params: Message) -> Message:
    say_to_people(params["arguments"].get("words", "I die"))
    os._exit(7)


def _sleep(speaker: Speaker, params: Message) -> Message:
    """For so many seconds, or until it is cancelled, or there is a file."""
    end = time.monotonic() + params["arguments"]["seconds"]
    file = Path(params["arguments"].get("file", "/no/such/file"))
    before = len(speaker.cancelled)
    while time.monotonic() < end and len(speaker.cancelled) == before and not file.exists():
        time.sleep(0.01)
    return content("woke up")


def _cancelled(speaker: Speaker, _params: Message) -> Message:
    return content(str(speaker.cancelled))


def _ask(speaker: Speaker, params: Message) -> Message:
    """Asks its caller, as `arguments` say, and tells what came back."""
    method = params["arguments"].get("method", "elicitation/create")
    question = params["arguments"].get("params", {"message": "Who?", "requestedSchema": {}})
    answer = speaker.ask(method, question)
    failed = "error" in answer or answer["result"].get("action") == "cancel"
    coping = params["arguments"].get("coping", False)
    return {**content(json.dumps(answer)), "isError": failed and not coping}


def _twice(speaker: Speaker, params: Message) -> Message:
    """Waits to be let go by a file, so that several calls can be under way, and then asks."""
    while not Path(params["arguments"]["file"]).exists():
        time.sleep(0.01)
    return _ask(speaker, params)


def _grow(speaker: Speaker, params: Message) -> Message:
    speaker.tools["new"] = _echo
    for _ in range(params["arguments"].get("times", 1)):
        speaker.send({"method": "notifications/tools/list_changed"})
    return content("grown")


def _say(_speaker: Speaker, params: Message) -> Message:
    say_to_people(params["arguments"]["words"])
    return content("said")


def _big(_speaker: Speaker, params: Message) -> Message:
    return content("x" * params["arguments"]["size"])


def _print(_speaker: Speaker, params: Message) -> Message:
    print(params["arguments"]["words"], flush=True)
    return content("printed")


def _steps(speaker: Speaker, params: Message) -> Message:
    times, token = params["arguments"]["times"], params["_meta"]["progressToken"]
    for step in range(1, times + 1):
        told = {"progressToken": token, "progress": step, "total": times}
        speaker.send(
            {"method": "notifications/progress", "params": {**told, "message": f"step {step}"}}
        )
    return content("done")


def _log(speaker: Speaker, params: Message) -> Message:
    told = {"level": "info", "data": params["arguments"]["words"]}
    speaker.send({"method": "notifications/message", "params": told})
    return content("logged")
