"""What is in a folder, in the order of names, and not more than was asked for."""

import heapq
import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal

from portico.sandbox.core.profile import Entry

_MOST_LOOKED_AT: Final = 100_000
"""Of a folder with more names than that, the first found are sorted."""


def entries_of(folder: int, names: Sequence[str], limit: int) -> Sequence[Entry]:
    """Raises `OSError`."""
    with os.scandir(folder) as found:
        first = heapq.nsmallest(limit, (each.name for each in islice(found, _MOST_LOOKED_AT)))
    entries = (_entry(folder, names, name) for name in first)
    return [entry for entry in entries if entry is not None]


def _entry(folder: int, names: Sequence[str], name: str) -> Entry | None:
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # gone since
        return None
    # A name that is not UTF-8 can be shown, but nothing here takes it
    shown = os.fsencode(name).decode(errors="replace")
    return Entry(
        path="/".join((*names, shown)),
        kind=_kind(seen.st_mode) if shown == name else "other",
        size=seen.st_size,
        changed_at=datetime.fromtimestamp(seen.st_mtime, UTC),
    )


def _kind(mode: int) -> Literal["file", "folder", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    return "folder" if stat.S_ISDIR(mode) else "other"
