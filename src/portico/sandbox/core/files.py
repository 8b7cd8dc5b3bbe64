"""Files of a folder, as whoever works in it sees them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    path: str
    """Relative to the folder."""
    kind: Literal["file", "folder", "other"]
    size: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    content: bytes
    size: int
    """Of the whole file."""
    offset: int = 0
