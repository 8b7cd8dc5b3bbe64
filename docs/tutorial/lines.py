"""A model, as far as OpenAI's protocol goes, that knows its lines and nothing else.

For the tutorials, so that they work for everybody: python3 lines.py
"""

import json
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "Write a file": (
        "builtin__write_file",
        {"path": "plan.md", "text": "passport, tickets, somebody for the cat"},
    ),
    "I want it no more": ("builtin__move_file", {"path": "plan.md", "to": "away/plan.md"}),
}
WORDS = {
    "@planner we need a line": "@writer please write a line for the door of the library.",
    "@writer please write a line": "@planner Where herons wait, readers may.",
    "@planner Where herons wait": "@ana here it is: Where herons wait, readers may.",
    "plan.md has": "It is in plan.md: passport, tickets, somebody for the cat.",
    "Moved plan.md": "It is away.",
    "reject": "Then I leave it where it is.",
}


def line(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By what was said last of all that it knows an answer to."""
    last = str(messages[-1]["content"])
    cue = max([*CALLS, *WORDS], key=last.rfind)
    if cue not in last:
        return {"content": "I know no line for that."}
    if cue in WORDS:
        return {"content": WORDS[cue]}
    name, arguments = CALLS[cue]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call-{len(messages)}", "type": "function", "function": function}
    return {"tool_calls": [call]}


class Model(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.begin("application/json")
        models = {"object": "list", "data": [{"id": "heron", "object": "model"}]}
        self.wfile.write(json.dumps(models).encode())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta = {"role": "assistant", **line(asked["messages"])}
        end = "tool_calls" if "tool_calls" in delta else "stop"
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
        }
        self.begin("text/event-stream")
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8766), Model).serve_forever()
