"""What no server may reach: a file in the home folder, a key, a port, a socket, our own data."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.installation import Installation


@dataclass(frozen=True, slots=True)
class Canaries:
    secret: str
    folder: Path
    """In the home of whoever runs this, beside what servers are given."""
    house: Installation
    port: int
    hits: list[str] = field(default_factory=list)
    """Whoever came to the port."""

    @property
    def file(self) -> Path:
        return self.folder / "canary.txt"

    @property
    def open_folder(self) -> Path:
        """That any account of this machine may read, and only a box keeps from anybody."""
        return self.house.home.parent / "open"

    @property
    def open_file(self) -> Path:
        return self.open_folder / "canary.txt"

    @property
    def repository(self) -> Path:
        return self.open_folder / "repository"

    @property
    def wanted(self) -> str:
        """For the probe."""
        config, data = self.house.home / "config", self.house.home / "data"
        own = [config / "client.key", data / "secrets" / "canary"]
        return json.dumps(
            {
                "secret": self.secret,
                "files": [str(self.file), str(self.open_file), *map(str, own)],
                "folders": [
                    [str(self.folder), self.file.name],
                    [str(self.open_folder), self.open_file.name],
                    [str(config), "client.key"],
                    [str(data), "secrets"],
                    [str(Path.home()), self.folder.name],
                ],
                "hosts": ["127.0.0.1", "localhost", "::1", _own_address()],
                "port": self.port,
                "sockets": [str(self.folder / "socket"), str(self.open_folder / "socket")],
            }
        )


@contextmanager
def canaries(house: Installation) -> Iterator[Canaries]:
    secret = f"canary-{secrets.token_hex(12)}"
    folder = Path.home() / f".portico-canary-{secrets.token_hex(4)}"
    folder.mkdir()
    hits: list[str] = []
    try:
        with _listening(hits) as port, _keyholder(secret):
            made = Canaries(secret, folder, house, port, hits)
            made.open_folder.mkdir()
            with _socket(made.folder / "socket"), _socket(made.open_folder / "socket"):
                _fill(made)
                yield made
    finally:
        shutil.rmtree(folder)


def _fill(made: Canaries) -> None:
    for file in (made.file, made.open_file):
        file.write_text(f"{made.secret}\n")
    key = made.house.home / "config" / "client.key"
    key.write_text(f"{key.read_text().strip()} {made.secret}\n")
    (made.house.home / "data" / "secrets" / "canary").write_text(made.secret)
    made.repository.mkdir()
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@herons.invalid"]
    for step in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", made.secret]):
        subprocess.run(["git", *step], cwd=made.repository, check=True, capture_output=True)


@contextmanager
def _keyholder(secret: str) -> Iterator[None]:
    """A process of ours with a key in its environment."""
    napping = [sys.executable, "-I", "-S", "-c", "input()"]
    environment = {**os.environ, "CANARY_API_KEY": secret}
    with subprocess.Popen(napping, stdin=subprocess.PIPE, env=environment) as process:
        try:
            yield
        finally:
            process.communicate(b"\n")


@contextmanager
def _listening(hits: list[str]) -> Iterator[int]:
    class Port(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            body = b"canary"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 # its name for it
            """Nobody reads along."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6

        def server_bind(self) -> None:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            super().server_bind()

        def verify_request(self, request: object, client_address: object) -> bool:
            hits.append(str(client_address))
            return True

    with Server(("::", 0), Port) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _socket(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        path.chmod(0o777)
        listening.listen()
        yield


def _own_address() -> str:
    """By which neighbours know this machine, if it has any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(way.getsockname()[0])
