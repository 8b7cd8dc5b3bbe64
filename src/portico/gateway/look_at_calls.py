"""What was called, by whom, how it went, and how servers and tools have been doing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from portico.gateway.core.call import Call, Figures
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCalls:
    history: CallHistory

    async def __call__(
        self,
        caller: Principal,
        *,
        ref: ToolRef | None = None,
        before: datetime | None = None,
        limit: int = 50,
    ) -> Sequence[Call]:
        """Newest first: everybody's, or for whoever may not see those, their own."""
        permit(caller, Scope.TOOLS_READ)
        of = None if caller.may(Scope.CALLS_READ) else caller.id
        return await self.history.page(caller, of=of, ref=ref, before=before, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFigures:
    history: CallHistory
    clock: Clock

    async def __call__(
        self, caller: Principal, *, server: str | None = None, within: timedelta
    ) -> Sequence[Figures]:
        """One a server; with a server, one a tool of it."""
        permit(caller, Scope.SERVERS_READ)
        since = self.clock.now() - within
        return await self.history.figures(caller, since=since, server=server)
