"""Every door of the lower floors and the gateway, in memory or in PostgreSQL, and who is there."""

from dataclasses import dataclass, replace
from datetime import timedelta

import psycopg

from portico.adapters.crypto import RingVault
from portico.adapters.inline import InlineBus, InlineRuns
from portico.adapters.postgres.agents.agents import PostgresAgents
from portico.adapters.postgres.agents.traces import PostgresTraceReports, PostgresTraces
from portico.adapters.postgres.bridge.conversations import (
    PostgresConversations,
    PostgresPresences,
    PostgresProjects,
)
from portico.adapters.postgres.bridge.declassification import PostgresDeclassifications
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bridge.search import PostgresMessageSearch
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.debate.budgets import PostgresBudgetLedger
from portico.adapters.postgres.debate.debates import PostgresBlackboard
from portico.adapters.postgres.debate.outcomes import PostgresOutcomes, PostgresPersonas
from portico.adapters.postgres.debate.seats import PostgresSeats
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.idempotency import PostgresReceipts
from portico.adapters.postgres.engine.runs import PostgresRuns
from portico.adapters.postgres.gateway.calls import PostgresCallHistory, PostgresElsewhere
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.gateway.tools import PostgresTools, PostgresVectors
from portico.adapters.postgres.guard.approvals import PostgresApprovals
from portico.adapters.postgres.guard.audit import PostgresAudit, PostgresAuditLog
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import (
    PostgresKeyRing,
    PostgresKeys,
    PostgresSessions,
    PostgresTokenSubjects,
    PostgresTrustedClients,
)
from portico.adapters.postgres.guard.logins import PostgresLoginClients, PostgresLogins
from portico.adapters.postgres.guard.principals import PostgresPeople, PostgresPrincipals
from portico.adapters.postgres.guard.rules import PostgresRules
from portico.adapters.postgres.guard.spaces import PostgresSpaces, PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import (
    PostgresEdgeStore,
    PostgresLearnedCounts,
    PostgresObservedFlows,
    PostgresShapes,
    PostgresToolUsageStore,
)
from portico.adapters.postgres.learning.suggestions import PostgresPastPlans, PostgresSuggestions
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.postgres.workflows.saved import PostgresSavedWorkflows
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.agents.ports import Agents, Traces
from portico.agents.traces import TraceReports
from portico.bridge.declassification import Declassifications
from portico.bridge.ports import (
    Attachments,
    Conversations,
    Leases,
    Memory,
    Messages,
    People,
    Presences,
    Projects,
    ReadState,
    Works,
)
from portico.bridge.search import MessageSearch
from portico.debate.ports import Blackboard, BudgetLedger, Outcomes, Personas, Seats
from portico.engine.core.runs import QueuePlacement, Run, RunStatus
from portico.engine.ports import Bus, EventLog, Receipts, Runs
from portico.gateway.ports import (
    CallHistory,
    Results,
    Servers,
    Shapes,
    Tools,
    ToolUsageStore,
    Vectors,
)
from portico.guard.approvals import Approvals, TrustedClients
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey, OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Identity, Role
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.core.vault import VaultKeys
from portico.guard.oauth_logins import LoginClients, Logins, TokenSubjects
from portico.guard.ports import (
    Audit,
    AuditLog,
    Contexts,
    KeyRing,
    Keys,
    Principals,
    Rules,
    Sessions,
    Spaces,
    SpaceSettings,
    UnitOfWork,
)
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.learning.observation import EdgeStore, LearnedCounts, ObservedFlows
from portico.learning.prefetch_ports import Elsewhere
from portico.learning.suggestions import PastPlanStore, Suggestions
from portico.testing.agent_data import MemoryAgents, MemoryTraceReports, MemoryTraces
from portico.testing.approvals import MemoryApprovals
from portico.testing.bridge_conversations import (
    MemoryConversations,
    MemoryMessages,
    MemoryMessageSearch,
    MemoryPeople,
    MemoryProjects,
    MemoryReadState,
)
from portico.testing.bridge_memory import (
    MemoryAttachments,
    MemoryDeclassifications,
    MemoryLeases,
    MemoryMemory,
    MemoryPresences,
    MemoryWorks,
)
from portico.testing.debates import (
    MemoryBlackboard,
    MemoryBudgetLedger,
    MemoryOutcomes,
    MemoryPersonas,
    MemorySeats,
)
from portico.testing.engine import MemoryBus, MemoryEventLog, MemoryReceipts
from portico.testing.gateway import (
    MemoryCallHistory,
    MemoryElsewhere,
    MemoryResults,
    MemorySavedWorkflows,
    MemoryServers,
    MemoryTools,
    MemoryToolUsageStore,
    MemoryVectors,
)
from portico.testing.guard import (
    MemoryAudit,
    MemoryKeyRing,
    MemoryKeys,
    MemoryPrincipals,
    MemoryRules,
    MemorySessions,
    MemorySpaces,
    MemorySpaceSettings,
    MemoryTaskContexts,
    MemoryTrustedClients,
    a_space,
    an_identity,
)
from portico.testing.learning import (
    MemoryEdgeStore,
    MemoryLearnedCounts,
    MemoryObservedFlows,
    MemoryPastPlans,
    MemoryShapes,
    MemorySuggestions,
)
from portico.testing.memory_store import (
    BEGINNING,
    InMemoryStore,
    RowRefused,
    SeededEntropy,
    TickingClock,
    together,
)
from portico.testing.secrets import MemoryLoginClients, MemoryLogins, MemoryTokenSubjects
from portico.workflows.saved import SavedWorkflows

REFUSED = (RowRefused, psycopg.Error)
"""A row that may not be there: no caller of ours comes so far, so that nobody translates it."""

PEPPER = b"pepper"
_VAULT = RingVault(VaultKeys.fresh(system_entropy))
RULES_OF_THE_FILE = [
    Rule(name="of-the-file", ruling=Ruling.ASK, tools=("*",), source=RuleSource.FILE)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    key_ring: KeyRing
    keys: Keys
    sessions: Sessions
    trusted: TrustedClients
    principals: Principals
    spaces: Spaces
    settings: SpaceSettings
    receipts: Receipts
    event_log: EventLog
    bus: Bus
    elsewhere: Bus
    """The same bus, in another process."""
    together: UnitOfWork
    audit: Audit
    audit_log: AuditLog
    servers: Servers
    tools: Tools
    vectors: Vectors
    runs: Runs
    calls: CallHistory
    """Of those runs too."""
    calls_elsewhere: CallHistory
    """The same record, in another process."""
    changes_elsewhere: Elsewhere
    """What is changed in that one."""
    results: Results
    acquaintances: ToolUsageStore
    shapes: Shapes
    flows: ObservedFlows
    edges: EdgeStore
    counts: LearnedCounts
    saved: SavedWorkflows
    past_plans: PastPlanStore
    suggestions: Suggestions
    agents: Agents
    traces: Traces
    trace_reports: TraceReports
    projects: Projects
    memory: Memory
    attachments: Attachments
    leases: Leases
    works: Works
    presences: Presences
    people: People
    conversations: Conversations
    messages: Messages
    read_state: ReadState
    message_search: MessageSearch
    declassifications: Declassifications
    debates: Blackboard
    purse: BudgetLedger
    seats: Seats
    outcomes: Outcomes
    personas: Personas
    contexts: MemoryTaskContexts | PostgresTaskContexts
    contexts_elsewhere: Contexts
    """The same tasks, in another process."""
    approvals: Approvals
    subjects: TokenSubjects
    logins: Logins
    login_clients: LoginClients
    rules: Rules
    rules_elsewhere: Rules
    """The same rules, in another process."""
    clock: TickingClock

    async def founded(self, name: str) -> Principal:
        """The admin of a new space of this name."""
        space = a_space(name)
        admin = an_identity("root", space=space, roles=[Role.ADMIN])
        key = ApiKey.mint(SeededEntropy(f"first key of {name}"))
        await self.spaces.found(space, admin, a_key(admin, key), key.digest(PEPPER))
        return as_principal(admin)

    async def joined(self, admin: Principal, name: str) -> Identity:
        """Somebody new in the admin's space."""
        space = await self.spaces.get(admin)
        identity = an_identity(name, space=space)
        await self.principals.add(admin, identity)
        return identity

    async def run_of(self, caller: Principal) -> RunId:
        """One that has just been started."""
        run = Run(
            id=RunId.mint(BEGINNING, SeededEntropy("a run")),
            space=caller.space,
            principal=caller.id,
            kind="work",
            label=PUBLIC,
            clearance=caller.clearance,
            placement=QueuePlacement(),
            status=RunStatus.QUEUED,
            input={},
            created_at=BEGINNING,
        )
        await self.runs.add(caller, run, "asked")
        return run.id

    async def key_of(self, caller: Principal, holder: Identity, name: str = "k") -> StoredKey:
        """A key of the holder's, made by the caller; the same name, the same key."""
        key = ApiKey.mint(SeededEntropy(f"{name} of {holder.id}"))
        stored = a_key(holder, key, name)
        await self.keys.add(caller, stored, key.digest(PEPPER))
        return stored

    async def session_of(self, caller: Principal, opener: StoredKey, name: str = "b") -> StoredKey:
        """One that is opened with this key; the same name, the same session."""
        session = a_session(opener, name)
        await self.sessions.open(caller, session, b"x" * 32)
        return session


def a_session(opener: StoredKey, name: str = "b") -> StoredKey:
    return replace(
        another_id(opener, f"{name} with {opener.id}"),
        purpose=Purpose.SESSION,
        name=name,
        opened_with=OpenedWith(opener.id, opener.expires_at),
        expires_at=BEGINNING + timedelta(days=14),
    )


def a_key(holder: Identity, key: ApiKey, name: str = "first") -> StoredKey:
    return StoredKey(
        id=key.id,
        space=holder.space,
        principal=holder.id,
        purpose=Purpose.ACCESS,
        name=name,
        scopes=None,
        clearance=holder.clearance,
        created_at=BEGINNING,
    )


def another_id(key: StoredKey, seed: str = "another") -> StoredKey:
    return replace(key, id=ApiKey.mint(SeededEntropy(seed)).id)


def memory_doors() -> Doors:
    world, bus, clock = InMemoryStore(), MemoryBus(), TickingClock()
    rules = MemoryRules(RULES_OF_THE_FILE, world)
    audit = MemoryAudit(world, clock)
    runs = InlineRuns(clock, SeededEntropy("runs"), InlineBus())
    calls, calls_elsewhere = (MemoryCallHistory(world, clock, name) for name in ("one", "other"))
    for history in (calls, calls_elsewhere):
        history.look_at(runs)
    return Doors(
        key_ring=MemoryKeyRing(world),
        keys=MemoryKeys(world),
        sessions=MemorySessions(world),
        trusted=MemoryTrustedClients(world),
        principals=MemoryPrincipals(world),
        spaces=MemorySpaces(world),
        settings=MemorySpaceSettings(world),
        receipts=MemoryReceipts(world),
        event_log=MemoryEventLog(world, bus),
        bus=bus,
        elsewhere=bus,
        together=together,
        audit=audit,
        audit_log=audit,
        servers=MemoryServers(world),
        tools=MemoryTools(world),
        vectors=MemoryVectors(world),
        runs=runs,
        calls=calls,
        calls_elsewhere=calls_elsewhere,
        changes_elsewhere=MemoryElsewhere(world, clock, "one"),
        results=MemoryResults(world),
        acquaintances=MemoryToolUsageStore(world),
        shapes=MemoryShapes(world),
        flows=MemoryObservedFlows(world),
        edges=MemoryEdgeStore(world),
        counts=MemoryLearnedCounts(world),
        saved=MemorySavedWorkflows(world),
        past_plans=MemoryPastPlans(world),
        suggestions=MemorySuggestions(world),
        agents=MemoryAgents(world),
        traces=MemoryTraces(world),
        trace_reports=MemoryTraceReports(world),
        projects=MemoryProjects(world),
        memory=MemoryMemory(world, clock),
        attachments=MemoryAttachments(world),
        leases=MemoryLeases(world, clock),
        works=MemoryWorks(world),
        presences=MemoryPresences(world),
        people=MemoryPeople(world),
        conversations=MemoryConversations(world, clock),
        messages=MemoryMessages(world),
        read_state=MemoryReadState(world),
        message_search=MemoryMessageSearch(world),
        declassifications=MemoryDeclassifications(world),
        debates=MemoryBlackboard(world),
        purse=MemoryBudgetLedger(world),
        seats=MemorySeats(world),
        outcomes=MemoryOutcomes(world),
        personas=MemoryPersonas(world),
        contexts=MemoryTaskContexts(world),
        contexts_elsewhere=MemoryTaskContexts(world),
        rules=rules,
        rules_elsewhere=rules,
        approvals=MemoryApprovals(world),
        subjects=MemoryTokenSubjects(world),
        logins=MemoryLogins(world),
        login_clients=MemoryLoginClients(world),
        clock=clock,
    )


def postgres_doors(transactions: Transactions, bus: PostgresBus, elsewhere: PostgresBus) -> Doors:
    clock, audit = TickingClock(), PostgresAudit(transactions, lambda *_: None)
    log = PostgresEventLog(transactions, bus, SystemClock(), system_entropy)
    return Doors(
        key_ring=PostgresKeyRing(transactions),
        keys=PostgresKeys(transactions),
        sessions=PostgresSessions(transactions),
        trusted=PostgresTrustedClients(transactions),
        principals=PostgresPrincipals(transactions),
        spaces=PostgresSpaces(transactions),
        settings=PostgresSpaceSettings(transactions),
        receipts=PostgresReceipts(transactions),
        event_log=log,
        bus=bus,
        elsewhere=elsewhere,
        together=transactions.begin,
        audit=audit,
        audit_log=PostgresAuditLog(transactions, audit.flush),
        servers=PostgresServers(transactions),
        tools=PostgresTools(transactions),
        vectors=PostgresVectors(transactions),
        runs=PostgresRuns(transactions, log, bus=bus, clock=clock, entropy=system_entropy),
        calls=PostgresCallHistory(transactions, clock, "one"),
        calls_elsewhere=PostgresCallHistory(transactions, clock, "other"),
        changes_elsewhere=PostgresElsewhere(transactions, clock, "one"),
        results=PostgresResults(transactions, _VAULT),
        acquaintances=PostgresToolUsageStore(transactions),
        shapes=PostgresShapes(transactions),
        flows=PostgresObservedFlows(transactions),
        edges=PostgresEdgeStore(transactions),
        counts=PostgresLearnedCounts(transactions),
        saved=PostgresSavedWorkflows(transactions),
        past_plans=PostgresPastPlans(transactions),
        suggestions=PostgresSuggestions(transactions),
        agents=PostgresAgents(transactions),
        traces=PostgresTraces(transactions),
        trace_reports=PostgresTraceReports(transactions),
        projects=PostgresProjects(transactions),
        memory=PostgresMemory(transactions, clock),
        attachments=PostgresAttachments(transactions),
        leases=PostgresLeases(transactions),
        works=PostgresWorks(transactions),
        presences=PostgresPresences(transactions),
        people=PostgresPeople(transactions),
        conversations=PostgresConversations(transactions, clock),
        messages=PostgresMessages(transactions),
        read_state=PostgresReadState(transactions),
        message_search=PostgresMessageSearch(transactions, lambda: "a model"),
        declassifications=PostgresDeclassifications(transactions),
        debates=PostgresBlackboard(transactions),
        purse=PostgresBudgetLedger(transactions),
        seats=PostgresSeats(transactions),
        outcomes=PostgresOutcomes(transactions),
        personas=PostgresPersonas(transactions),
        contexts=PostgresTaskContexts(transactions, clock),
        contexts_elsewhere=PostgresTaskContexts(transactions, clock),
        rules=PostgresRules(transactions, bus, clock, RULES_OF_THE_FILE),
        rules_elsewhere=PostgresRules(transactions, elsewhere, clock, RULES_OF_THE_FILE),
        approvals=PostgresApprovals(transactions),
        subjects=PostgresTokenSubjects(transactions),
        logins=PostgresLogins(transactions, _VAULT),
        login_clients=PostgresLoginClients(transactions, _VAULT),
        clock=clock,
    )
