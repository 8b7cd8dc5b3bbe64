"""Examine servers that do not start."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from portico.gateway.core.calls import UpstreamTarget
from portico.gateway.core.servers import Server
from portico.gateway.core.start_diagnostics import how_to_mend
from portico.gateway.discovery import IndexServer
from portico.gateway.ports import Servers, Upstreams
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    server: str
    reason: str | None = None
    """Why it does not start; None if it does, by now."""
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamineServers:
    servers: Servers
    upstreams: Upstreams
    index: IndexServer

    async def ailing(self, caller: Principal) -> Sequence[Server]:
        """That may be started, and could not be asked the last time."""
        require_scope(caller, Scope.SERVERS_WRITE)
        return [each for each in await self.servers.all(caller) if _ails(each)]

    async def __call__(self, caller: Principal, *, mend: bool) -> AsyncGenerator[Examined, None]:
        """`mend`: what one offers that starts again is noted; it is let in by nobody."""
        for server in await self.ailing(caller):
            yield await self._examined(caller, server, mend=mend)
            await self.upstreams.stop(caller.space, server.name)

    async def _examined(self, caller: Principal, server: Server, *, mend: bool) -> Examined:
        try:
            if mend:
                await self.index(caller, server.name)
            else:
                links = caller.may(Scope.TOOLS_WRITE)
                await self.upstreams.look(
                    UpstreamTarget.of(caller.space, server, caller.id, links=links)
                )
        except PorticoError as error:
            words = self.upstreams.health(caller.space, server.name).last_words
            fix = how_to_mend(server, str(error), words) or error.fix
            return Examined(server=server.name, reason=str(error), fix=fix)
        return Examined(server=server.name)


def _ails(server: Server) -> bool:
    there = server.enabled and server.gone_at is None
    return there and server.may_start and server.failure is not None
