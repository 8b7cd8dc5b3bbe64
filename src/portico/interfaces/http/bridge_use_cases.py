"""What the routes of the bridge can call, by subject."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from portico.bridge.activity import FollowConversations
from portico.bridge.attachments import Attach, FetchAttachment
from portico.bridge.conversations import (
    ChangeConversation,
    CreateConversation,
    Join,
    Leave,
    ListConversations,
    ListParticipants,
    Mute,
    ShowConversation,
)
from portico.bridge.declassification import ListDeclassifications, ProposeDeclassification
from portico.bridge.export import ExportProject
from portico.bridge.leases import CheckLease, ListLeases, ReleaseLease, RenewLease, TakeLease
from portico.bridge.memory import Forget, ListMemory, MemoryHistory, Recall, Remember, SearchMemory
from portico.bridge.messages import (
    Acknowledge,
    DeleteMessage,
    EditMessage,
    ListAcknowledged,
    LookBack,
    NamePeople,
    ReadMessages,
    ReadThread,
    SendMessage,
    ShowMessage,
    ShowVersions,
    TailCursor,
)
from portico.bridge.presence import ListPresence, SayPresence, WhoAmI
from portico.bridge.projects import ChangeProject, CreateProject, ListProjects, ShowProject
from portico.bridge.read_state import CountUnread, MarkOne, MarkRead, ShowInbox
from portico.bridge.search import SearchMessages
from portico.bridge.work_items import AddWork, ClaimWork, EndWork, HandOverWork, ListWork, ShowWork


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
