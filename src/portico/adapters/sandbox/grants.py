"""Which folders of this machine an order may see: resolved, and judged."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.sandbox.core.errors import BadProfile
from portico.sandbox.core.profile import Order

_NEVER: Final = ("/", "/etc")
_NEVER_BELOW: Final = ("/proc", "/sys", "/dev", "/boot", "/run", "/var/run")
"""In the last two are the sockets of the system: whoever sees one may connect to it."""


@dataclass(frozen=True, slots=True)
class Grant:
    path: str
    """As it was named, and is seen inside."""
    real: str
    """What it is."""
    writable: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    hidden: tuple[str, ...]
    """Never seen: real paths."""
    lent: tuple[str, ...]
    """Folders in these whose own folders may be the home of something nevertheless."""

    @classmethod
    def of(cls, hidden: Iterable[Path], lent: Iterable[Path]) -> "Bounds":
        return cls(_real(hidden), _real(lent))

    def is_lent(self, real: str) -> bool:
        return any(is_below(real, each) and real != each for each in self.lent)

    def hides(self, real: str) -> bool:
        return any(is_below(real, each) for each in self.hidden)

    def hidden_in(self, real: str) -> Sequence[str]:
        return [each for each in self.hidden if is_below(each, real)]


def granted(order: Order, bounds: Bounds) -> Sequence[Grant]:
    """What its profile names; one that is named twice may be written if it may be once.
    Raises `BadProfile`."""
    profile = order.profile
    writable = [_grant(path, bounds, writable=True) for path in profile.write]
    readable = [_grant(path, bounds, writable=False) for path in profile.read]
    for each in (*readable, *writable):
        _refuse_planted(each, writable)
    by_path = {each.path: each for each in (*readable, *writable)}
    return sorted(by_path.values(), key=lambda each: each.path)


def home_of(order: Order, bounds: Bounds) -> str | None:
    """The real folder that becomes its home: one of those that are lent, which no profile can
    name, or any that a profile could. Raises `BadProfile`."""
    if order.home is None:
        return None
    real = _real_path(order.home)
    return real if bounds.is_lent(real) else _grant(order.home, bounds, writable=True).real


def is_below(path: str, folder: str) -> bool:
    """Or that very folder."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _grant(path: str, bounds: Bounds, *, writable: bool) -> Grant:
    named, real = path.rstrip("/") or "/", _real_path(path)
    for each in (named, real):
        if each in _NEVER or any(is_below(each, folder) for folder in _NEVER_BELOW):
            raise BadProfile(f"{each!r} is never given to a box")
        if bounds.hides(each):
            raise BadProfile(f"{path!r} is part of Portico's own")
    return Grant(named, real, writable)


def _real_path(path: str) -> str:
    named = path.rstrip("/") or "/"
    if not path.startswith("/") or "\0" in path or os.path.normpath(path) != named:
        raise BadProfile(f"{path!r} is not a whole path")
    try:
        return os.path.realpath(named, strict=True)
    except OSError as error:
        raise BadProfile(f"{path!r} is not there: {error.strerror}") from error


def _refuse_planted(grant: Grant, writable: Sequence[Grant]) -> None:
    """What may be written to may hold a link that was put there to be followed."""
    for folder in writable:
        inside = grant.path != folder.path and is_below(grant.path, folder.path)
        if inside and not is_below(grant.real, folder.real):
            raise BadProfile(f"{grant.path!r} is a link in a folder that the box may change")


def _real(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted({os.path.realpath(path) for path in paths}))
