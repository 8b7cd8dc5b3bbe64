"""Logs of debates: a file for each, of all that was asked and said in it."""

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from portico.adapters.system.files import write_private
from portico.debate.core.debates import DebateId, WholeDebate
from portico.debate.core.replay import log_text
from portico.kernel.ids import SpaceId

# A file a debate: all that was asked and said in it, for whoever runs this machine alone. A space
# has a folder of its own, which goes with it.
#
# Too many, too old or too large together, the oldest go first.

_log: Final = logging.getLogger("portico.debates")


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateLogs:
    """The room's `Logs`. What is 0 is not held."""

    folder: Path
    on: bool = True
    most_files: int = 50
    most_days: int = 14
    most_bytes: int = 100_000_000

    def write(self, space: SpaceId, whole: WholeDebate) -> str | None:
        """A full disk costs the log, not the debate."""
        if not self.on:
            return None
        file = self._file(space, whole.debate.id)
        try:
            write_private(file, _writable(log_text(whole)))
        except OSError as error:
            _log.warning("the log of %s was not written: %s", whole.debate.id, error.strerror)
            return None
        return str(file)

    def remove(self, space: SpaceId, debate: DebateId) -> None:
        for file in (self._file(space, debate), self.folder / f"{debate}.log"):  # where it once was
            file.unlink(missing_ok=True)

    def purge(self, now: datetime) -> int:
        """By count, then by date, then by size; the newest is kept until it is too old."""
        kept = sorted(self._files(), key=lambda each: each.at, reverse=True)
        too_many = kept[self.most_files :] if self.most_files else []
        kept = kept[: len(kept) - len(too_many)]
        too_old = [each for each in kept if self._too_old(each, now)]
        kept = [each for each in kept if not self._too_old(each, now)]
        gone = [*too_many, *too_old, *self._too_large(kept)]
        return sum(_removed(each.file) for each in gone)

    def _too_old(self, file: "_File", now: datetime) -> bool:
        return bool(self.most_days) and now.timestamp() - file.at > _seconds(self.most_days)

    def _too_large(self, files: "list[_File]") -> Iterator["_File"]:
        """Those beyond what all may have together, from the newest on."""
        size = 0
        for number, each in enumerate(files):
            size += each.size
            if self.most_bytes and size > self.most_bytes and number:
                yield each

    def _files(self) -> Iterator["_File"]:
        """Only what we have written: whatever else somebody puts there is theirs. Once all were
        in one folder."""
        ours = f"{DebateId.prefix}_*.log"
        for pattern in (f"{SpaceId.prefix}_*/{ours}", ours):
            for file in self.folder.glob(pattern) if self.folder.is_dir() else ():
                with suppress(FileNotFoundError):
                    found = os.lstat(file)
                    yield _File(file, found.st_mtime, found.st_size)

    def _file(self, space: SpaceId, debate: DebateId) -> Path:
        return self.folder / str(space) / f"{debate}.log"


@dataclass(frozen=True, slots=True)
class _File:
    file: Path
    at: float
    size: int


def _writable(text: str) -> str:
    """Half of a pair of surrogates is no letter of any file."""
    return text.encode("utf-8", "replace").decode()


def _seconds(days: int) -> float:
    return timedelta(days=days).total_seconds()


def _removed(file: Path) -> bool:
    try:
        file.unlink()
    except OSError:
        return False
    return True
