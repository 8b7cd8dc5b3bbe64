"""A server of several models that vote as they are told to. It speaks OpenAI's chat completions,
and counts what it is asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MODELS: Final = ("gpt-heron", "claude-egret", "llama-ibis", "qwen-stork")
"""Each of another family."""


def vote(answer: str, confidence: float = 0.8, because: str = "It is so.", **more: Any) -> str:
    """As a voice is told to answer."""
    return json.dumps({"answer": answer, "confidence": confidence, "rationale": because, **more})


@dataclass
class Call:
    model: str
    text: str
    """All of its prompt."""
    most: int | None


@dataclass
class VotingModels:
    port: int = 0
    says: Callable[[str, str], str] = lambda _model, _text: vote("yes")
    """By the model's name and what it was asked."""
    asked: list[Call] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    """Cleared, nobody is answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def asked_about(self, words: str) -> list[Call]:
        return [each for each in self.asked if words in each.text]


@contextmanager
def voting_models() -> Iterator[VotingModels]:
    models = VotingModels()
    models.hold.set()

    class Handler(_Handler):
        its = models

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    models.port = server.server_address[1]
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield models
    finally:
        models.hold.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    its: VotingModels

    def do_GET(self) -> None:
        every = [{"id": model, "object": "model"} for model in MODELS]
        if self.path.endswith("/models"):
            self._json({"object": "list", "data": every})
            return
        found = [each for each in every if self.path.endswith(f"/models/{each['id']}")]
        self._json(*found) if found else self.send_error(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        text = "\n".join(_text(each) for each in body["messages"])
        most = body.get("max_tokens") or body.get("max_completion_tokens")
        self.its.asked.append(Call(body["model"], text, most))
        said = self.its.says(body["model"], text)
        self.its.hold.wait(60)
        if body.get("stream"):
            self._stream(body["model"], text, said)
        else:
            self._json(_whole(body["model"], text, said))

    def _stream(self, model: str, text: str, said: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with suppress(ConnectionError):  # whoever asked may have hung up
            for chunk in _chunks(model, text, said):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")

    def _json(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # as it is named there
        """Nobody reads it."""


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _usage(text: str, said: str) -> dict[str, int]:
    read, written = len(text) // 4, max(1, len(said) // 4)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }


def _chunks(model: str, text: str, said: str) -> Iterator[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "created": int(time.time()), "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for at in range(0, len(said), 20):
        yield chunk({"content": said[at : at + 20]})
    yield chunk({}, "stop")
    usage = _usage(text, said)
    yield {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}


def _whole(model: str, text: str, said: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": _usage(text, said),
    }
