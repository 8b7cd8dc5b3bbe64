"""What a process says of itself in a file, with a lock as proof of life, and how it died."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from portico.adapters.system.files import private_folder, write_private
from portico.kernel.json import JsonObject

# What a process says of itself in a file, and the proof that it still lives: a lock beside it.
#
# The kernel gives the lock back when its holder dies, however it dies. A pid in a file alone stays,
# and may be a stranger's by then; so it is believed only while the lock is held, and only of a
# process that began when the note says.

_PATIENCE: Final = 1.0
_PAUSE: Final = 0.02
"""Seconds. Whoever only looks takes the lock for a moment."""
_BEGAN: Final = 19
"""Place of the start time in what follows a process's name in /proc/PID/stat."""


class PidFile:
    """Windows has no such locks: there nothing is held, and nothing is found."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    def take(self, patience: float = _PATIENCE) -> bool:
        """For as long as this process lives. False if another one has it for longer than that."""
        private_folder(self._file.parent)
        if sys.platform == "win32":
            return True
        handle = _opened(self._file)
        until = time.monotonic() + patience
        while not _locked(handle, alone=True):
            if time.monotonic() > until:
                os.close(handle)
                return False
            time.sleep(_PAUSE)
        self._handle = handle
        return True

    def write(self, content: JsonObject) -> None:
        pid = os.getpid()
        told = {"pid": pid, "began": began(pid), **content}
        write_private(_text_of(self._file), json.dumps(told))

    def give_back(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def last_note(file: Path) -> JsonObject | None:
    """Of whoever has it, or had it."""
    with suppress(OSError, ValueError):
        told = json.loads(_text_of(file).read_text())
        if isinstance(told, dict):
            return told
    return None


def held(file: Path) -> bool:
    """Whether its process lives."""
    if sys.platform == "win32" or not _lock_of(file).exists():
        return False
    try:
        handle = _opened(file)
    except OSError:
        return False
    try:
        return not _locked(handle, alone=False)
    finally:
        os.close(handle)


def living_note(file: Path) -> JsonObject | None:
    """Of whoever has it. None also for a moment after it was taken: what is read then is of the
    one before."""
    if not held(file):
        return None
    told = last_note(file)
    if told is None or told.get("began") != began(_pid(told)):
        return None
    return told


def send(told: JsonObject, number: signal.Signals) -> bool:
    """To the process of a note, and to no other that has its pid by now."""
    pid = _pid(told)
    if pid < 1:
        return False
    with suppress(ProcessLookupError), _grasped(pid) as handle:
        if told.get("began") != began(pid):
            return False
        if handle is not None and sys.platform == "linux":
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
        return True
    return False


@contextmanager
def _grasped(pid: int) -> Iterator[int | None]:
    """A hold on the process itself, not on its number, where the system has such a thing. Raises
    `ProcessLookupError`."""
    handle = None
    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError:  # an old kernel, or a box that does not let us
            handle = None
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def began(pid: int) -> float | None:
    """When a process began, by a clock that nobody sets where there is one; None if there is none
    of that pid."""
    if sys.platform != "linux":
        import psutil  # noqa: PLC0415 # not where the system tells it itself

        try:
            return float(psutil.Process(pid).create_time())
        except (psutil.Error, ValueError):
            return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, ValueError):
        return None
    return float(stat.rpartition(")")[2].split()[_BEGAN])


def _pid(told: JsonObject) -> int:
    pid = told.get("pid")
    return pid if isinstance(pid, int) else -1


def _text_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _lock_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.lock")


def _opened(file: Path) -> int:
    return os.open(_lock_of(file), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _locked(handle: int, *, alone: bool) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415 # there is none on Windows

    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_TAIL: Final = 20_000


def how_it_died(code: int) -> str:
    """From what `waitpid` gives, as Python tells it."""
    if code >= 0:
        return f"it ended with code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def last_words(file: Path) -> JsonObject | None:
    """The error that a command with --json wrote at its end, if it did."""
    for line in reversed(_tail(file).splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        error = told.get("error") if isinstance(told, dict) else None
        if isinstance(error, dict):
            return error
    return None


def last_line(file: Path) -> str | None:
    lines = [line.strip() for line in _tail(file).splitlines() if line.strip()]
    return lines[-1][:500] if lines else None


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
