"""A collector to be sent to: a real OTLP/HTTP endpoint that keeps every byte."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Receiver:
    port: int
    bodies: dict[str, bytes] = field(default_factory=dict)
    """What came for each path, unpacked, one after the other."""
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def got(self, path: str) -> bytes:
        return self.bodies.get(path, b"")


@contextmanager
def receiver() -> Iterator[Receiver]:
    class Keeps(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                sent = gzip.decompress(sent)
            found.bodies[self.path] = found.got(self.path) + sent
            found.headers.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # its own name
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Keeps) as server:
        found = Receiver(server.server_port)
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield found
        finally:
            server.shutdown()
            serving.join()
