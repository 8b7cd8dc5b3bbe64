"""What an agent was before: see it, compare it, take it back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.agents.core.agent import Agent, AgentVersion
from portico.agents.core.errors import AgentVersionNotFound
from portico.agents.core.versions import Change, changes
from portico.agents.manage_agents import ChangeAgent
from portico.agents.ports import Agents
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import permit
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListVersions:
    agents: Agents
    contexts: Contexts

    async def __call__(self, caller: Principal, name: str) -> Sequence[AgentVersion]:
        """Newest first; those above the caller's clearance are left out. Raises `NotPermitted`,
        `AgentNotFound`."""
        permit(caller, Scope.AGENTS_READ)
        return await self.found(caller, name)

    async def found(self, caller: Principal, name: str) -> Sequence[AgentVersion]:
        """For whoever may change it, too. Raises `AgentNotFound`."""
        agent = await self.agents.get(caller, name)
        found = await self.agents.versions(caller, agent.id)
        label = join(version.spec.label for version in found)
        await self.contexts.rise(caller, label, untrusted=False)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffVersions:
    list_versions: ListVersions

    async def __call__(
        self, caller: Principal, name: str, one: int, other: int
    ) -> Sequence[Change]:
        """From the one to the other. Raises `NotPermitted`, `AgentNotFound`,
        `AgentVersionNotFound`."""
        found = await self.list_versions(caller, name)
        return changes(_numbered(found, name, one).spec, _numbered(found, name, other).spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreVersion:
    list_versions: ListVersions
    change_agent: ChangeAgent

    async def __call__(self, caller: Principal, name: str, number: int) -> Agent:
        """As the next version, under the name that it has now. Raises what changing one raises,
        and `AgentVersionNotFound`."""
        permit(caller, Scope.AGENTS_WRITE)
        found = await self.list_versions.found(caller, name)
        latest, wanted = found[0], _numbered(found, name, number)
        spec = replace(wanted.spec, name=latest.spec.name)
        return await self.change_agent(caller, name, spec, was=latest.number)


def _numbered(versions: Sequence[AgentVersion], name: str, number: int) -> AgentVersion:
    for version in versions:
        if version.number == number:
            return version
    raise AgentVersionNotFound(name, number)
