"""Folders for sockets: their addresses are short, and some letters mean something in them."""

import hashlib
import re
from pathlib import Path
from typing import Final

_LONGEST: Final = 100
"""An address of a socket holds 104 bytes on macOS and 108 on Linux."""
_ROOM: Final = "/.s.PGSQL.5432"
_PLAIN: Final = re.compile(r"[\w./+-]+")


def short_folder(wanted: Path) -> Path:
    """The wanted one if it is short and plain enough, else one with a short name.

    The same for every process, whatever its TMPDIR. A comma would be read as two folders, and a
    quote as the end of one.
    """
    if len(f"{wanted}{_ROOM}".encode()) <= _LONGEST and _PLAIN.fullmatch(str(wanted)):
        return wanted
    digest = hashlib.sha256(str(wanted).encode()).hexdigest()[:16]
    return Path("/tmp") / f"portico-{digest}"  # noqa: S108 # whoever makes it checks whose it is
