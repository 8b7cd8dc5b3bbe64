"""The store: migrate, diagnose, show status and metrics."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import CheckResult, Migration, StoreStatus, pending
from portico.engine.ports import Check, Companion, Schema
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.principal import Principal
from portico.sandbox.core.probes import Report

# Bring the database to the shape this version needs, one checked step at a time.


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateStore:
    schema: Schema
    known: Sequence[Migration]
    companions: Sequence[Companion] = field(default_factory=tuple)

    async def __call__(self) -> AsyncIterator[Migration]:
        """Yields each migration once it is applied. Raises `SchemaEdited`, `SchemaAhead`."""
        async with self.schema.locked():
            for migration in pending(self.known, await self.schema.applied()):
                await self.schema.apply(migration)
                yield migration
            for companion in self.companions:
                await companion.migrate()


# Look the whole house over, and mend what can be mended without asking.


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnose:
    checks: Sequence[Check]

    async def __call__(self, *, mend: bool) -> AsyncIterator[CheckResult]:
        """In order: a later check may stand on what an earlier one has found or mended."""
        for check in self.checks:
            found = await check(mend=mend)
            for each in [found] if isinstance(found, CheckResult) else found:
                yield each


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationStatus:
    store: StoreStatus
    boxes: Sequence[Report] | None
    """Of each box that was tried, in the order of trying; None while they are being tried."""
    secrets: str | None
    """What secrets are kept in here; None if they cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStatus:
    store_status: Callable[[], Awaitable[StoreStatus]]
    boxes: Callable[[], Sequence[Report] | None]
    secrets_in: Callable[[], Awaitable[str | None]]

    async def __call__(self, caller: Principal) -> InstallationStatus:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.STATUS_READ)
        store, secrets = await self.store_status(), await self.secrets_in()
        return InstallationStatus(store=store, boxes=self.boxes(), secrets=secrets)

    async def ready(self) -> None:
        """Raises `StoreUnavailable` unless everything is. Without a box one can still do much."""
        if not (await self.store_status()).ready:
            raise StoreUnavailable("The database is not ready.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowMetrics:
    text: Callable[[], Awaitable[str]]

    async def __call__(self, caller: Principal) -> str:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.METRICS_READ)
        return await self.text()
