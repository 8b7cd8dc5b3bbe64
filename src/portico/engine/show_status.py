"""How the house is: to anybody whether it is ready, to who may see it how."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.store import StoreStatus
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStatus:
    store_status: Callable[[], Awaitable[StoreStatus]]

    async def __call__(self, caller: Principal) -> StoreStatus:
        """Raises `NotPermitted`."""
        permit(caller, Scope.STATUS_READ)
        return await self.store_status()

    async def ready(self) -> None:
        """Raises `StoreUnavailable` unless everything is."""
        if not (await self.store_status()).ready:
            raise StoreUnavailable("The database is not ready.")
