"""What the command line needs to keep the server up, and to end it; the composition root gives it.

PorticoError
├── GivenUp
├── DidNotStart     what the server said when it died, in its own words and under its own code
├── StillStarting
├── DoesNotEnd
└── NoBackground
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from portico.kernel.errors import Kind, PorticoError
from portico.kernel.redaction import blacked_out

if TYPE_CHECKING:
    from portico.kernel.json import JsonObject

StartedBy = Literal["terminal", "up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server of this installation."""

    pid: int
    url: str
    since: str
    started_by: StartedBy
    kept: "JsonObject"
    """Settings by which it was started, that are in no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """The process that starts the server again when it dies, as it is or as it was at its end."""

    pid: int
    alive: bool
    url: str
    since: str
    restarts: int
    deaths: int
    """Quick ones, in a row."""
    died_at: str | None
    """When the server died last."""
    why: str | None
    gave_up: bool
    kept: "JsonObject"
    """As of `Running`."""
    words: "JsonObject | None"
    """The error that the server ended with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A server that was asked to end, and has."""

    pid: int
    url: str
    started_by: StartedBy
    killed: bool
    """It did not end when it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLogin:
    """What the system is told, to start the server when its user logs in."""

    file: Path
    text: str
    switch_on: str
    """A command of the system's."""
    switch_off: str
    left_out: Sequence[str]
    """Variables that decide here and now, and will not be there then."""
    fleeting: bool
    """The program lies in a folder that may be cleared."""


class Launched(Protocol):
    @property
    def gone(self) -> bool: ...


class Keeping(Protocol):
    def servers(self) -> Sequence[Running]: ...

    def keeper(self) -> Keeper | None:
        """None if there never was one."""
        ...

    def start(self) -> Launched:
        """A keeper of its own, which outlives us; if there is one already, it ends at once.
        Raises `NoBackground`, `NotProvisioned`."""
        ...

    def stay(self) -> NoReturn:
        """Become the keeper. Raises `NoBackground`."""
        ...

    def end(self, progress: Callable[[str], None], *, only: str | None = None) -> Sequence[Ended]:
        """Every server of this installation, or the one `only` at this address, and its keeper.
        Raises `DoesNotEnd`."""
        ...

    async def settle(self) -> bool:
        """Stop a database of ours that nobody uses any more; whether there was one."""
        ...

    def at_login(self) -> AtLogin:
        """Raises `NoBackground`."""
        ...

    def write_at_login(self) -> bool:
        """Whether the system has been told to heed it; if not, the user is to."""
        ...

    def remove_at_login(self) -> bool:
        """Whether there was one."""
        ...


class DidNotStart(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "did_not_start"
    title = "The server did not start"

    def __init__(
        self, why: str | None, log_file: Path | None, words: Mapping[str, object] | None
    ) -> None:
        see = "portico doctor" if log_file is None else f"See {log_file}, then: portico doctor"
        fix = str(words["fix"]) if words and words.get("fix") else see
        super().__init__(blacked_out(why or "It ended, and did not say why."), fix=fix)
        if words:
            self.code, self.title = str(words["code"]), str(words["title"])


class GivenUp(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "given_up"
    title = "Portico is not running"

    def __init__(self, keeper: Keeper, when: str, log_file: Path | None) -> None:
        see = "" if log_file is None else f"See {log_file}. "
        fix = keeper.words.get("fix") if keeper.words else None
        super().__init__(
            blacked_out(
                f"It died {keeper.deaths} times in a row and was given up, {when}: {keeper.why}"
            ),
            fix=f"{see}When it is mended: portico up"
            if not fix
            else f"{str(fix).rstrip('.')}. Then: portico up",
        )


class StillStarting(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "still_starting"
    title = "The server takes long to start"

    def __init__(self, seconds: float, log_file: Path | None) -> None:
        see = "" if log_file is None else f"See {log_file}. "
        super().__init__(
            f"It runs, and is not ready after {seconds:g} s; it goes on.",
            fix=f"{see}To wait for it: portico status --wait 300; to end it: portico down",
        )


class DoesNotEnd(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "does_not_end"
    title = "The server does not end"

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"Process {pid} was asked to end, then killed, and is still there.",
            fix="The system holds it, as with a disk that does not answer. Try again later.",
        )


class NoBackground(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "no_background"
    title = "There is no background here"
    fix = "Run it in a terminal of its own: portico serve"
