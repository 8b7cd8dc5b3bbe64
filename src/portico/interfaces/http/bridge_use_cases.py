"""What the routes of the bridge can call, by subject."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.bridge.acknowledge import Acknowledge, ListAcknowledged
from portico.bridge.attach import Attach, FetchAttachment
from portico.bridge.change_message import DeleteMessage, EditMessage, ShowVersions
from portico.bridge.declassify import ListDeclassifications, ProposeDeclassification
from portico.bridge.export_project import ExportProject
from portico.bridge.follow_conversations import FollowConversations
from portico.bridge.inbox import CountUnread, ShowInbox
from portico.bridge.lease import CheckLease, ListLeases, ReleaseLease, RenewLease, TakeLease
from portico.bridge.manage_conversations import (
    ChangeConversation,
    CreateConversation,
    ListConversations,
    ShowConversation,
)
from portico.bridge.manage_projects import (
    ChangeProject,
    CreateProject,
    ListProjects,
    ShowProject,
)
from portico.bridge.mark_read import MarkOne, MarkRead
from portico.bridge.name_people import NamePeople
from portico.bridge.participation import Join, Leave, ListParticipants, Mute
from portico.bridge.presence import ListPresence, SayPresence
from portico.bridge.read_messages import (
    LookBack,
    ReadMessages,
    ReadThread,
    ShowMessage,
    TailCursor,
)
from portico.bridge.remember import (
    Forget,
    ListMemory,
    MemoryHistory,
    Recall,
    Remember,
    SearchMemory,
)
from portico.bridge.search_messages import SearchMessages
from portico.bridge.send_message import SendMessage
from portico.bridge.whoami import WhoAmI
from portico.bridge.work import AddWork, ClaimWork, EndWork, HandOverWork, ListWork, ShowWork


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkUseCases:
    create_project: CreateProject
    show_project: ShowProject
    change_project: ChangeProject
    list_projects: ListProjects
    create_conversation: CreateConversation
    show_conversation: ShowConversation
    change_conversation: ChangeConversation
    list_conversations: ListConversations
    list_participants: ListParticipants
    join: Join
    leave: Leave
    mute: Mute
    send_message: SendMessage
    edit_message: EditMessage
    delete_message: DeleteMessage
    show_versions: ShowVersions
    read_messages: ReadMessages
    look_back: LookBack
    read_thread: ReadThread
    show_message: ShowMessage
    tail_cursor: TailCursor
    mark_read: MarkRead
    mark_one: MarkOne
    acknowledge: Acknowledge
    list_acknowledged: ListAcknowledged
    show_inbox: ShowInbox
    count_unread: CountUnread
    follow_conversations: FollowConversations
    search_messages: SearchMessages
    who_am_i: WhoAmI
    name_people: NamePeople


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingUseCases:
    """What a project has besides talk."""

    remember: Remember
    recall: Recall
    forget: Forget
    list_memory: ListMemory
    search_memory: SearchMemory
    memory_history: MemoryHistory
    attach: Attach
    fetch_attachment: FetchAttachment
    take_lease: TakeLease
    renew_lease: RenewLease
    release_lease: ReleaseLease
    check_lease: CheckLease
    list_leases: ListLeases
    add_work: AddWork
    show_work: ShowWork
    list_work: ListWork
    claim_work: ClaimWork
    hand_over_work: HandOverWork
    end_work: EndWork
    say_presence: SayPresence
    list_presence: ListPresence


@dataclass(frozen=True, slots=True, kw_only=True)
class LettingOutUseCases:
    """What leaves: less secret than it was, or all of a project at once."""

    propose_declassification: ProposeDeclassification
    list_declassifications: ListDeclassifications
    export_project: ExportProject


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeUseCases:
    talk: TalkUseCases
    things: ThingUseCases
    letting_out: LettingOutUseCases


def _talk(request: Request) -> TalkUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.talk


def _things(request: Request) -> ThingUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.things


def _letting_out(request: Request) -> LettingOutUseCases:
    found: BridgeUseCases = request.app.state.bridge
    return found.letting_out


Talk = Annotated[TalkUseCases, Depends(_talk)]
Things = Annotated[ThingUseCases, Depends(_things)]
LettingOut = Annotated[LettingOutUseCases, Depends(_letting_out)]
