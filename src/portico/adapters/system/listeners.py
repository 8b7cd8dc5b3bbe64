"""Which program listens on a port of this machine, as far as the system tells us."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_TABLES: Final = ("net/tcp", "net/tcp6")
_LISTENS: Final = "0A"


def listener_on(port: int) -> str | None:
    """`nginx (process 812)`; None where it is not told, as of the programs of other users."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in _PROC.glob("[0-9]*") if wanted else ():
        with suppress(OSError):
            if any(str(each.readlink()) in wanted for each in (process / "fd").iterdir()):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in _TABLES:
        with suppress(OSError):
            for line in (_PROC / table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                    yield words[9]
