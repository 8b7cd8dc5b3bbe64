"""Agents as data with in-memory doors: whoever is there, and all that can be done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from portico.adapters.cross_domain.run_contexts import AgentIdentities
from portico.agents.core.traces import AgentRunStatus, RunTrace
from portico.app.agents import AgentDependencies, assemble_agents
from portico.engine.core.errors import RunNotFound
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey
from portico.guard.core.principals import Role
from portico.guard.ports import Rules
from portico.interfaces.http.use_cases import AgentUseCases
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import ListedTools, MemoryAgents, MemoryTraceReports, MemoryTraces
from portico.testing.agents import MemoryModelRegistry
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams
from portico.testing.gateway_fakes import memory_gateway
from portico.testing.guard import (
    MemoryAudit,
    MemoryPrincipals,
    MemorySpaces,
    MemoryTaskContexts,
    a_space,
    an_identity,
)
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from tests.contracts.doors import PEPPER, a_key

TEAM = Label(Level.TEAM)


@dataclass(frozen=True, kw_only=True)
class DataRoom:
    use: AgentUseCases
    book: MemoryModelRegistry
    tools: ListedTools
    traces: MemoryTraces
    settling: "Settled"
    contexts: MemoryTaskContexts
    principals: MemoryPrincipals
    audit: MemoryAudit
    root: Principal
    """An admin, cleared for everything of level confidential."""
    rules: Rules

    async def joined(self, name: str, *roles: Role, clearance: Label = TEAM) -> Principal:
        identity = an_identity(name, space=a_space("home"), roles=roles, clearance=clearance)
        await self.principals.add(self.root, identity)
        return as_principal(identity)


@dataclass
class Settled:
    """The engine's word on runs, for tests to say."""

    traces: MemoryTraces
    broken: set[RunId] = field(default_factory=set)
    unknown: set[RunId] = field(default_factory=set)
    meanwhile: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    """What happens between a look at a trace and the question of how it is."""

    async def settled(self, caller: Principal, run: RunId) -> RunTrace:
        while self.meanwhile:
            await self.meanwhile.pop()()
        if run in self.unknown:
            raise RunNotFound(str(run))
        found = (await self.traces.read(caller, run)).run
        return replace(found, status=AgentRunStatus.FAILED) if run in self.broken else found


async def data_room() -> DataRoom:
    world, clock = InMemoryStore(), TickingClock()
    space, audit = a_space("home"), MemoryAudit(world, clock)
    admin = an_identity(
        "root", space=space, roles=[Role.ADMIN], clearance=Label(Level.CONFIDENTIAL)
    )
    key = ApiKey.mint(SeededEntropy("first key"))
    await MemorySpaces(world).found(space, admin, a_key(admin, key), key.digest(PEPPER))
    principals, contexts = MemoryPrincipals(world), MemoryTaskContexts(world)
    traces = MemoryTraces(world)
    book, tools = MemoryModelRegistry(), ListedTools("files.read", "files.write")
    settling, entropy = Settled(traces), SeededEntropy("agents")
    approvals = memory_gateway(
        world, ScriptedUpstreams(), bus=MemoryBus(), clock=clock, entropy=entropy, audit=audit
    ).workflows.approvals
    doors = AgentDependencies(
        agents=MemoryAgents(world),
        identities=AgentIdentities(
            principals=principals,
            approvals=approvals.approvals,
            withdraw=approvals.withdraw(),
            rules=approvals.rules,
            audit=audit,
            unit_of_work=together,
            clock=clock,
        ),
        traces=traces,
        reports=MemoryTraceReports(world),
        settling=settling,
        book=book,
        tools=tools,
        contexts=contexts,
        unit_of_work=together,
        audit=audit,
        clock=clock,
        entropy=entropy,
        version="1",
    )
    return DataRoom(
        use=assemble_agents(doors),
        book=book,
        tools=tools,
        traces=traces,
        settling=settling,
        contexts=contexts,
        principals=principals,
        audit=audit,
        root=as_principal(admin),
        rules=approvals.rules,
    )
