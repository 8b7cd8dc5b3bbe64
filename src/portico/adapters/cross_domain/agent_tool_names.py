"""The tools of the gateway, by their names, for whoever describes an agent."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.catalog import Catalogues
from portico.gateway.core.servers import AGENTS
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class GatewayToolNames:
    catalogues: Catalogues

    async def names(self, caller: Principal) -> Sequence[str]:
        shelf = await self.catalogues.offered(caller)
        return sorted(map(str, shelf.tools))

    async def servers(self, caller: Principal) -> Sequence[str]:
        """Other agents among them, also before one is exposed."""
        return sorted({AGENTS, *(await self.catalogues.offered(caller)).servers})
