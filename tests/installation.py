"""A whole installation of its own for a test: real commands, a real server, a real database."""

import atexit
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from tests.forks import Forked
from tests.servers import RUN_AS, free_port, reachable_folder

PORTICO = Path(sys.executable).with_name("portico")
Process = Forked | subprocess.Popen[bytes]


@dataclass(frozen=True)
class Installation:
    home: Path
    port: int
    program: Path = PORTICO

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return (self.home / "config" / "client.key").read_text().strip()

    @property
    def data(self) -> Path:
        return self.home / "data" / "postgres" / "18"

    @property
    def environment(self) -> Mapping[str, str]:
        wanted = {
            "PORTICO_HOME": str(self.home),
            "PORTICO_SERVER__PORT": str(self.port),
            "PORTICO_DATABASE__RUN_AS": RUN_AS or "",
        }
        return {**_without_portico(os.environ), **wanted}

    def run(self, *arguments: str) -> "Said":
        with TemporaryDirectory(prefix="portico-said-") as name:
            out, err = Path(name, "out"), Path(name, "err")
            with Forked(arguments, self.environment, self.home, out, err) as command:
                try:
                    code = command.wait(120)
                finally:
                    command.kill()
            return Said(code, out.read_text(), err.read_text())

    @contextmanager
    def serving(self, plant: Callable[[], None] | None = None) -> Iterator[Forked]:
        log = self.home / "serve.log"
        with Forked(["serve"], self.environment, self.home, log, log, plant=plant) as process:
            try:
                self.wait_ready(process)
                yield process
            finally:
                process.terminate()
                process.wait(60)

    def wait_ready(self, process: Process, patience: float = 240) -> None:
        deadline = time.monotonic() + patience
        while not self.ready():
            assert process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)

    def ready(self) -> bool:
        """Asked often, and so by what costs least."""
        asking = HTTPConnection("127.0.0.1", self.port, timeout=5)
        with closing(asking):
            try:
                asking.request("GET", "/readyz")
                return asking.getresponse().status == HTTPStatus.OK
            except (OSError, HTTPException):
                return False

    @property
    def log(self) -> str:
        return (self.home / "serve.log").read_text()

    def client(self, key: str | None = None) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx2.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30)

    def postmaster(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


@contextmanager
def installation() -> Iterator[Installation]:
    """Set up, not yet serving; nothing of it is left behind."""
    with reachable_folder() as folder:
        made = Installation(folder / "home", free_port())
        subprocess.run(["cp", "--archive", _first().home, made.home], check=True)
        try:
            yield made
        finally:
            if (made.data / "postmaster.pid").exists():  # the last one out stops it
                made.run("db", "stop", "--force")


@cache
def _first() -> Installation:
    """Set up once by each process that runs tests; the others are copies of it."""
    folder = ExitStack()
    atexit.register(folder.close)
    made = Installation(folder.enter_context(reachable_folder()) / "home", free_port())
    made.home.mkdir(mode=0o711)
    done = made.run("init")
    assert done.code == 0, done.err
    assert not (made.data / "postmaster.pid").exists(), "its database still runs"
    return made


def _without_portico(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("PORTICO_")}
