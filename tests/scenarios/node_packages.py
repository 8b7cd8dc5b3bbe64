"""Programs from npm, at versions we name, installed once for all test runs of this machine."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

BIN = Path(sys.executable).parent
"""Where the wheel of Node put `node` and `npm`."""


def installed(package: str, version: str) -> Path:
    """The folder of the package; it is fetched if it is not there yet."""
    shared = os.environ.get("PORTICO_TEST_CACHE")
    cache = Path(shared) if shared else user_cache_path("portico-tests")
    folder = cache / "npm" / f"{package.replace('/', '-').removeprefix('@')}-{version}"
    found = folder / "node_modules" / package
    with _alone(folder):
        if not (folder / "done").exists():
            subprocess.run(
                [BIN / "npm", "install", "--no-audit", "--no-fund", f"{package}@{version}"],
                cwd=folder,
                env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
                check=True,
                capture_output=True,
                timeout=280,
            )
            (folder / "done").touch()
    return found


def node(*arguments: str | Path, timeout: float = 200) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BIN / "node", *arguments],
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of several test processes one fetches, and the others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
