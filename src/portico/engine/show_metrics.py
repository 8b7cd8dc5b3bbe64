"""What was counted and timed, for whoever may see it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowMetrics:
    text: Callable[[], Awaitable[str]]

    async def __call__(self, caller: Principal) -> str:
        """Raises `NotPermitted`."""
        permit(caller, Scope.METRICS_READ)
        return await self.text()
