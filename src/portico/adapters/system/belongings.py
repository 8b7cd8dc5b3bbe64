"""What lies in folders of ours, and taking it away: by name, one by one, and through no link."""

import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from portico.adapters.system.removing import remove_tree


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    what: str | None
    """None: it is not ours."""


def found_in(folder: Path, known: Mapping[str, str]) -> Sequence[Found]:
    """Everything in the folder; `known` says by pattern what is ours. Nothing of a folder that is
    a link."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [Found(path, _what(path.name, known)) for path in sorted(folder.iterdir())]


def _what(name: str, known: Mapping[str, str]) -> str | None:
    return next((what for pattern, what in known.items() if fnmatch(name, pattern)), None)


def is_anothers(folder: Path, home: Path) -> bool:
    """Whether it is the root, somebody's home, or above it: no folder of a program's own."""
    whole = folder.resolve()
    homes = home.resolve()
    return whole in {homes, *homes.parents} or len(whole.parts) < 2


def size_of(path: Path) -> int:
    """Bytes of all that is in it; a link is as large as it is itself."""
    size, left = 0, [path]
    while left:
        each = left.pop()
        with suppress(OSError):  # it may have gone meanwhile, or be another's
            state = each.lstat()
            size += state.st_size if stat.S_ISREG(state.st_mode) else 0
            left += each.iterdir() if stat.S_ISDIR(state.st_mode) else []
    return size


def remove(path: Path) -> None:
    """A link itself, and never what it leads to. Raises `OSError`."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        remove_tree(path)
        if path.exists():
            shutil.rmtree(path)  # it says why not


def remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
