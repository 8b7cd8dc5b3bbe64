"""What was called, by whom, how it went, and how servers and tools have been doing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from portico.gateway.core.call import Call, Figures
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import CallHistory, Servers
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.label import join, may_read
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCalls:
    history: CallHistory
    servers: Servers
    """All of them, whoever may know of which."""
    contexts: Contexts

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
        beyond = await _beyond(caller, self.servers)
        found = await self.history.page(
            caller, of=of, ref=ref, before=before, limit=limit, beyond=beyond
        )
        if found:  # what was called with, and what servers complained of, has been read then
            await self.contexts.rise(caller, join(its.label for its in found), untrusted=True)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFigures:
    history: CallHistory
    servers: Servers
    clock: Clock

    async def __call__(
        self, caller: Principal, *, server: str | None = None, within: timedelta
    ) -> Sequence[Figures]:
        """One a server; with a server, one a tool of it."""
        permit(caller, Scope.SERVERS_READ)
        since = self.clock.now() - within
        beyond = await _beyond(caller, self.servers)
        return await self.history.figures(caller, since=since, server=server, beyond=beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOwnFigures:
    """How the caller's own calls went, for which nobody needs a right to look at others'."""

    history: CallHistory
    servers: Servers
    clock: Clock

    async def __call__(
        self, caller: Principal, *, server: str | None = None, within: timedelta
    ) -> Sequence[Figures]:
        """One a server; with a server, one a tool of it."""
        permit(caller, Scope.TOOLS_READ)
        since = self.clock.now() - within
        beyond = await _beyond(caller, self.servers)
        task = caller.context if caller.shared else None
        return await self.history.figures(
            caller, since=since, server=server, of=caller.id, task=task, beyond=beyond
        )


async def _beyond(caller: Principal, servers: Servers) -> Collection[str]:
    """What has been labelled above the caller since it was called."""
    every = await servers.all(caller)
    return [its.name for its in every if not may_read(caller.clearance, its.label)]
