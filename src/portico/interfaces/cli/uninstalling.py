"""What the command line needs to take an installation away; the composition root gives it.

PorticoError
├── OddHome
└── NotRemoved
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from portico.kernel.errors import Kind, PorticoError


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedClient:
    """A program that has Portico among its servers."""

    title: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Belonging:
    """A file or folder that Portico has made."""

    path: Path
    what: str
    size: int
    """Bytes, of all that is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """All that an installation keeps."""

    belongings: Sequence[Belonging]
    left: Sequence[Left]
    """What lies beside, or elsewhere, and is not for us to remove."""
    folders: Sequence[Path]
    """Which are removed if nothing is left in them."""

    @property
    def size(self) -> int:
        return sum(each.size for each in self.belongings)


class Uninstalling(Protocol):
    def connected(self) -> Sequence[ConnectedClient]: ...

    def estate(self) -> Estate:
        """Raises `OddHome`."""
        ...

    async def stop_database(self) -> bool:
        """Even one that was to be kept; whether it ran."""
        ...

    def purge(self, estate: Estate, progress: Callable[[str], None]) -> Sequence[Left]:
        """Remove all of it, and say what could not be. Raises `OddHome`."""
        ...

    def remove_package(self) -> str:
        """The command that removes the program itself, as it was installed."""
        ...


class OddHome(PorticoError):
    kind = Kind.CONFLICT
    code = "odd_home"
    title = "That is no folder of Portico's own"

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"Portico's folders are below {folder}, which is not its own; nothing was removed.",
            fix="Remove by hand what is Portico's: portico config path shows where it is.",
        )


class NotRemoved(PorticoError):
    kind = Kind.CONFLICT
    code = "not_removed"
    title = "Not everything could be removed"
    fix = "Remove it by hand, as whoever it belongs to."

    def __init__(self, left: Sequence[Left]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.why}" for each in left))
