"""What a box may reach: folders, and places on the network. All else does not exist in it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from portico.sandbox.core.errors import BadPlace


class Network(StrEnum):
    NONE = "none"
    """Nothing but the places that are named."""
    PUBLIC = "public"
    """Any public address over HTTP and HTTPS, and the places that are named; never this machine
    or its neighbours."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A host and a port that may be reached, although it may be this very machine."""

    host: str
    """A name in small letters, or an address without brackets."""
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `BadPlace`."""
        host, colon, port = text.strip().rpartition(":")
        bare = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host
        if not colon or not bare or (":" in bare) is not (bare != host):
            raise BadPlace(text)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise BadPlace(text)
        if not bare.isascii() or not all(c.isalnum() or c in "-._:" for c in bare):
            raise BadPlace(text)
        name = bare.lower().rstrip(".")
        if not name:
            raise BadPlace(text)
        return cls(name, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    read: tuple[str, ...] = ()
    """Folders and files that it may read and run, by their whole paths; beside those of the
    system."""
    write: tuple[str, ...] = ()
    """Folders that it may also change."""
    network: Network = Network.NONE
    reach: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Something to be run in a box."""

    program: str
    """By its whole path."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    """All that it finds in its environment, but for what the box itself adds (the proxy)."""
    folder: str | None = None
    """Where it begins, which must be in the profile; None for its home."""
    home: str | None = None
    """A folder outside that it sees as its home and may write; None for one that is empty at
    first and gone afterwards."""
    profile: Profile = field(default_factory=Profile)
