"""The bridge: its use cases, its adapters, and what goes on in the background."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from portico.adapters.cross_domain.approval_runs import EngineApprovalRuns
from portico.adapters.cross_domain.embeddings import MessageMeaning
from portico.adapters.crypto import AesSivSeal, Ed25519Signing
from portico.adapters.postgres.bridge.conversations import (
    PostgresConversations,
    PostgresPresences,
    PostgresProjects,
)
from portico.adapters.postgres.bridge.declassification import PostgresDeclassifications
from portico.adapters.postgres.bridge.leases import PostgresLeases
from portico.adapters.postgres.bridge.memory import PostgresAttachments, PostgresMemory
from portico.adapters.postgres.bridge.messages import PostgresMessages, PostgresReadState
from portico.adapters.postgres.bridge.search import (
    MessageGraphs,
    PostgresMessageSearch,
    PostgresMessageVectors,
)
from portico.adapters.postgres.bridge.work_items import PostgresWorks
from portico.adapters.postgres.guard.principals import PostgresPeople
from portico.adapters.postgres.transaction import BusAfterCommit, EnginePool
from portico.app.app_context import AppContext
from portico.app.gateway import Opened
from portico.app.guard_wiring import ApprovalDependencies
from portico.app.run_workers import Lasting, ended, kept_up, starting
from portico.app.shared_dependencies import SharedDependencies
from portico.bridge.activity import Bulletin, Cursors, FollowConversations
from portico.bridge.attachments import Attach, FetchAttachment
from portico.bridge.conversations import (
    ChangeConversation,
    CreateConversation,
    Join,
    Leave,
    ListConversations,
    ListParticipants,
    Mute,
    OpenConversation,
    OpenMessage,
    ShowConversation,
)
from portico.bridge.core.activity import Direction
from portico.bridge.core.declassification import found
from portico.bridge.declassification import (
    DECLASSIFICATION,
    CarryOutDeclassification,
    Declassifications,
    ListDeclassifications,
    ProposeDeclassification,
    Scanner,
    Signing,
)
from portico.bridge.export import ExportProject
from portico.bridge.leases import CheckLease, ListLeases, ReleaseLease, RenewLease, TakeLease
from portico.bridge.memory import Forget, ListMemory, MemoryHistory, Recall, Remember, SearchMemory
from portico.bridge.messages import (
    Acknowledge,
    DeleteMessage,
    EditMessage,
    ListAcknowledged,
    NamePeople,
    ReadBack,
    ReadMessages,
    ReadThread,
    SendMessage,
    ShowMessage,
    ShowVersions,
    TailCursor,
)
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
from portico.bridge.presence import ListPresence, SayPresence, WhoAmI
from portico.bridge.projects import (
    ChangeProject,
    CreateProject,
    ListProjects,
    OpenProject,
    ShowProject,
)
from portico.bridge.read_state import CountUnread, MarkOne, MarkRead, ShowInbox
from portico.bridge.search import EmbedMessages, Meaning, MessageSearch, SearchMessages
from portico.bridge.taint import TaintRecorder
from portico.bridge.work_items import (
    AddWork,
    ClaimWork,
    EndWork,
    HandOverWork,
    ListWork,
    OpenWork,
    ShowWork,
)
from portico.engine.ports import Bus, Seal
from portico.engine.runs import Kind
from portico.guard.approvals import AskApproval
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.ports import Audit, Contexts, KeyRing, UnitOfWork
from portico.interfaces.http.use_cases import (
    BridgeUseCases,
    ConversationUseCases,
    LettingOutUseCases,
    ThingUseCases,
    UseCases,
)
from portico.interfaces.mcp.bridge.definitions import BridgeUses
from portico.kernel.clock import Clock, Entropy
from portico.workflows.execution import EngineSide


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDependencies:
    projects: Projects
    conversations: Conversations
    messages: Messages
    read_state: ReadState
    people: People
    search: MessageSearch
    meaning: Meaning
    memory: Memory
    attachments: Attachments
    leases: Leases
    works: Works
    presences: Presences
    declassifications: Declassifications
    scan: Scanner
    signing: Signing
    ask: AskApproval
    """For something to be made less secret."""
    contexts: Contexts
    key_ring: KeyRing
    seal: Seal
    bus: Bus
    """That speaks once what it speaks of can be seen."""
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    look: float = 5.0
    """Seconds until a conversation is looked at without a wake-up, which may have been lost."""

    @property
    def taint(self) -> TaintRecorder:
        return TaintRecorder(self.contexts)

    @property
    def as_they_are(self) -> RevalidatePrincipal:
        return RevalidatePrincipal(key_ring=self.key_ring, clock=self.clock)


def assemble_bridge(doors: BridgeDependencies) -> BridgeUseCases:
    return BridgeUseCases(talk=_talk(doors), things=_things(doors), letting_out=_letting_out(doors))


def _talk(doors: BridgeDependencies) -> ConversationUseCases:
    projects, conversations, messages = doors.projects, doors.conversations, doors.messages
    marks, together, audit = doors.taint, doors.unit_of_work, doors.audit
    clock, entropy, read_state = doors.clock, doors.entropy, doors.read_state
    cursors = Cursors(doors.seal)
    bulletin = Bulletin(
        conversations=conversations,
        messages=messages,
        as_they_are=doors.as_they_are,
        bus=doors.bus,
        look=doors.look,
    )
    here, message = OpenConversation(conversations, marks), OpenMessage(messages, marks)
    return ConversationUseCases(
        create_project=CreateProject(projects=projects, taint=marks, clock=clock, entropy=entropy),
        show_project=ShowProject(projects=projects, taint=marks),
        change_project=ChangeProject(
            projects=projects, taint=marks, unit_of_work=together, audit=audit, clock=clock
        ),
        list_projects=ListProjects(projects=projects, taint=marks),
        create_conversation=CreateConversation(
            open_project=OpenProject(projects, marks),
            conversations=conversations,
            taint=marks,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
        ),
        show_conversation=ShowConversation(open_conversation=here),
        change_conversation=ChangeConversation(
            conversations=conversations,
            open_conversation=here,
            taint=marks,
            unit_of_work=together,
            audit=audit,
            clock=clock,
        ),
        list_conversations=ListConversations(
            projects=projects, conversations=conversations, taint=marks
        ),
        list_participants=ListParticipants(conversations=conversations, open_conversation=here),
        join=Join(
            conversations=conversations,
            open_conversation=here,
            taint=marks,
            unit_of_work=together,
            audit=audit,
        ),
        leave=Leave(
            conversations=conversations,
            open_conversation=here,
            taint=marks,
            unit_of_work=together,
            audit=audit,
        ),
        mute=Mute(conversations=conversations),
        send_message=SendMessage(
            conversations=conversations,
            open_conversation=here,
            messages=messages,
            attachments=doors.attachments,
            people=doors.people,
            taint=marks,
            bus=doors.bus,
            clock=clock,
            entropy=entropy,
        ),
        edit_message=EditMessage(messages=messages, open_message=message, taint=marks, clock=clock),
        delete_message=DeleteMessage(
            messages=messages,
            open_message=message,
            taint=marks,
            unit_of_work=together,
            audit=audit,
            clock=clock,
        ),
        show_versions=ShowVersions(messages=messages, open_message=message, taint=marks),
        read_messages=ReadMessages(
            messages=messages,
            taint=marks,
            cursors=cursors,
            bulletin=bulletin,
            as_they_are=doors.as_they_are,
        ),
        look_back=ReadBack(
            messages=messages, taint=marks, cursors=Cursors(doors.seal, Direction.BACK)
        ),
        read_thread=ReadThread(messages=messages, open_message=message, taint=marks),
        show_message=ShowMessage(open_message=message),
        tail_cursor=TailCursor(messages=messages, taint=marks, cursors=cursors),
        mark_read=MarkRead(read_state=read_state, cursors=cursors),
        mark_one=MarkOne(read_state=read_state, open_message=message),
        acknowledge=Acknowledge(messages=messages, open_message=message, taint=marks, clock=clock),
        list_acknowledged=ListAcknowledged(messages=messages, open_message=message),
        count_unread=CountUnread(read_state=read_state, taint=marks),
        show_inbox=ShowInbox(
            conversations=conversations,
            messages=messages,
            read_state=read_state,
            taint=marks,
            clock=clock,
        ),
        follow_conversations=FollowConversations(
            conversations=conversations, bulletin=bulletin, taint=marks
        ),
        search_messages=SearchMessages(search=doors.search, meaning=doors.meaning, taint=marks),
        who_am_i=WhoAmI(taint=marks),
        name_people=NamePeople(people=doors.people),
    )


def _things(doors: BridgeDependencies) -> ThingUseCases:
    marks, clock, entropy = doors.taint, doors.clock, doors.entropy
    memory, attachments, leases = doors.memory, doors.attachments, doors.leases
    works, presences = doors.works, doors.presences
    here = OpenProject(doors.projects, marks)
    work = OpenWork(here, works, marks)
    return ThingUseCases(
        remember=Remember(open_project=here, memory=memory, taint=marks, clock=clock),
        recall=Recall(open_project=here, memory=memory, taint=marks),
        forget=Forget(open_project=here, memory=memory, taint=marks, clock=clock),
        list_memory=ListMemory(open_project=here, memory=memory, taint=marks),
        search_memory=SearchMemory(open_project=here, memory=memory, taint=marks),
        memory_history=MemoryHistory(open_project=here, memory=memory, taint=marks),
        attach=Attach(open_project=here, attachments=attachments, taint=marks, clock=clock),
        fetch_attachment=FetchAttachment(attachments=attachments, taint=marks),
        take_lease=TakeLease(
            open_project=here, leases=leases, taint=marks, clock=clock, entropy=entropy
        ),
        renew_lease=RenewLease(open_project=here, leases=leases, taint=marks),
        release_lease=ReleaseLease(open_project=here, leases=leases, taint=marks),
        check_lease=CheckLease(open_project=here, leases=leases),
        list_leases=ListLeases(open_project=here, leases=leases),
        add_work=AddWork(open_project=here, works=works, taint=marks, clock=clock, entropy=entropy),
        show_work=ShowWork(open_work=work),
        list_work=ListWork(open_project=here, works=works, taint=marks),
        claim_work=ClaimWork(open_work=work, works=works, clock=clock),
        hand_over_work=HandOverWork(open_work=work, works=works, clock=clock),
        end_work=EndWork(open_work=work, works=works, clock=clock),
        say_presence=SayPresence(open_project=here, presences=presences, taint=marks, clock=clock),
        list_presence=ListPresence(open_project=here, presences=presences, clock=clock),
    )


def ask_to_lower(
    approvals: ApprovalDependencies, engine: EngineSide, kind: str = DECLASSIFICATION
) -> AskApproval:
    """Whoever says yes lets a run go on, which was begun with the request."""
    clock, entropy = approvals.clock, approvals.entropy
    errands = EngineApprovalRuns(
        start_run=starting(engine.runs, engine.queue, clock, entropy, kind),
        runs=engine.runs,
        queue=engine.queue,
        bus=engine.bus,
        kind=kind,
    )
    return replace(approvals.ask_first().ask, approval_runs=errands)


def _letting_out(doors: BridgeDependencies) -> LettingOutUseCases:
    message = OpenMessage(doors.messages, doors.taint)
    return LettingOutUseCases(
        propose_declassification=ProposeDeclassification(
            conversations=doors.conversations,
            open_message=message,
            taint=doors.taint,
            scan=doors.scan,
            ask=doors.ask,
        ),
        list_declassifications=ListDeclassifications(
            declassifications=doors.declassifications,
            open_message=message,
            taint=doors.taint,
            signing=doors.signing,
        ),
        export_project=ExportProject(
            projects=doors.projects,
            conversations=doors.conversations,
            messages=doors.messages,
            memory=doors.memory,
            works=doors.works,
            taint=doors.taint,
            as_they_are=doors.as_they_are,
            audit=doors.audit,
        ),
    )


_EMBEDDING: Final = timedelta(seconds=5)
"""How long what was said may be without a vector, where there is time for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBridge:
    """The bridge of one process."""

    use_cases: BridgeUseCases
    lowering: CarryOutDeclassification
    kinds: Sequence[Kind]
    lasting: Mapping[str, Lasting]

    @property
    def rooms(self) -> Mapping[str, object]:
        """What faces are given, by the names that they know it by."""
        return {"bridge": self.use_cases}

    def over_mcp(self, came_in: UseCases, clock: Clock, version: str) -> BridgeUses:
        return BridgeUses(
            authenticate=came_in.authenticate,
            enter_context=came_in.enter_context,
            bridge=self.use_cases,
            clock=clock,
            version=version,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as background:
            tasks = [
                background.create_task(kept_up(each), name=name)
                for name, each in self.lasting.items()
            ]
            try:
                yield
            finally:
                await ended(tasks)


def open_bridge(ground: AppContext, outside: SharedDependencies, opened: Opened) -> OpenedBridge:
    meaning = MessageMeaning(opened.gateway.over_http.find_tools.look_up.static)
    doors = _doors(ground, outside, opened, meaning)
    lowering = _carrying_out(doors, opened)
    return OpenedBridge(
        use_cases=assemble_bridge(doors),
        lowering=lowering,
        kinds=[Kind(name=DECLASSIFICATION, work=lowering)],
        lasting={"what messages mean": partial(_embedding, ground, outside, meaning)},
    )


def _doors(
    ground: AppContext, outside: SharedDependencies, opened: Opened, meaning: MessageMeaning
) -> BridgeDependencies:
    transactions, clock, pepper = outside.transactions, outside.clock, ground.pepper()
    plans = opened.gateway.programs.workflows
    return BridgeDependencies(
        projects=PostgresProjects(transactions),
        conversations=PostgresConversations(transactions, clock),
        messages=PostgresMessages(transactions),
        read_state=PostgresReadState(transactions),
        people=PostgresPeople(transactions),
        search=PostgresMessageSearch(transactions, lambda: meaning.model),
        meaning=meaning,
        memory=PostgresMemory(transactions, clock),
        attachments=PostgresAttachments(transactions),
        leases=PostgresLeases(transactions),
        works=PostgresWorks(transactions),
        presences=PostgresPresences(transactions),
        declassifications=PostgresDeclassifications(transactions),
        scan=partial(found, known=ground.secrets.known_in),
        signing=Ed25519Signing.from_pepper(pepper),
        ask=ask_to_lower(plans.approvals, plans.engines.durable),
        contexts=plans.contexts,
        key_ring=plans.approvals.key_ring,
        seal=AesSivSeal.from_pepper(pepper),
        bus=BusAfterCommit(outside.bus, transactions),
        unit_of_work=transactions.begin,
        audit=outside.audit,
        clock=clock,
        entropy=outside.entropy,
    )


def _carrying_out(doors: BridgeDependencies, opened: Opened) -> CarryOutDeclassification:
    approvals = opened.gateway.programs.workflows.approvals
    return CarryOutDeclassification(
        approvals=approvals.approvals,
        messages=doors.messages,
        declassifications=doors.declassifications,
        scan=doors.scan,
        signing=doors.signing,
        key_ring=doors.key_ring,
        news=approvals.news,
        audit=doors.audit,
        unit_of_work=doors.unit_of_work,
        bus=doors.bus,
        clock=doors.clock,
        entropy=doors.entropy,
    )


async def _embedding(
    ground: AppContext, outside: SharedDependencies, meaning: MessageMeaning
) -> None:
    """Until cancelled. Without the engine's address nobody here knows in which spaces there is
    something to do."""
    address = ground.store.addresses.engine
    if address is None:
        return
    model = await asyncio.to_thread(lambda: meaning.model)
    engine = EnginePool(address, 1)
    async with engine.pool:
        owner = ground.store.addresses.owner
        graphs = None if owner is None else MessageGraphs(owner)
        vectors = PostgresMessageVectors(outside.transactions, engine, model, graphs)
        await EmbedMessages(vectors=vectors, meaning=meaning).every(_EMBEDDING)
