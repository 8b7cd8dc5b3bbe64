"""The store as an operator sees it: where it is, whether it runs, how full it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


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
    do. What is `kept` is not in use."""

    before: int
    after: int
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Folders that are gone, and what they took."""

    folders: tuple[str, ...]
    bytes: int
