"""Agents of a space: make one, look at them, change one, take one away."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.agents.check_agent import CheckAgent
from portico.agents.core.agent import Agent, AgentFilter, AgentId, AgentSpec
from portico.agents.core.audit_facts import about_agent, about_change
from portico.agents.core.errors import AgentChanged, BadAgent
from portico.agents.ports import Agents, Identities
from portico.guard.core.keys import check_tools
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Contexts, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAgent:
    agents: Agents
    identities: Identities
    check_agent: CheckAgent
    together: Together
    audit: Audit
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, spec: AgentSpec) -> Agent:
        """Raises `NotPermitted`, `BadAgent`, `AgentNameTaken`."""
        permit(caller, Scope.AGENTS_WRITE)
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
        async with self.together(caller):
            await self.identities.add(caller, agent)
            await self.agents.add(caller, agent)
            await self.audit.note(caller, about_agent("agent.added", agent))
        return agent


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAgent:
    agents: Agents
    identities: Identities
    check_agent: CheckAgent
    together: Together
    audit: Audit
    clock: Clock

    async def __call__(
        self, caller: Principal, name: str, spec: AgentSpec, *, was: int | None
    ) -> Agent:
        """To all of `spec`; `was` is the version that was read before, if somebody minds. What is
        the same already makes no version. Raises `NotPermitted`, `AgentNotFound`, `AgentChanged`,
        `BadAgent`, `AgentNameTaken`, `Overreach`."""
        permit(caller, Scope.AGENTS_WRITE)
        before = await self.agents.get(caller, name)
        if was not in (None, before.version):
            raise AgentChanged(before.name, before.version)
        check_tools(caller, before.spec.tools)
        if spec == before.spec:
            return before
        await _checked(self.check_agent, caller, spec)
        after = replace(before, spec=spec, version=before.version + 1, changed_at=self.clock.now())
        async with self.together(caller):
            await self.agents.put(caller, after, was=before.version)
            await self.identities.change(caller, after)
            await self.audit.note(caller, about_change(before, after))
        return after


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAgent:
    agents: Agents
    identities: Identities
    together: Together
    audit: Audit

    async def __call__(self, caller: Principal, name: str) -> None:
        """Its runs stay on the record; what runs of it ends. Raises `NotPermitted`,
        `AgentNotFound`, `Overreach`."""
        permit(caller, Scope.AGENTS_WRITE)
        agent = await self.agents.get(caller, name)
        check_tools(caller, agent.spec.tools)
        async with self.together(caller):
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
        permit(caller, Scope.AGENTS_WRITE)
        agent = await self.agents.get(caller, name)
        await self.contexts.rise(caller, agent.spec.label, untrusted=False)
        return await self.create_agent(caller, replace(agent.spec, name=new_name, exposed=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAgent:
    agents: Agents
    contexts: Contexts

    async def __call__(self, caller: Principal, name: str) -> Agent:
        """Raises `NotPermitted`, `AgentNotFound`."""
        permit(caller, Scope.AGENTS_READ)
        agent = await self.agents.get(caller, name)
        await self.contexts.rise(caller, agent.spec.label, untrusted=False)
        return agent


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAgents:
    """That they are there, and what they are for: what they are told is not for a list."""

    agents: Agents

    async def __call__(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        """By name. Raises `NotPermitted`."""
        permit(caller, Scope.AGENTS_READ)
        return await self.agents.page(caller, which, after=after, limit=limit)


async def _checked(check: CheckAgent, caller: Principal, spec: AgentSpec) -> None:
    """Raises `BadAgent`."""
    if found := await check(caller, spec):
        raise BadAgent(spec.name, found)
