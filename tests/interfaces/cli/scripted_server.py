"""A server that the command line can talk to: it says what it is told to, and keeps what it got."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


@dataclass
class Streamed:
    """What is told on each connection, in turn; after the last there is nothing more to tell."""

    connections: list[str]
    marks: list[str | None] = field(default_factory=list)
    """Where each of them was asked to go on."""
    open_until: threading.Event | None = None
    """Until then nothing more is told, and it is not over."""


@dataclass(frozen=True)
class Problem:
    """An answer that says no."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """An answer that is no JSON."""

    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Gone:
    """No answer at all: the connection ends."""


class InTurn:
    """One answer after another; the last for all that are asked for after it."""

    def __init__(self, *answers: Any) -> None:
        self._answers = [*answers]

    def take(self) -> Any:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class ScriptedServer(ThreadingHTTPServer):
    def __init__(self, answers: Mapping[str, Any], *, late: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []
        self.late = late
        """Whether the first that is asked is answered as by a server that is still starting."""
        self.tasks: list[str | None] = []
        """Which task each was said to be part of."""
        self.heads: list[Mapping[str, str]] = []
        """What each was sent with."""
        self.addresses: list[str] = []
        """With what was asked for behind the question mark."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # its name there
        """Nothing: the test's own output is looked at."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = f"{self.command} {self.path.partition('?')[0].removeprefix('/api/v1')}"
        assert isinstance(self.server, ScriptedServer)
        self.server.asked.append((asked, self._sent(body)))
        self.server.tasks.append(self.headers.get("Portico-Context"))
        self.server.heads.append(dict(self.headers))
        self.server.addresses.append(unquote(self.path))
        if self.server.late:
            self.server.late = False
            self.send_response(503)
            self.end_headers()
            return
        exactly = f"{self.command} {self.path.removeprefix('/api/v1')}"
        found = self.server.answers.get(exactly, self.server.answers.get(asked))
        if isinstance(found, InTurn):
            found = found.take()
        if isinstance(found, Streamed):
            self._stream(found)
            return
        if isinstance(found, Raw):
            self._raw(found)
            return
        if isinstance(found, Gone):
            self.close_connection = True
            return
        status = 404 if found is None else 200
        if isinstance(found, Problem):
            status, found = found.status, found.body
        text = json.dumps(found if found is not None else {"code": "unknown"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _sent(self, body: bytes) -> Any:
        if not body:
            return None
        return json.loads(body) if "json" in self.headers.get("Content-Type", "") else body

    def _raw(self, found: Raw) -> None:
        self.send_response(200)
        for name, value in found.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(found.content)))
        self.end_headers()
        self.wfile.write(found.content)

    def _stream(self, streamed: Streamed) -> None:
        streamed.marks.append(self.headers.get("Last-Event-ID"))
        self.send_response(200 if streamed.connections else 204)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if streamed.connections:
            self.wfile.write(streamed.connections.pop(0).encode())
            if streamed.open_until is not None:
                self.wfile.flush()
                streamed.open_until.wait(10)


@contextmanager
def answering(answers: Mapping[str, Any], *, late: bool = False) -> Iterator[ScriptedServer]:
    with ScriptedServer(answers, late=late) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
