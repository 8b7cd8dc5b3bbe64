"""A server that a file describes, and what of a file could not be understood."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from portico.gateway.core.server import Foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Somebody wants this server, and says so in a file of theirs."""

    name: str
    """As a server can be called here; no two wishes share one once they are told apart."""
    launch: Foreign
    enabled: bool = True
    where: str
    """JSON pointer to its description."""
    timeout: float | None = None
    """Seconds for one call, if the file says so."""
    called: str
    """Its name in the file."""
    otherwise: str = ""
    """What tells it apart if its name is taken: the project it is for, or the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a file that is not as it should be, told without its values."""

    reason: str
    server: str | None = None
    """Its name in the file; None for the file as a whole."""
    line: int | None = None
    left_out: bool = True
    """False: the server is taken all the same, and this is to be known about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What one file says."""

    origin: str
    client: str
    """Whose file it is, as people call it."""
    for_a_project: bool = False
    """It lies in a folder that may have come from somebody else."""
    wishes: Sequence[Wish] = field(default_factory=tuple)
    problems: Sequence[Problem] = field(default_factory=tuple)

    @property
    def readable(self) -> bool:
        """False: the file is there, and what it says is not known."""
        return not any(each.server is None and each.left_out for each in self.problems)
