"""What a process that died had said last, and how it died."""

import json
import os
import signal
from pathlib import Path
from typing import Final

from portico.kernel.json import JsonObject

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
