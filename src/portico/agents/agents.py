"""Agents: create, list, change, versions, files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.agents.agent_checks import CheckAgent
from portico.agents.core.agents import (
    TEMPLATES,
    Agent,
    AgentFilter,
    AgentId,
    AgentSpec,
    AgentVersion,
    Change,
    Template,
    about_agent,
    about_change,
    changes,
    spec_json,
)
from portico.agents.core.errors import (
    AgentChanged,
    AgentNotFound,
    AgentVersionNotFound,
    InvalidAgent,
)
from portico.agents.ports import AgentFiles, Agents, Identities
from portico.guard.core.keys import check_tools
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Contexts, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.label import join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAgent:
    agents: Agents
    identities: Identities
    check_agent: CheckAgent
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, spec: AgentSpec) -> Agent:
        """Raises `NotPermitted`, `InvalidAgent`, `AgentNameTaken`."""
        require_scope(caller, Scope.AGENTS_WRITE)
        await _checked(self.check_agent, caller, spec)
        now = self.clock.now()
        agent = Agent(
            id=AgentId.mint(now, self.entropy),
            space=caller.space,
            principal=PrincipalId.mint(now, self.entropy),
            spec=spec,
            version=1,
            made_by=caller.id,
            made_by_name=caller.name,
            made_at=now,
            changed_at=now,
        )
        async with self.unit_of_work(caller):
            await self.identities.add(caller, agent)
            await self.agents.add(caller, agent)
            await self.audit.note(caller, about_agent("agent.added", agent))
        return agent


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAgent:
    agents: Agents
    identities: Identities
    check_agent: CheckAgent
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock

    async def __call__(
        self, caller: Principal, name: str, spec: AgentSpec, *, was: int | None
    ) -> Agent:
        """To all of `spec`; `was` is the version that was read before, if somebody minds. What is
        the same already makes no version. Raises `NotPermitted`, `AgentNotFound`, `AgentChanged`,
        `InvalidAgent`, `AgentNameTaken`, `Overreach`."""
        require_scope(caller, Scope.AGENTS_WRITE)
        before = await self.agents.get(caller, name)
        if was not in (None, before.version):
            raise AgentChanged(before.name, before.version)
        check_tools(caller, before.spec.tools)
        if spec == before.spec:
            return before
        await _checked(self.check_agent, caller, spec)
        after = replace(before, spec=spec, version=before.version + 1, changed_at=self.clock.now())
        async with self.unit_of_work(caller):
            await self.agents.put(caller, after, was=before.version)
            await self.identities.change(caller, after)
            await self.audit.note(caller, about_change(before, after))
        return after


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAgent:
    agents: Agents
    identities: Identities
    unit_of_work: UnitOfWork
    audit: Audit

    async def __call__(self, caller: Principal, name: str) -> None:
        """Its runs stay on the record; what runs of it ends. Raises `NotPermitted`,
        `AgentNotFound`, `Overreach`."""
        require_scope(caller, Scope.AGENTS_WRITE)
        agent = await self.agents.get(caller, name)
        check_tools(caller, agent.spec.tools)
        async with self.unit_of_work(caller):
            await self.agents.remove(caller, agent.id)
            await self.identities.remove(caller, agent)
            await self.audit.note(caller, about_agent("agent.removed", agent))


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateAgent:
    agents: Agents
    contexts: Contexts
    create_agent: CreateAgent

    async def __call__(self, caller: Principal, name: str, new_name: str) -> Agent:
        """Another one, alike but for its name, and not exposed until somebody says so. Raises what
        making one raises, and `AgentNotFound`."""
        require_scope(caller, Scope.AGENTS_WRITE)
        agent = await self.agents.get(caller, name)
        await self.contexts.raise_taint(caller, agent.spec.label, untrusted=False)
        return await self.create_agent(caller, replace(agent.spec, name=new_name, exposed=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAgent:
    agents: Agents
    contexts: Contexts

    async def __call__(self, caller: Principal, name: str) -> Agent:
        """Raises `NotPermitted`, `AgentNotFound`."""
        require_scope(caller, Scope.AGENTS_READ)
        agent = await self.agents.get(caller, name)
        await self.contexts.raise_taint(caller, agent.spec.label, untrusted=False)
        return agent


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAgents:
    """That they are there, and what they are for: what they are told is not for a list."""

    agents: Agents

    async def __call__(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        """By name. Raises `NotPermitted`."""
        require_scope(caller, Scope.AGENTS_READ)
        return await self.agents.page(caller, which, after=after, limit=limit)


async def _checked(check: CheckAgent, caller: Principal, spec: AgentSpec) -> None:
    """Raises `InvalidAgent`."""
    if found := await check(caller, spec):
        raise InvalidAgent(spec.name, found)


# What an agent was before: see it, compare it, take it back.


@dataclass(frozen=True, slots=True, kw_only=True)
class ListVersions:
    agents: Agents
    contexts: Contexts

    async def __call__(self, caller: Principal, name: str) -> Sequence[AgentVersion]:
        """Newest first; those above the caller's clearance are left out. Raises `NotPermitted`,
        `AgentNotFound`."""
        require_scope(caller, Scope.AGENTS_READ)
        return await self.found(caller, name)

    async def found(self, caller: Principal, name: str) -> Sequence[AgentVersion]:
        """For whoever may change it, too. Raises `AgentNotFound`."""
        agent = await self.agents.get(caller, name)
        found = await self.agents.versions(caller, agent.id)
        label = join(version.spec.label for version in found)
        await self.contexts.raise_taint(caller, label, untrusted=False)
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
        require_scope(caller, Scope.AGENTS_WRITE)
        found = await self.list_versions.found(caller, name)
        latest, wanted = found[0], _numbered(found, name, number)
        spec = replace(wanted.spec, name=latest.spec.name)
        return await self.change_agent(caller, name, spec, was=latest.number)


def _numbered(versions: Sequence[AgentVersion], name: str, number: int) -> AgentVersion:
    for version in versions:
        if version.number == number:
            return version
    raise AgentVersionNotFound(name, number)


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
        """In the place of the one that has its name, if `replace` says so. Raises
        `InvalidAgentFile`, and what making or changing one raises."""
        require_scope(caller, Scope.AGENTS_WRITE)
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


@dataclass(frozen=True, slots=True)
class ListTemplates:
    def __call__(self) -> Sequence[Template]:
        return TEMPLATES
