"""How the house is: to anybody whether it is ready, to who may see it how."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import StoreStatus
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.principal import Principal
from portico.sandbox.core.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseStatus:
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

    async def __call__(self, caller: Principal) -> HouseStatus:
        """Raises `NotPermitted`."""
        permit(caller, Scope.STATUS_READ)
        store, secrets = await self.store_status(), await self.secrets_in()
        return HouseStatus(store=store, boxes=self.boxes(), secrets=secrets)

    async def ready(self) -> None:
        """Raises `StoreUnavailable` unless everything is. Without a box one can still do much."""
        if not (await self.store_status()).ready:
            raise StoreUnavailable("The database is not ready.")
