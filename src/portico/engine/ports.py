"""What the engine room needs from the outside world, in its own words."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from portico.engine.core.health import Finding
from portico.engine.core.migration import Applied, Migration
from portico.engine.core.receipt import Answer, Claim, Receipt
from portico.engine.core.store import StoreInfo, StoreStatus
from portico.kernel.principal import Principal


class Receipts(Protocol):
    async def once(
        self, caller: Principal, claim: Claim, action: Callable[[], Awaitable[Answer]]
    ) -> Receipt:
        """Run `action` and remember its answer, both or neither; the next time only answer.

        Two at once: the second waits for the first. An action that raises leaves no receipt.
        Raises `KeyReused` if the claim was made with another fingerprint before.
        """
        ...


class Schema(Protocol):
    """The database's shape, and the right to change it."""

    def locked(self) -> AbstractAsyncContextManager[None]:
        """One migrator at a time, across processes and machines."""
        ...

    async def applied(self) -> Sequence[Applied]: ...

    async def apply(self, migration: Migration) -> None: ...


class Store(Protocol):
    """The database as an operator handles it, whether it is ours to start or somebody's."""

    async def start(
        self, *, create: bool, keep: bool = False, progress: Callable[[str], None]
    ) -> None:
        """Until `release`; to `keep` it, until `stop`.

        Raises `NotProvisioned`, `StoreRefused`, `StoreUnavailable`.
        """
        ...

    async def release(self) -> None: ...

    async def stop(self, *, force: bool) -> bool:
        """False if there was nothing to stop. Raises `StoreBusy`."""
        ...

    async def status(self) -> StoreStatus: ...

    async def info(self) -> StoreInfo:
        """Raises `StoreUnavailable`."""
        ...

    async def unsafe(self) -> Sequence[str]:
        """What in it would let one space see another."""
        ...


class Check(Protocol):
    """One thing that can be wrong with an installation."""

    async def __call__(self, *, mend: bool) -> Finding: ...


class Archive(Protocol):
    async def back_up(self, target: Path) -> None:
        """Raises `BackupFailed`."""
        ...

    async def restore(self, source: Path) -> None:
        """All of it or nothing. Raises `BackupFailed`."""
        ...
