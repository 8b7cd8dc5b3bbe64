"""The database that Portico runs itself: made at the first start, shared by every process."""

import asyncio
from pathlib import Path

import psycopg

from portico.adapters.postgres.account import Account
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.binaries import Binaries
from portico.adapters.postgres.launcher import EmbeddedServer
from portico.adapters.postgres.locks import alone
from portico.adapters.postgres.majors import locks_folder
from portico.adapters.postgres.passwords import OWNER, new_passwords, read, save
from portico.adapters.postgres.provision import provision
from portico.adapters.postgres.store import PostgresStore, Progress
from portico.adapters.system.private_files import private_folder
from portico.engine.core.errors import (
    NotProvisioned,
    StoreOutdated,
    StoreRefused,
    StoreUnavailable,
)
from portico.engine.core.store import Source, StoreStatus
from portico.kernel.entropy import Entropy


class EmbeddedStore(PostgresStore):
    heals = True

    def __init__(
        self,
        folder: Path,
        binaries: Binaries,
        account: Account,
        *,
        source: Source,
        passwords_file: Path,
        entropy: Entropy,
    ) -> None:
        self.source = source
        self._folder = folder
        self._binaries = binaries
        self._account = account
        self._passwords_file = passwords_file
        self._entropy = entropy
        self.wanted = binaries.major
        """The version that it should have: one that is older is not started."""
        self._server: EmbeddedServer | None = None

    @property
    def server(self) -> EmbeddedServer:
        """Raises `NotProvisioned`."""
        if self._server is None:
            passwords = read(self._passwords_file)
            self._server = EmbeddedServer(self._folder, self._binaries, self._account, passwords)
        return self._server

    @property
    def addresses(self) -> Addresses:
        return self.server.addresses

    def restart(self) -> None:
        self.server.restart()

    async def start(
        self, *, create: bool, keep: bool = False, progress: Progress = lambda _: None
    ) -> None:
        await asyncio.to_thread(self.start_here, create=create, progress=progress)
        if keep:
            self.server.keep()

    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        if self.wanted > self._binaries.major:
            raise StoreOutdated(self._binaries.major, self.wanted)
        if not create:
            self._start(progress, create=False)
            return
        locks = private_folder(locks_folder(self._folder))
        with alone(locks / "setup.lock"):
            self._make_passwords()
            self._start(progress, create=True)

    async def release(self) -> None:
        if self._server is not None:
            await asyncio.to_thread(self._server.release)

    async def stop(self, *, force: bool = False) -> bool:
        if not self._passwords_file.exists():
            return False
        return await asyncio.to_thread(self.server.stop, force=force)

    async def settle(self) -> bool:
        if not self._passwords_file.exists():
            return False
        return await asyncio.to_thread(self.server.settle)

    async def status(self) -> StoreStatus:
        if not self._passwords_file.exists():
            address = str(self._folder)
            return StoreStatus(source=self.source, address=address, running=False)
        return await super().status()

    def _make_passwords(self) -> None:
        if self._passwords_file.exists():
            return
        if self._data.exists():
            raise StoreRefused(
                f"There is a database in {self._data}, but its passwords are gone.",
                fix=f"Put back {self._passwords_file}; without it nobody can log in.",
            )
        save(new_passwords(self._entropy), self._passwords_file)

    @property
    def _data(self) -> Path:
        return self._folder / str(self._binaries.major)

    def _start(self, progress: Progress, *, create: bool) -> None:
        self.server.start(progress, create=create)
        if not _made(self.addresses):
            if not create:
                raise NotProvisioned("The database was made, but not set up.")
            progress("setting up the database")
            known = read(self._passwords_file)
            provision(str(self.addresses.admin), known.by_role, rotate=True)


def _made(addresses: Addresses) -> bool:
    """Whether roles and database are there; a first start that was cut short goes on from here."""
    try:
        with psycopg.connect(str(addresses.owner), connect_timeout=10) as connection:
            found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
            return found.fetchone() is not None
    except psycopg.OperationalError as error:
        if OWNER in str(error) or "does not exist" in str(error):
            return False
        raise StoreUnavailable("The database does not answer.") from error
