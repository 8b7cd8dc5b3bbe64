"""The store: its health, migrations and supervision."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.engine.core.errors import SchemaAhead, SchemaEdited

# The store as an operator sees it: where it is, whether it runs, how full it is.


class Source(StrEnum):
    EMBEDDED = "embedded"
    SYSTEM = "system"
    DSN = "dsn"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    source: Source
    address: str
    running: bool
    server_version: str | None = None
    applied: int | None = None
    pending: int | None = None

    @property
    def ready(self) -> bool:
        return self.running and self.pending == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    name: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """More than `StoreStatus`, and dearer to find out."""

    status: StoreStatus
    size: int
    connections: int
    extensions: Sequence[str] = field(default_factory=tuple)
    tables: Sequence[TableSize] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """From one major version of the database's software to another; equal if there was nothing to
    do. What is `retained` is not in use."""

    before: int
    after: int
    retained: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Folders that are gone, and what they took."""

    folders: tuple[str, ...]
    bytes: int


_OF_DEVELOPMENT: Final = (
    "The database was made by a development version of Portico, and is not migrated."
)
_NEW_ONE: Final = (
    "Leave it where it is and start in another folder: export PORTICO_HOME=~/portico-new, then "
    "portico init. On a PostgreSQL of your own, rename the database, then: portico db provision "
    "--rotate"
)


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    number: int
    name: str
    checksum: str
    applied_at: datetime


def pending(known: Sequence[Migration], applied: Sequence[Applied]) -> Sequence[Migration]:
    """What is left to do, in order. Raises `SchemaEdited`, `SchemaAhead`.

    Development versions had other migrations under the same numbers.
    """
    by_number = {migration.number: migration for migration in known}
    for step in applied:
        if step.number not in by_number:
            raise SchemaAhead(step.number, max(by_number, default=0))
        if by_number[step.number].name != step.name:
            raise SchemaEdited(step.name, _OF_DEVELOPMENT, fix=_NEW_ONE)
        if by_number[step.number].checksum != step.checksum:
            raise SchemaEdited(step.name)
    done = {step.number for step in applied}
    return [by_number[number] for number in sorted(by_number) if number not in done]


class State(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BROKEN = "broken"
    MENDED = "mended"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    check: str
    state: State
    detail: str
    fix: str | None = None


def worst(findings: Iterable[CheckResult]) -> State:
    order = [State.GOOD, State.MENDED, State.WARNING, State.BROKEN]
    return max((finding.state for finding in findings), key=order.index, default=State.GOOD)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLimits:
    """With a server that dies. Seconds."""

    quick: float = 30.0
    """One that lived as long had been well: what came before does not count any more."""
    most: int = 8
    """So many quick deaths in a row are enough."""
    first: float = 0.5
    longest: float = 30.0
    to_end: float = 75.0
    """For one that was asked to end; by its own account it needs 60 at most."""


def in_a_row(before: int, lived: float, patience: RestartLimits) -> int:
    """Quick deaths so far, this one among them; 0 if it was none."""
    return before + 1 if lived < patience.quick else 0


def pause(deaths: int, patience: RestartLimits) -> float | None:
    """How long to wait after so many in a row, each time twice as long; None: it is given up."""
    if deaths >= patience.most:
        return None
    doubled = patience.first * 2.0 ** max(0, deaths - 1)
    return min(doubled, patience.longest)
