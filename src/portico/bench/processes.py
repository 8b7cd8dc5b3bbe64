"""Child processes under measurement: a folder and a port for them, how long until they answer, how
much processor they take."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PORTICO: Final = (sys.executable, "-m", "portico")
_PATIENCE: Final = 300.0


class DidNotAnswer(Exception):
    """A server under measurement ended, or never became ready."""


def environment(**changes: str) -> dict[str, str]:
    """Ours without our own settings, and with bytecode kept, as an installed package has it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PORTICO_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**kept, **changes}


def cpu_ms(command: Sequence[str], env: Mapping[str, str]) -> float:
    """User and system time of one run, from the kernel's own accounts."""
    process = subprocess.Popen(command, env=dict(env), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise DidNotAnswer(f"{command[-1]} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000


@contextmanager
def answering(
    command: Sequence[str], url: str, env: Mapping[str, str], log: Path
) -> Iterator[float]:
    """Seconds from the start of `command` until `url` answers 200; it is ended afterwards."""
    started = time.perf_counter()
    with (
        log.open("ab") as stream,
        subprocess.Popen(command, env=dict(env), stdout=stream, stderr=stream) as process,
    ):
        try:
            while not _answers(url):
                if process.poll() is not None or time.perf_counter() - started > _PATIENCE:
                    raise DidNotAnswer(log.read_text()[-2000:])
                time.sleep(0.005)
            yield time.perf_counter() - started
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 # our own, on loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@contextmanager
def scratch_home() -> Iterator[Path]:
    """A folder that the database's account can come to, should we be root."""
    root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="portico-bench-", dir="/var/tmp" if root else None))  # noqa: S108 # fresh, by mkdtemp
    folder.chmod(0o711 if root else 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
