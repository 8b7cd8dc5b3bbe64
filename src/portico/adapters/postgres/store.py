"""The database as the house handles it: what is the same whether it is ours to run or not."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from portico.adapters.postgres.addresses import Addresses, without_password
from portico.adapters.postgres.recovering import until_it_accepts
from portico.adapters.postgres.schema import PostgresSchema, known_migrations
from portico.adapters.postgres.survey import server_version, survey, unsafe
from portico.engine.core.errors import NotProvisioned, StoreRefused, StoreUnavailable
from portico.engine.core.store import Source, StoreInfo, StoreStatus, pending

Progress = Callable[[str], None]


class PostgresStore(ABC):
    source: Source
    heals: ClassVar[bool]
    """Whether it is ours to bring back after a crash."""

    @property
    @abstractmethod
    def addresses(self) -> Addresses:
        """Raises `NotProvisioned` before there is a database."""

    @abstractmethod
    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        """As `start`, but in the calling thread: a starting server has other things to do."""

    @abstractmethod
    async def start(
        self, *, create: bool, keep: bool = False, progress: Progress = lambda _: None
    ) -> None: ...

    @abstractmethod
    def restart(self) -> None: ...

    @abstractmethod
    async def release(self) -> None: ...

    @abstractmethod
    async def stop(self, *, force: bool = False) -> bool: ...

    async def until_it_accepts(self) -> None:
        """Wait for one that runs and takes nobody yet. Raises `StoreUnavailable`."""
        await until_it_accepts(self.addresses.app)

    async def settle(self) -> bool:
        """Stop one of ours that nobody uses any more; whether there was one."""
        return False

    @property
    def owner_address(self) -> str:
        """Raises `NotProvisioned` on a worker that was not told it."""
        if self.addresses.owner is None:
            raise NotProvisioned(
                "This needs the database's owner, whose address is not set.",
                fix="Set it for this command: PORTICO_DATABASE__OWNER_DSN=postgresql://…",
            )
        return self.addresses.owner

    async def status(self) -> StoreStatus:
        app = self.addresses.app
        version = await server_version(app)
        if version is None:
            return StoreStatus(source=self.source, address=without_password(app), running=False)
        applied = await PostgresSchema(app).applied()
        return StoreStatus(
            source=self.source,
            address=without_password(app),
            running=True,
            server_version=version,
            applied=len(applied),
            pending=len(pending(known_migrations(), applied)),
        )

    async def info(self) -> StoreInfo:
        status = await self.status()
        if not status.running:
            raise StoreUnavailable(
                "The database is not running.",
                fix="Start it: portico serve, or for itself alone: portico db start",
            )
        return await survey(self.addresses.owner or self.addresses.app, status)

    async def unsafe(self) -> Sequence[str]:
        return await unsafe(self.addresses.app)


class RemoteStore(PostgresStore):
    """A server of somebody else's, reached by its address."""

    source = Source.DSN
    heals = False

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    @property
    def addresses(self) -> Addresses:
        return self._addresses

    def start_here(self, *, create: bool, progress: Progress = lambda _: None) -> None:
        """Nothing to start."""

    async def start(
        self,
        *,
        create: bool,  # noqa: ARG002 # the same question
        keep: bool = False,  # noqa: ARG002 # likewise
        progress: Progress = lambda _: None,  # noqa: ARG002 # likewise
    ) -> None:
        """Nothing to start; but it may be starting by itself."""
        await self.until_it_accepts()

    def restart(self) -> None:
        """Not ours to start."""

    async def release(self) -> None:
        """Nothing to stop."""

    async def stop(self, *, force: bool = False) -> bool:  # noqa: ARG002 # the same question
        raise StoreRefused(
            "This database was not started by Portico.",
            fix="Stop it with the means of whoever runs it.",
        )
