"""What an installation has put on this machine, and how it is removed."""

import json
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import Distribution
from pathlib import Path, PurePath
from typing import Final

from portico.adapters.system.removing import remove_tree

# What lies in folders of ours, and taking it away: by name, one by one, and through no link.


@dataclass(frozen=True, slots=True)
class InstalledFile:
    path: Path
    what: str | None
    """None: it is not ours."""


def found_in(folder: Path, known: Mapping[str, str]) -> Sequence[InstalledFile]:
    """Everything in the folder; `known` says by pattern what is ours. Nothing of a folder that is
    a link."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [InstalledFile(path, _what(path.name, known)) for path in sorted(folder.iterdir())]


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


_UVX: Final = ("archive-v", "environments-v", "builds-v")


def removal(package: str) -> str:
    told = Distribution.from_name(package)
    installer = (told.read_text("INSTALLER") or "").strip()
    origin = told.read_text("direct_url.json")
    return removal_by(package, prefix=sys.prefix, installer=installer, origin=origin)


def removal_by(package: str, *, prefix: str, installer: str, origin: str | None) -> str:
    parts = PurePath(prefix).parts
    if "pipx" in parts and "venvs" in parts:
        return f"pipx uninstall {package}"
    if "uv" in parts and "tools" in parts:
        return f"uv tool uninstall {package}"
    if any(part.startswith(_UVX) for part in parts):
        return f"uv cache clean {package}"
    python = shlex.quote(str(PurePath(prefix) / "bin" / "python"))
    if origin and json.loads(origin).get("dir_info", {}).get("editable"):
        return f"rm -r {shlex.quote(prefix)}"
    if installer == "uv":
        return f"uv pip uninstall --python {python} {package}"
    return f"{python} -m pip uninstall {package}"
