"""What real servers work on in tests: some files, and a little of the outside that they ask."""

import json
import os
import pwd
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILES: Mapping[str, str] = {
    "note.txt": "The heron stands in the reeds.\n",
    "heron.js": "var heron = 1\n",
    "eslint.config.js": 'module.exports = [{ rules: { "no-unused-vars": "error" } }];\n',
}
PAGE = "<html><body><article><p>The heron stands in the reeds.</p></article></body></html>"
ANSWERS: Mapping[str, Any] = {
    "/v1/users/me": {"object": "user", "id": "1", "type": "bot", "name": "heron-bot"},
    "/vault/": {"files": ["heron.md"]},
    "/api/v4/projects": [
        {
            "id": 1,
            "name": "heron",
            "path_with_namespace": "birds/heron",
            "visibility": "public",
            "web_url": "http://127.0.0.1/birds/heron",
            "description": "A bird.",
            "ssh_url_to_repo": "git@127.0.0.1:birds/heron.git",
            "http_url_to_repo": "http://127.0.0.1/birds/heron.git",
            "created_at": "2026-01-01T00:00:00Z",
            "last_activity_at": "2026-01-01T00:00:00Z",
            "default_branch": "main",
        }
    ],
    "/chart": {"success": True, "resultObj": "http://127.0.0.1/charts/heron.png"},
}


@dataclass(frozen=True, slots=True)
class World:
    folder: Path
    port: int

    @property
    def outside(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fill(self, value: Any) -> Any:
        """With this world's folder and address wherever a text asks for them."""
        match value:
            case str():
                known = {"world": self.folder, "outside": self.outside, "port": self.port}
                for name, meant in known.items():
                    value = value.replace(f"{{{name}}}", str(meant))
                return value
            case Mapping():
                return {key: self.fill(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.fill(inner) for inner in value]
            case _:
                return value


@contextmanager
def world(folder: Path) -> Iterator[World]:
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    _repository(folder / "repository")
    give_away(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Outside) as outside:
        thread = threading.Thread(target=outside.serve_forever)
        thread.start()
        try:
            yield World(folder, outside.server_port)
        finally:
            outside.shutdown()
            thread.join()


def _repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "heron.txt").write_text("It stands.\n")
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@herons.invalid"]
    for step in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "heron.txt"],
        [*who, "commit", "--quiet", "--message=The heron arrives"],
    ):
        subprocess.run(["git", *step], cwd=folder, check=True, capture_output=True)


def give_away(folder: Path) -> None:
    """To the account that servers run as in their boxes when Portico runs as root."""
    if os.geteuid() == 0:
        account = pwd.getpwnam("nobody")
        for each in (folder, *folder.rglob("*")):
            os.chown(each, account.pw_uid, account.pw_gid)


class _Outside(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/page":
            self._answer(200, "text/html", PAGE)
        elif path in ANSWERS:
            self._answer(200, "application/json", json.dumps(ANSWERS[path]))
        else:
            self._answer(404, "text/plain", "There is nothing here.")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 # its name for it
        """Nobody reads along."""
