"""A server of tools over HTTP that remembers every request it was sent, headers and all."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real_servers.scripted import Script


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came over the wire."""

    verb: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str

    @property
    def method(self) -> str:
        """Of the protocol."""
        return str(json.loads(self.body)["method"]) if self.body else ""


@dataclass(slots=True)
class Recording:
    url: str
    asked: list[Asked] = field(default_factory=list)
    going: threading.Event = field(default_factory=threading.Event)
    """Set at the end, for those who hang."""


@contextmanager
def recording(plan: Path) -> Iterator[Recording]:
    """While its plan says that it hangs, it takes requests and answers none."""
    made = Recording("")
    script = Script(plan)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._remember(body)
            answered = script.answer(json.loads(body))
            if answered is not None:
                self._reply(200, json.dumps(answered))
            elif script.plan.get("hangs"):
                made.going.wait()
                self.close_connection = True
            else:
                self._reply(202, "")

        def do_GET(self) -> None:
            self._remember("")
            self._reply(405, "")

        do_DELETE = do_GET  # noqa: N815 # the name is the library's

        def _remember(self, body: str) -> None:
            headers = tuple(self.headers.items())
            made.asked.append(Asked(self.command, self.path, headers, body))

        def _reply(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 # as above
            """Nobody reads along."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_port}/mcp"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            made.going.set()
            server.shutdown()
            thread.join()
