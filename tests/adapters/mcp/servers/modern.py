"""A server of the modern era that knows no handshake, on the standard library alone."""

import json
from typing import Any

from tests.adapters.mcp.servers.speech import Message, Speaker, content

INFO = "io.modelcontextprotocol/serverInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class Modern(Speaker):
    def __init__(self) -> None:
        super().__init__()
        self.tools = {
            "echo": self.tools["echo"],
            "where": self.tools["where"],
            "sleep": self.tools["sleep"],
            "ask": ask,
            "model": model,
            "endless": endless,
            "able": able,
            "task": task,
        }

    def result(self, request: Message) -> Message | None:
        match request["method"]:
            case "server/discover":
                return {"result": self.discovered()}
            case "subscriptions/listen":
                return None
            case "initialize":
                data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
                return {"error": {"code": -32022, "message": "Not this way", "data": data}}
            case _:
                return super().result(request)

    def discovered(self) -> Message:
        return {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {INFO: {"name": "modern", "version": "3"}},
        }


def wanting(state: str, **requests: Message) -> Message:
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


def ask(_speaker: Speaker, params: Message) -> Message:
    answers = params.get("inputResponses")
    if answers is None:
        question = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
        return wanting("kept", who={"method": "elicitation/create", "params": question})
    given = answers["who"]
    failed = given["action"] == "cancel" and not params["arguments"].get("coping", False)
    words = json.dumps([given, params.get("requestState")])
    return {**content(words), "isError": failed}


def model(_speaker: Speaker, params: Message) -> Message:
    """Wants two things at once."""
    answers: dict[str, Any] | None = params.get("inputResponses")
    if answers is None:
        said = {"messages": [], "maxTokens": 10}
        return wanting(
            "",
            say={"method": "sampling/createMessage", "params": said},
            folders={"method": "roots/list"},
        )
    return content(json.dumps([answers["say"]["content"]["text"], answers["folders"]]))


def endless(_speaker: Speaker, _params: Message) -> Message:
    """Is never done, and never wants to know anything."""
    return {"resultType": "input_required", "requestState": "again"}


def able(_speaker: Speaker, params: Message) -> Message:
    """What it was told that its caller can be asked."""
    return content(json.dumps(sorted(params["_meta"][CAPABILITIES])))


def task(_speaker: Speaker, _params: Message) -> Message:
    """A kind of result that nobody said they knew."""
    return {"resultType": "task", "taskId": "t"}


def main() -> None:
    Modern().run()
