"""Agents as they are kept, with those that are exposed among the tools of their space."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from portico.adapters.cross_domain.agent_tools import LABEL
from portico.agents.core.agents import Agent, AgentFilter, AgentId, AgentSpec, AgentVersion
from portico.agents.ports import Agents
from portico.gateway.catalog import Catalogues
from portico.gateway.core.servers import Server
from portico.gateway.ports import house
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.label import may_read
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.agents")
_MOST: Final = 200
"""Agents of a space that are tools."""


@dataclass(slots=True, kw_only=True)
class ExposedAgents:
    """The room's `Agents`, around another: whatever changes one is followed, once it is written, by
    asking anew what there is. As any server's tools, they wait for approval."""

    agents: Agents
    afterwards: Callable[[Callable[[], None]], None]
    """Once what is being written is there for others to see."""
    changed: asyncio.Queue[SpaceId] = field(default_factory=asyncio.Queue)

    async def add(self, caller: Principal, agent: Agent) -> None:
        await self.agents.add(caller, agent)
        if agent.spec.exposed:
            self._changed(caller.space)

    async def get(self, caller: Principal, name: str) -> Agent:
        return await self.agents.get(caller, name)

    async def put(self, caller: Principal, agent: Agent, *, was: int) -> None:
        await self.agents.put(caller, agent, was=was)
        self._changed(caller.space)

    async def remove(self, caller: Principal, agent: AgentId) -> None:
        await self.agents.remove(caller, agent)
        self._changed(caller.space)

    async def page(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        return await self.agents.page(caller, which, after=after, limit=limit)

    async def versions(self, caller: Principal, agent: AgentId) -> Sequence[AgentVersion]:
        return await self.agents.versions(caller, agent)

    def _changed(self, space: SpaceId) -> None:
        self.afterwards(lambda: self.changed.put_nowait(space))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposing:
    agents: Agents
    catalogues: Catalogues
    server: Callable[[SpaceId], Awaitable[Server | None]]
    """The one whose tools they are, if there is one yet."""
    ask_again: Callable[[SpaceId], Awaitable[None]]

    async def offered(self, space: SpaceId) -> Sequence[tuple[AgentSpec, Effect]]:
        """Those that nobody learns of by it who may not: what is more secret than the server is not
        among them."""
        server = await self.server(space)
        if server is None:
            return []
        looking = replace(house(space), clearance=server.label)
        return [(spec, await self._worst(looking, spec)) for spec in await self._exposed(looking)]

    async def run(self, changed: asyncio.Queue[SpaceId]) -> None:
        """Until it is cancelled."""
        while True:
            space = await changed.get()
            try:
                looking = replace(house(space), clearance=LABEL)
                if await self.server(space) is not None or await self._exposed(looking):
                    await self.ask_again(space)
            except PorticoError as error:
                _log.warning("it is not known which agents are tools now: %s", error)

    async def _exposed(self, caller: Principal) -> Sequence[AgentSpec]:
        exposed: list[AgentSpec] = []
        after: str | None = None
        while len(exposed) < _MOST:
            page = await self.agents.page(caller, AgentFilter(), after=after, limit=_MOST)
            specs = [agent.spec for agent in page if agent.spec.exposed]
            exposed += [spec for spec in specs if may_read(caller.clearance, spec.label)]
            if len(page) < _MOST:
                break
            after = page[-1].name
        return exposed[:_MOST]

    async def _worst(self, caller: Principal, spec: AgentSpec) -> Effect:
        its = replace(caller, clearance=spec.label, tools=(spec.tools,))
        shelf = await self.catalogues.offered(its)
        return worst(tool.effect for tool in shelf.tools.values())
