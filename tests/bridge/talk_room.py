"""The bridge with in-memory doors: every use case of talking over one world, and who talks."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from portico.adapters.crypto import AesSivSeal
from portico.bridge.activity import Bulletin, Cursors, FollowConversations
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
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.messages import Message, NewMessage
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.messages import (
    Acknowledge,
    DeleteMessage,
    EditMessage,
    ListAcknowledged,
    ReadBack,
    ReadMessages,
    ReadThread,
    SendMessage,
    ShowMessage,
    ShowVersions,
    TailCursor,
)
from portico.bridge.presence import WhoAmI
from portico.bridge.projects import (
    ChangeProject,
    CreateProject,
    ListProjects,
    OpenProject,
    ShowProject,
)
from portico.bridge.read_state import CountUnread, MarkOne, MarkRead, ShowInbox
from portico.bridge.search import SearchMessages
from portico.bridge.taint import TaintRecorder, in_view_context
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import Purpose, StoredKey
from portico.guard.core.principals import Role
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_conversations import (
    MemoryConversations,
    MemoryMessages,
    MemoryMessageSearch,
    MemoryPeople,
    MemoryProjects,
    MemoryReadState,
)
from portico.testing.bridge_memory import MemoryAttachments
from portico.testing.engine import MemoryBus
from portico.testing.guard import (
    MemoryAudit,
    MemoryKeyRing,
    MemoryTaskContexts,
    a_space,
    an_identity,
)
from portico.testing.memory_store import (
    BEGINNING,
    HeldKey,
    InMemoryStore,
    SeededEntropy,
    TickingClock,
    together,
)

TOP = Label.parse("restricted+finance+legal")
SECRET = Label.parse("confidential")
TEAM = Label.parse("team")


class DeafBus(MemoryBus):
    deaf = False

    def wake(self, space: SpaceId, topic: str) -> None:
        if not self.deaf:
            super().wake(space, topic)


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Texts that have the same letters mean the same."""
    return [[float(text.lower().count(letter)) for letter in "abcdefgh"] for text in texts]


class TalkRoom:
    def __init__(
        self,
        messages: type[MemoryMessages] = MemoryMessages,
        conversations: type[MemoryConversations] = MemoryConversations,
        marking: type[TaintRecorder] = TaintRecorder,
        look: float = 0.05,
    ) -> None:
        self.world = world = InMemoryStore()
        self.clock = clock = TickingClock(BEGINNING + timedelta(days=1))
        self.entropy = entropy = SeededEntropy("talk")
        self.bus = bus = DeafBus()
        self.audit = audit = MemoryAudit(world, clock)
        self.projects = projects = MemoryProjects(world)
        self.conversations = talks = conversations(world, clock)
        self.messages = said = messages(world)
        self.read_state = read_state = MemoryReadState(world)
        self.attachments = attachments = MemoryAttachments(world)
        self.marks = marks = marking(MemoryTaskContexts(world))
        space = a_space()
        world.spaces[space.id] = space
        as_they_are = RevalidatePrincipal(key_ring=MemoryKeyRing(world), clock=clock)
        on = Cursors(AesSivSeal.from_pepper(b"pepper"))
        opened, message = OpenConversation(talks, marks), OpenMessage(said, marks)
        bulletin = self.bulletin = Bulletin(
            conversations=talks, messages=said, as_they_are=as_they_are, bus=bus, look=look
        )

        told: dict[str, Any] = {"unit_of_work": together, "audit": audit}
        talking: dict[str, Any] = {
            "conversations": talks,
            "open_conversation": opened,
            "taint": marks,
        }
        saying: dict[str, Any] = {"messages": said, "open_message": message, "taint": marks}
        self.create_project = CreateProject(
            projects=projects, taint=marks, clock=clock, entropy=entropy
        )
        self.show_project = ShowProject(projects=projects, taint=marks)
        self.change_project = ChangeProject(projects=projects, taint=marks, clock=clock, **told)
        self.list_projects = ListProjects(projects=projects, taint=marks)
        self.create_conversation = CreateConversation(
            open_project=OpenProject(projects, marks),
            conversations=talks,
            taint=marks,
            **told,
            clock=clock,
            entropy=entropy,
        )
        self.show_conversation = ShowConversation(open_conversation=opened)
        self.change_conversation = ChangeConversation(clock=clock, **talking, **told)
        self.list_conversations = ListConversations(
            projects=projects, conversations=talks, taint=marks
        )
        self.list_participants = ListParticipants(conversations=talks, open_conversation=opened)
        self.join = Join(**talking, **told)
        self.leave = Leave(**talking, **told)
        self.mute = Mute(conversations=talks)
        self.send_message = SendMessage(
            messages=said,
            attachments=attachments,
            people=MemoryPeople(world),
            bus=bus,
            **talking,
            clock=clock,
            entropy=entropy,
        )
        self.edit_message = EditMessage(clock=clock, **saying)
        self.delete_message = DeleteMessage(clock=clock, **saying, **told)
        self.show_versions = ShowVersions(**saying)
        self.read_messages = ReadMessages(
            messages=said, taint=marks, cursors=on, bulletin=bulletin, as_they_are=as_they_are
        )
        self.look_back = ReadBack(
            messages=said, taint=marks, cursors=replace(on, direction=Direction.BACK)
        )
        self.read_thread = ReadThread(**saying)
        self.show_message = ShowMessage(open_message=message)
        self.tail_cursor = TailCursor(messages=said, taint=marks, cursors=on)
        self.mark_read = MarkRead(read_state=read_state, cursors=on)
        self.mark_one = MarkOne(read_state=read_state, open_message=message)
        self.acknowledge = Acknowledge(clock=clock, **saying)
        self.list_acknowledged = ListAcknowledged(messages=said, open_message=message)
        self.count_unread = CountUnread(read_state=read_state, taint=marks)
        self.show_inbox = ShowInbox(
            conversations=talks, messages=said, read_state=read_state, taint=marks, clock=clock
        )
        self.follow = FollowConversations(conversations=talks, bulletin=bulletin, taint=marks)
        self.search = SearchMessages(
            search=MemoryMessageSearch(world, meaning), meaning=meaning, taint=marks
        )
        self.who_am_i = WhoAmI(taint=marks)

    def enters(
        self,
        name: str,
        clearance: Label = TOP,
        *,
        kind: PrincipalKind = PrincipalKind.AGENT,
        roles: Collection[Role] = (Role.MEMBER,),
    ) -> Principal:
        """With a key, as whoever comes by the network."""
        identity = an_identity(name, kind=kind, roles=roles, clearance=clearance)
        key = StoredKey(
            id=f"key-{name}",
            space=identity.space,
            principal=identity.id,
            purpose=Purpose.ACCESS,
            name=name,
            scopes=None,
            clearance=TOP,
            created_at=BEGINNING,
        )
        self.world.identities[identity.space, identity.id] = identity
        self.world.keys[key.id] = HeldKey(key, b"")
        return replace(as_principal(identity), key=key.id, reach=TOP)

    def cleared_for(self, who: Principal, clearance: Label) -> Principal:
        """From now on."""
        place = (who.space, who.id)
        identity = replace(self.world.identities[place], clearance=clearance)
        self.world.identities[place] = identity
        return replace(who, clearance=clearance)

    def revoke(self, who: Principal, at: datetime) -> None:
        held = self.world.keys[who.key or ""]
        self.world.keys[held.key.id] = replace(held, key=replace(held.key, revoked_at=at))

    async def a_project(self, by: Principal, label: Label = PUBLIC, name: str = "p") -> Project:
        fresh = replace(by, kind=PrincipalKind.PERSON, context=None)
        return await self.create_project(fresh, name, "", label)

    async def a_talk(
        self,
        by: Principal,
        label: Label = PUBLIC,
        *,
        closed: bool = False,
        with_: Sequence[Principal] = (),
    ) -> Conversation:
        """In a project of its own; by somebody who has nothing else in mind."""
        project = await self.a_project(by, label, f"p{len(self.world.projects)}")
        fresh = replace(by, kind=PrincipalKind.PERSON, context=None)
        return await self.create_conversation(
            fresh, project.id, "talk", closed=closed, participants=[who.id for who in with_]
        )

    async def says(
        self, who: Principal, where: Conversation, body: str, label: Label | None = None
    ) -> Message:
        sent = await self.send_message(
            who, NewMessage(conversation=where.id, body=body, label=label)
        )
        return sent.message

    async def mark(self, who: Principal, where: ConversationId | ProjectId | None = None) -> Label:
        return (await self.marks.at(in_view_context(who, where))).label

    async def unread(self, who: Principal) -> int:
        return sum(each.count for each in await self.read_state.unread(who))
