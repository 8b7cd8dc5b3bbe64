"""What is seen where in a box with files of its own, as arguments for bubblewrap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.sandbox import interpreter, system_view
from portico.adapters.sandbox.descriptors import Descriptors
from portico.adapters.sandbox.grants import Bounds, Grant, is_below
from portico.adapters.sandbox.interpreter import Interpreter


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    grants: Sequence[Grant]
    bounds: Bounds
    home: str
    """As it is seen."""
    real_home: str | None
    scratch: int
    """Bytes."""
    files: Mapping[str, str]
    """That we write ourselves, by their paths."""
    interpreter: Interpreter


def arguments(view: View, descriptors: Descriptors) -> Sequence[str]:
    # What is further down has to come later, or it would be covered.
    placed = sorted(_placed(view), key=lambda each: each.path.count("/"))
    return [
        *_folders(interpreter.MODULES_INSIDE, *system_view.SCRATCH, *system_view.settings()),
        *_system(),
        *_own_files(view.files, descriptors),
        *("--proc", "/proc", "--dev", "/dev"),
        *(part for path in system_view.SCRATCH for part in _empty(path, view.scratch)),
        *("--ro-bind", interpreter.HERE, interpreter.MODULES_INSIDE),
        *(part for each in placed for part in (*_folders(each.path), *each.arguments)),
        *(part for each in placed if each.sealed for part in ("--remount-ro", each.path)),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    ]


@dataclass(frozen=True, slots=True)
class _Placed:
    path: str
    arguments: tuple[str, ...]
    sealed: bool = False
    """Nothing may be put there once all is in its place."""


def _system() -> Iterator[str]:
    for each in system_view.folders():
        if isinstance(each, system_view.Link):
            yield from ("--symlink", each.target, each.path)
        else:
            yield from ("--ro-bind", each, each)
    for path in system_view.settings():
        yield from ("--ro-bind", path, path)


def _own_files(files: Mapping[str, str], descriptors: Descriptors) -> Iterator[str]:
    for path, content in files.items():
        number = descriptors.file(path, content.encode())
        yield from ("--perms", "0644", "--ro-bind-data", str(number), path)


def _folders(*paths: str) -> Iterator[str]:
    """Those that lead there. Left to itself, bubblewrap makes some that none but root may enter."""
    leading = {str(parent) for path in paths for parent in Path(path).parents}
    for folder in sorted(leading - {"/"}):
        if not any(is_below(folder, each) for each in system_view.FOLDERS):
            yield from ("--perms", "0755", "--dir", folder)


def _empty(path: str, size: int) -> tuple[str, ...]:
    return ("--perms", "1777", "--size", str(size), "--tmpfs", path)


def _placed(view: View) -> Iterator[_Placed]:
    for folder in view.interpreter.folders:
        yield from _bound("--ro-bind", folder, folder, view.bounds)
    for grant in view.grants:
        kind = "--bind" if grant.writable else "--ro-bind"
        for path in _seen_at(grant, view.grants):
            yield from _bound(kind, grant.real, path, view.bounds)
    for system in (*system_view.FOLDERS, *system_view.SETTINGS):
        yield from _masks(system, system, view.bounds)
    if view.real_home is None:
        yield _Placed(view.home, _empty(view.home, view.scratch))
    else:
        yield from _bound("--bind", view.real_home, view.home, view.bounds)


def _seen_at(grant: Grant, grants: Sequence[Grant]) -> Iterator[str]:
    """Where it really is; and where it was named, unless a link in another one leads from there."""
    yield grant.real
    others = [*(each.real for each in grants if each is not grant), *system_view.FOLDERS]
    if grant.path != grant.real and not any(is_below(grant.path, each) for each in others):
        yield grant.path


def _bound(kind: str, real: str, path: str, bounds: Bounds) -> Iterator[_Placed]:
    yield _Placed(path, (kind, real, path))
    yield from _masks(real, path, bounds)


def _masks(real: str, path: str, bounds: Bounds) -> Iterator[_Placed]:
    """Over what is hidden in a folder, wherever that is seen. What is lent can still be come to."""
    for hidden in bounds.hidden_in(real):
        place = path + hidden[len(real) :]
        if Path(hidden).is_dir():
            mask = ("--perms", "0111", "--size", "65536", "--tmpfs", place)
            yield _Placed(place, mask, sealed=True)
        elif Path(hidden).exists():
            yield _Placed(place, ("--ro-bind", "/dev/null", place))
