"""A log file that begins anew each day; the days before lie beside it, until they are too old."""

import logging
import os
import sys
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from portico.adapters.system.private_files import open_to_others, private_folder


class DailyFile(logging.Handler):
    """Several processes may write to the same file: a line is one write, and whoever notices the
    new day first puts the old file aside."""

    def __init__(self, file: Path, keep_days: int) -> None:
        """Raises `OSError` if it cannot be written, or if others could read it."""
        super().__init__()
        self._file = file
        self._keep = timedelta(days=keep_days)
        self._day = date.min
        self._handle: int | None = None
        private_folder(file.parent)
        if open_to_others(file.parent):
            raise PermissionError(f"others can come to {file.parent}: chmod 700 {file.parent}")
        os.close(_opened(file))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            day = _day_of(record.created)
            if self._handle is None or day > self._day:
                self._handle = self._begin(day)
            line = self.format(record) + "\n"
            os.write(self._handle, line.encode(errors="backslashreplace"))
        except Exception:  # noqa: BLE001 # as every handler does: a log never breaks what it tells
            self.handleError(record)

    def close(self) -> None:
        self.acquire()
        try:
            self._let_go()
        finally:
            self.release()
        super().close()

    def _begin(self, day: date) -> int:
        self._let_go()
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            _alone(folder)
            self._put_aside(day)
            handle = _opened(self._file)
        finally:
            os.close(folder)
        self._day = day
        return handle

    def _let_go(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _put_aside(self, day: date) -> None:
        with suppress(FileNotFoundError):
            written = _day_of(self._file.stat().st_mtime)
            aside = self._file.with_name(f"{self._file.name}.{written}")
            if written < day and not aside.exists():
                self._file.rename(aside)
        oldest = f"{self._file.name}.{day - self._keep}"
        for past in self._file.parent.glob(f"{self._file.name}.????-??-??"):
            if past.name < oldest:
                past.unlink(missing_ok=True)


def _opened(file: Path) -> int:
    """Private from the first byte on, and never through a link that somebody laid there."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(file, flags, 0o600)


def _day_of(moment: float) -> date:
    return datetime.fromtimestamp(moment, UTC).date()


def _alone(folder: int) -> None:
    """Until the folder is closed: of two processes, one puts the file aside."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 # there is none on Windows

        fcntl.flock(folder, fcntl.LOCK_EX)
