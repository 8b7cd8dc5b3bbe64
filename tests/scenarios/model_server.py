"""A server of models that speaks OpenAI's chat completions."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeVar


@dataclass(frozen=True)
class Said:
    """An answer, in the pieces in which it is streamed, and the tools that it calls."""

    pieces: Sequence[str]
    calls: Sequence[dict[str, Any]] = ()
    read: int = 0
    written: int = 0
    """In letters; four are a token."""
    slow: float = 0.0
    """Seconds that it takes."""


@dataclass
class ModelServer:
    names: ClassVar[Sequence[str]]
    port: int = 0
    hold: threading.Event = field(default_factory=threading.Event)
    """Cleared, nobody is answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, asked: dict[str, Any]) -> Said:
        raise NotImplementedError


Served = TypeVar("Served", bound=ModelServer)


@contextmanager
def serving(models: Served) -> Iterator[Served]:
    class Handler(_Handler):
        its = models

    models.hold.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    models.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield models
    finally:
        models.hold.set()
        server.shutdown()
        server.server_close()


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    its: ModelServer

    def do_GET(self) -> None:
        every = [{"id": name, "object": "model"} for name in self.its.names]
        found = [each for each in every if self.path.endswith(f"/models/{each['id']}")]
        if self.path.endswith("/models"):
            self._json({"object": "list", "data": every})
        elif found:
            self._json(*found)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        said = self.its.answer(asked)
        self.its.hold.wait(60)
        time.sleep(said.slow)
        head = {"id": "chatcmpl-1", "created": int(time.time()), "model": asked["model"]}
        if asked.get("stream"):
            self._stream(head, said)
            return
        message: dict[str, Any] = {"role": "assistant", "content": "".join(said.pieces)}
        if said.calls:
            message["tool_calls"] = said.calls
        choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
        whole = {"object": "chat.completion", "choices": [choice], "usage": _usage(said)}
        self._json({**head, **whole})

    def _stream(self, head: dict[str, Any], said: Said) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        head = {**head, "object": "chat.completion.chunk"}
        with suppress(ConnectionError):  # whoever asked may have hung up
            for more in _chunks(said):
                self.wfile.write(f"data: {json.dumps({**head, **more})}\n\n".encode())
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


def _chunks(said: Said) -> Iterator[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in said.pieces]
    deltas += [{"tool_calls": [call]} for call in said.calls]
    for delta in deltas:
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish(said)}]}
    yield {"choices": [], "usage": _usage(said)}


def _finish(said: Said) -> str:
    return "tool_calls" if said.calls else "stop"


def _usage(said: Said) -> dict[str, int]:
    read, written = said.read // 4, max(1, said.written // 4)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
