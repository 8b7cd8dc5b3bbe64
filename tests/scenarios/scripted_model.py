"""A model server that plays what it is told to: it speaks OpenAI's chat completions, counts what it
is asked, and remembers nothing, so that it goes on wherever a run does.

What it plays stands in the first message of the user that begins with `play:`, as JSON: a list of
turns, each with what it says and which tools it calls. After the last it says what it was told.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MODEL: Final = "player"
_PLAY: Final = "play:"


def play(*turns: Mapping[str, Any], say: str = "") -> str:
    """The message that makes it play these."""
    return f"{_PLAY}{json.dumps([*turns])}\n{say}"


def calls(
    *wanted: tuple[str, Mapping[str, Any]], say: str = "", slow: float = 0.0
) -> dict[str, Any]:
    """A turn that calls these tools; `slow`: seconds that it takes to say so."""
    return {"say": say, "calls": [[name, dict(given)] for name, given in wanted], "slow": slow}


def says(text: str, slow: float = 0.0) -> dict[str, Any]:
    return {"say": text, "calls": [], "slow": slow}


@dataclass
class ScriptedModel:
    port: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Every request, as it came in."""
    hold: threading.Event = field(default_factory=threading.Event)
    """Cleared, nobody is answered."""
    refusing: str | None = None
    """Conversations in which somebody said this are refused, for now."""
    replies: Callable[[str], str] | None = None
    """What it says to whoever has nothing played, by what they said last."""
    plays: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Turns by the message that they are played for, where it is not to hold them itself."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def asked_by(self, words: str) -> list[dict[str, Any]]:
        """What was asked in conversations in which somebody said this."""
        return [each for each in self.asked if words in json.dumps(each["messages"])]


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    model.hold.set()

    class Handler(_Handler):
        its = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.port = server.server_address[1]
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield model
    finally:
        model.hold.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    its: ScriptedModel

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        asked = json.loads(self.rfile.read(length))
        self.its.asked.append(asked)
        turn = _turn(asked["messages"], self.its)
        self.its.hold.wait(60)
        if self.its.refusing and self.its.refusing in json.dumps(asked["messages"]):
            self._json({"error": {"message": "not now"}}, status=503)
            return
        time.sleep(turn.get("slow", 0.0))
        if asked.get("stream"):
            self._stream(asked, turn)
        else:
            self._json(_whole(asked, turn))

    def _stream(self, asked: dict[str, Any], turn: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in _chunks(asked, turn):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _json(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # as it is named there
        """Nobody reads it."""


def _turn(messages: Sequence[dict[str, Any]], its: ScriptedModel) -> dict[str, Any]:
    said = [(at, _text(each)) for at, each in enumerate(messages) if each["role"] == "user"]
    texts = [(at, play(*its.plays[text]) if text in its.plays else text) for at, text in said]
    played = [(at, text) for at, text in texts if text.startswith(_PLAY)]
    if not played and its.replies is not None:
        return says(its.replies(texts[-1][1]))
    if not played:
        return says(f"You said: {texts[-1][1]}" if texts else "Nothing was said.")
    at, text = played[-1]
    turns = json.loads(text.removeprefix(_PLAY).partition("\n")[0])
    number = sum(each["role"] == "assistant" for each in messages[at:])
    if number < len(turns):
        turn: dict[str, Any] = turns[number]
        return turn
    since = [each for each in messages[at + 1 :] if each["role"] in {"user", "tool"}]
    return says("\n".join(_text(each) for each in since) or "Done.")


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _wanted(asked: dict[str, Any], turn: dict[str, Any]) -> list[dict[str, Any]]:
    number = sum(each["role"] == "assistant" for each in asked["messages"])
    return [
        {
            "index": place,
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for place, (name, given) in enumerate(turn["calls"])
    ]


def _usage(asked: dict[str, Any], turn: dict[str, Any]) -> dict[str, int]:
    read = len(json.dumps(asked["messages"])) // 4
    written = max(1, len(json.dumps(turn)) // 4)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }


def _chunks(asked: dict[str, Any], turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**_head(asked), "object": "chat.completion.chunk", "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for word in turn["say"].split(" ") if turn["say"] else ():
        yield chunk({"content": f"{word} "})
    for call in _wanted(asked, turn):
        yield chunk({"tool_calls": [call]})
    yield chunk({}, "tool_calls" if turn["calls"] else "stop")
    yield {
        **_head(asked),
        "object": "chat.completion.chunk",
        "choices": [],
        "usage": _usage(asked, turn),
    }


def _whole(asked: dict[str, Any], turn: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": turn["say"], "tool_calls": _wanted(asked, turn)}
    finish = "tool_calls" if turn["calls"] else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        **_head(asked),
        "object": "chat.completion",
        "choices": [choice],
        "usage": _usage(asked, turn),
    }


def _head(asked: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 0, "model": asked.get("model", MODEL)}
