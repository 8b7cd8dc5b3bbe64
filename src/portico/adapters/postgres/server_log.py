"""What the embedded server says of itself when it does not start."""

import re
from pathlib import Path
from typing import Final

_COMPLAINT: Final = re.compile(r"(?:FATAL|PANIC): +(?! |terminating |postmaster exited)(.*)")
"""But for the last words of its sessions: those of one that crashed are said while the next tries
to start, and say nothing of it."""
_PASSES: Final = re.compile(
    'lock file ".*" (?:already exists|is empty)|in use|starting up|recovery|shutting down'
    "|not (?:yet )?accepting connections"
)
_MOST: Final = 100_000


def size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def complaint(log: Path, start: int) -> str | None:
    """The last thing that it complained of since its log was `start` bytes long."""
    try:
        with log.open("rb") as stream:
            stream.seek(start)
            text = stream.read(_MOST).decode(errors="replace")
    except OSError:
        return None
    found = _COMPLAINT.findall(text)
    return found[-1].strip() if found else None


def passes(reason: str) -> bool:
    """Whether a start may fail of it and the next one succeed."""
    return _PASSES.search(reason) is not None
