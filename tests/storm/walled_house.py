"""The bridge's use cases upon a real database, or in memory, for those who try to get more out of
it than they may."""

import hashlib
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import psycopg
from psycopg import sql

from portico.adapters.cross_domain.approval_runs import EngineApprovalRuns
from portico.adapters.crypto import AesSivSeal, Ed25519Signing
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.conversations import (
    PostgresConversations,
    PostgresPresences,
    PostgresProjects,
)
from portico.adapters.postgres.bridge.declassification import PostgresDeclassifications
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bridge.search import PostgresMessageSearch, PostgresMessageVectors
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.guard.approvals import PostgresApprovals
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.guard.principals import PostgresPeople, PostgresPrincipals
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import (
    BusAfterCommit,
    EnginePool,
    Transactions,
    open_pool,
)
from portico.app.bridge import BridgeDependencies, assemble_bridge
from portico.bridge.core.declassification import found
from portico.bridge.core.messages import MessageId
from portico.bridge.declassification import DECLASSIFICATION, CarryOutDeclassification
from portico.bridge.search import EmbedMessages
from portico.engine.core.runs import Activation, QueueConfig
from portico.engine.execution import RunActivation
from portico.engine.runs import Kind, Kinds, StartRun
from portico.gateway.ports import Results
from portico.guard.approvals import AnswerApproval, Approvals, AskApproval, Reply
from portico.guard.core.approvals import AnswerKind, Via
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.keys import ApiKey, StoredKey
from portico.guard.core.principals import Identity, Role, Scope
from portico.guard.ports import Keys, Principals, UnitOfWork
from portico.interfaces.http.use_cases import BridgeUseCases, ConversationUseCases, ThingUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.approvals import AnyArguments, MemoryApprovals, RecordedApprovalEvents
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
from portico.testing.gateway import MemoryResults
from portico.testing.guard import (
    MemoryAudit,
    MemoryKeyRing,
    MemoryKeys,
    MemoryPrincipals,
    MemoryRules,
    MemorySpaces,
    MemoryTaskContexts,
    a_space,
    an_identity,
)
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from portico.testing.secrets import MemoryVault
from tests.contracts.doors import a_key
from tests.engine.room import nothing

PEPPER = b"pepper"
MODEL = "letters"
HOUR = timedelta(hours=1)
TOP = Label.parse("restricted+finance+law")


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Of each word, a place among thirty-two."""
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.0] * 32
    for word in re.findall(r"\w+", text.lower()):
        vector[hashlib.sha256(word.encode()).digest()[0] % 32] += 1.0
    return vector


@dataclass
class WalledHouse:
    doors: BridgeDependencies
    principals: Principals
    keys: Keys
    approvals: Approvals
    results: Results
    """What tools have answered."""
    runs: InlineRuns
    errands: EngineApprovalRuns
    embed: Callable[[], Awaitable[object]]
    """What was said since gets its vectors."""
    root: Principal
    """An admin who may read all there is; a person."""
    space_name: str
    use_cases: BridgeUseCases = field(init=False)
    _tasks: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.use_cases = assemble_bridge(self.doors)

    @property
    def talk(self) -> ConversationUseCases:
        return self.use_cases.talk

    @property
    def things(self) -> ThingUseCases:
        return self.use_cases.things

    def afresh(self, who: Principal) -> Principal:
        """In a task that has read nothing: as somebody who came with another key, and also a
        person is then at that task alone."""
        key = f"fresh{next(self._tasks)}"
        return replace(who, key=key)

    async def enters(
        self,
        name: str,
        clearance: str,
        *,
        kind: PrincipalKind = PrincipalKind.AGENT,
        roles: Sequence[Role] = (Role.MEMBER,),
    ) -> Principal:
        """With a key of their own, which lets them see whatever they are cleared for later."""
        its = an_identity(
            name,
            space=a_space(self.space_name),
            kind=kind,
            roles=roles,
            clearance=Label.parse(clearance),
        )
        await self.principals.add(self.root, its)
        return await self.another_key(as_principal(its), TOP)

    async def another_key(self, who: Principal, clearance: Label) -> Principal:
        """Whoever comes with it may see no more than it was made for."""
        its = await self.principals.get(self.root, who.id)
        number = next(self._tasks)
        key = ApiKey.mint(SeededEntropy(f"key {number} of {who.name} in {self.space_name}"))
        stored = replace(a_key(its, key, f"key {number}"), clearance=clearance)
        await self.keys.add(self.root, stored, key.digest(PEPPER))
        return await self.now(replace(who, key=key.id))

    async def now(self, who: Principal) -> Principal:
        """As they are let in now."""
        assert who.key is not None
        holder = await self.doors.key_ring.find(who.key)
        assert holder is not None
        return principal_of(holder)

    async def cleared_for(self, who: Principal, clearance: str) -> Principal:
        its = await self.principals.get(self.root, who.id)
        await self.principals.save(self.root, replace(its, clearance=Label.parse(clearance)))
        return await self.now(who)

    async def said_yes(
        self, approval: ApprovalId, by: Principal
    ) -> tuple[RunId, CarryOutDeclassification]:
        """The run that carries out what somebody has allowed, and what does it."""
        doors, news = self.doors, RecordedApprovalEvents()
        answer = AnswerApproval(
            approvals=self.approvals,
            approval_runs=self.errands,
            news=news,
            rules=MemoryRules((), InMemoryStore()),
            audit=doors.audit,
            vault=MemoryVault(),
            check=AnyArguments(),
            unit_of_work=doors.unit_of_work,
            clock=doors.clock,
            entropy=doors.entropy,
            hide=lambda value: value,
            expires=HOUR,
        )
        answered = await answer(by, approval, Reply(kind=AnswerKind.ONCE, via=Via.REST))
        return answered.run, CarryOutDeclassification(
            approvals=self.approvals,
            messages=doors.messages,
            declassifications=doors.declassifications,
            scan=found,
            signing=doors.signing,
            key_ring=doors.key_ring,
            news=news,
            audit=doors.audit,
            unit_of_work=doors.unit_of_work,
            bus=doors.bus,
            clock=doors.clock,
            entropy=doors.entropy,
        )

    async def carried_out(self, which: RunId, *kinds: Kind) -> None:
        run = await self.runs.get(self.root, which)
        leg = RunActivation(
            journal=self.runs,
            bus=self.errands.bus,
            kinds=Kinds(kinds),
            clock=self.doors.clock,
            grace=timedelta(0),
        )
        await leg(Activation(run.id, run.leg))

    async def lowered(self, asker: Principal, message: MessageId, to: Label) -> None:
        """Asked for by somebody, and said yes to by the root, from the question to the copy."""
        proposal = await self.use_cases.letting_out.propose_declassification(asker, message, to)
        run, work = await self.said_yes(proposal.approval, self.afresh(self.root))
        await self.carried_out(run, Kind(name=DECLASSIFICATION, work=work))


class Inside:
    """What there is in this process beside the doors."""

    def __init__(self, seed: str) -> None:
        self.clock: Clock = TickingClock(step=timedelta(milliseconds=1))
        self.entropy: Entropy = SeededEntropy(seed)
        self.bus, self.audit = InlineBus(), MemoryAudit()
        self.runs = InlineRuns(self.clock, self.entropy, self.bus)
        line = InlineRunQueue([QueueConfig(name="runs")], self.clock)
        kinds = Kinds([Kind(name=DECLASSIFICATION, work=nothing)])
        start = StartRun(
            runs=self.runs, queue=line, kinds=kinds, clock=self.clock, entropy=self.entropy
        )
        self.errands = EngineApprovalRuns(
            start_run=start, runs=self.runs, queue=line, bus=self.bus, kind=DECLASSIFICATION
        )

    def ask(self, approvals: Approvals, together: UnitOfWork) -> AskApproval:
        return AskApproval(
            approvals=approvals,
            approval_runs=self.errands,
            news=RecordedApprovalEvents(),
            audit=self.audit,
            vault=MemoryVault(),
            unit_of_work=together,
            clock=self.clock,
            entropy=self.entropy,
            hide=lambda value: value,
            expires=HOUR,
            max_pending=1_000_000,
        )


def root_of(space: str) -> tuple[Identity, StoredKey, bytes]:
    root = an_identity("root", space=a_space(space), roles=[Role.ADMIN], clearance=TOP)
    key = ApiKey.mint(SeededEntropy(f"root's key of {space}"))
    return root, a_key(root, key), key.digest(PEPPER)


def as_root(root: Identity, key: StoredKey) -> Principal:
    return replace(as_principal(root), key=key.id, scopes=frozenset(Scope))


def without_waiting_for_the_disk(addresses: Addresses) -> None:
    """Nothing of it has to outlive a power cut."""
    with psycopg.connect(str(addresses.admin), autocommit=True) as admin:
        its = sql.Identifier(admin.info.dbname)
        admin.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(its))


@asynccontextmanager
async def walled_house(
    addresses: Addresses, *, space: str = "home", connections: int = 6
) -> AsyncIterator[WalledHouse]:
    engine = EnginePool(str(addresses.engine), 1)
    async with open_pool(addresses.app, connections) as pool, engine.pool:
        transactions = Transactions(pool)
        root = root_of(space)
        await PostgresSpaces(transactions).found(a_space(space), *root)
        vectors = PostgresMessageVectors(transactions, engine, MODEL)
        inside = Inside(space)
        approvals = PostgresApprovals(transactions)
        yield WalledHouse(
            doors=_doors(transactions, inside, inside.ask(approvals, transactions.begin)),
            principals=PostgresPrincipals(transactions),
            keys=PostgresKeys(transactions),
            approvals=approvals,
            results=PostgresResults(transactions, MemoryVault()),
            runs=inside.runs,
            errands=inside.errands,
            embed=EmbedMessages(vectors=vectors, meaning=meaning),
            root=as_root(root[0], root[1]),
            space_name=space,
        )


def _doors(transactions: Transactions, inside: Inside, ask: AskApproval) -> BridgeDependencies:
    return BridgeDependencies(
        projects=PostgresProjects(transactions),
        conversations=PostgresConversations(transactions, inside.clock),
        messages=PostgresMessages(transactions),
        read_state=PostgresReadState(transactions),
        people=PostgresPeople(transactions),
        search=PostgresMessageSearch(transactions, lambda: MODEL),
        meaning=meaning,
        memory=PostgresMemory(transactions, inside.clock),
        attachments=PostgresAttachments(transactions),
        leases=PostgresLeases(transactions),
        works=PostgresWorks(transactions),
        presences=PostgresPresences(transactions),
        declassifications=PostgresDeclassifications(transactions),
        scan=found,
        signing=Ed25519Signing.from_pepper(PEPPER),
        ask=ask,
        contexts=PostgresTaskContexts(transactions, inside.clock),
        key_ring=PostgresKeyRing(transactions),
        seal=AesSivSeal.from_pepper(PEPPER),
        bus=BusAfterCommit(inside.bus, transactions),
        unit_of_work=transactions.begin,
        audit=inside.audit,
        clock=inside.clock,
        entropy=inside.entropy,
    )


@asynccontextmanager
async def memory_house(*, space: str = "home") -> AsyncIterator[WalledHouse]:
    """The same upon the doors in memory, which have the same walls: to try the oracles on."""
    world = InMemoryStore()
    inside = Inside(space)
    root, approvals = root_of(space), MemoryApprovals(world)
    await MemorySpaces(world).found(a_space(space), *root)
    yield WalledHouse(
        doors=BridgeDependencies(
            projects=MemoryProjects(world),
            conversations=MemoryConversations(world, inside.clock),
            messages=MemoryMessages(world),
            read_state=MemoryReadState(world),
            people=MemoryPeople(world),
            search=MemoryMessageSearch(world, meaning),
            meaning=meaning,
            memory=MemoryMemory(world, inside.clock),
            attachments=MemoryAttachments(world),
            leases=MemoryLeases(world, inside.clock),
            works=MemoryWorks(world),
            presences=MemoryPresences(world),
            declassifications=MemoryDeclassifications(world),
            scan=found,
            signing=Ed25519Signing.from_pepper(PEPPER),
            ask=inside.ask(approvals, together),
            contexts=MemoryTaskContexts(world),
            key_ring=MemoryKeyRing(world),
            seal=AesSivSeal.from_pepper(PEPPER),
            bus=inside.bus,
            unit_of_work=together,
            audit=inside.audit,
            clock=inside.clock,
            entropy=inside.entropy,
        ),
        principals=MemoryPrincipals(world),
        keys=MemoryKeys(world),
        approvals=approvals,
        results=MemoryResults(world),
        runs=inside.runs,
        errands=inside.errands,
        embed=_nothing_to_do,
        root=as_root(root[0], root[1]),
        space_name=space,
    )


async def _nothing_to_do() -> None:
    pass
