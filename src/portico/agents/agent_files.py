"""Take an agent out as a file, and bring one in."""

from dataclasses import dataclass

from portico.agents.agent_ports import AgentFiles
from portico.agents.check_agent import CheckAgent
from portico.agents.core.agent import Agent
from portico.agents.core.agent_text import spec_json
from portico.agents.core.errors import AgentNotFound
from portico.agents.manage_agents import ChangeAgent, CreateAgent, ShowAgent
from portico.agents.ports import Agents
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportAgent:
    show_agent: ShowAgent
    files: AgentFiles

    async def __call__(self, caller: Principal, name: str) -> str:
        """TOML. Raises `NotPermitted`, `AgentNotFound`."""
        agent = await self.show_agent(caller, name)
        return self.files.write(spec_json(agent.spec))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAgent:
    agents: Agents
    files: AgentFiles
    check_agent: CheckAgent
    create_agent: CreateAgent
    change_agent: ChangeAgent

    async def __call__(self, caller: Principal, text: str, *, replace: bool) -> Agent:
        """In the place of the one that has its name, if `replace` says so. Raises `BadAgentFile`,
        and what making or changing one raises."""
        permit(caller, Scope.AGENTS_WRITE)
        spec = await self.check_agent.read(caller, self.files.read(text))
        if not replace or not await self._there(caller, spec.name):
            return await self.create_agent(caller, spec)
        return await self.change_agent(caller, spec.name, spec, was=None)

    async def _there(self, caller: Principal, name: str) -> bool:
        try:
            await self.agents.get(caller, name)
        except AgentNotFound:
            return False
        return True
