"""Conversations over REST: create, list, members, the inbox, and word of news."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from portico.bridge.core.activity import Activity, resets
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.engine.core.errors import StoreUnavailable
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_shapes import (
    MOST_CONVERSATIONS,
    Archived,
    ConversationOut,
    Cursor,
    CursorText,
    MessageOut,
    MessagesOut,
    ParticipantOut,
    Several,
    Upto,
    conversation_out,
    conversations_of,
    message_out,
    messages_out,
    participant_out,
    upto_of,
)
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.messages import CursorOut, Wait, patience
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    ConversationIdPath,
    ConversationIdText,
    LabelText,
    Limit,
    OneLine,
    Page,
    PrincipalIdPath,
    PrincipalIdText,
    ProjectIdText,
    Switch,
    next_cursor,
    position,
)
from portico.interfaces.http.streaming import (
    END,
    HEARTBEAT,
    MEDIA_TYPE,
    Connection,
    Inbox,
    Lasting,
    Listener,
    Listening,
    retry_after,
)
from portico.interfaces.http.use_cases import Talk
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import PrincipalKind

_Title = Annotated[OneLine, StringConstraints(max_length=200)]


class ConversationIn(Body, title="ConversationIn"):
    project: ProjectIdText
    title: _Title
    label: LabelText | None = None
    """How secret it is, and at least all that is said in it; as its project, or as what you have
    read, if left away."""
    closed: Switch = False
    """Only for those who take part in it; else for whoever is cleared."""
    participants: Annotated[list[PrincipalIdText], Field(max_length=100)] = Field(default=[])
    """Besides yourself."""


class ConversationChangeIn(Body, title="ConversationChangeIn"):
    """What is left away stays as it is."""

    title: _Title | None = None
    archived: Switch | None = None


class JoinIn(Body, title="JoinIn"):
    principal: PrincipalIdText | None = None
    """Somebody else; you, if left away."""


class MuteIn(Body, title="MuteIn"):
    muted: Switch


router = APIRouter(prefix="/conversations", tags=["bridge"])


@router.get("", name="list_conversations", responses=documented(404))
async def list_conversations(  # noqa: PLR0913 # a filter each
    talk: Talk,
    caller: Caller,
    *,
    project: Annotated[ProjectIdText | None, Query()] = None,
    archived: Archived = False,
    upto: Upto = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[ConversationOut]:
    """Those with the latest news first."""
    found = await talk.list_conversations(
        caller,
        project=None if project is None else ProjectId.parse(project),
        archived=archived,
        after=position(after),
        limit=limit,
        upto=upto_of(upto),
    )
    data = [conversation_out(conversation) for conversation in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.post(
    "",
    name="create_conversation",
    status_code=201,
    response_model=ConversationOut,
    responses=documented(404),
)
async def create_conversation(
    talk: Talk, asked: IdempotentCreate, body: ConversationIn
) -> Response:
    """Whoever begins it takes part."""

    async def make() -> ConversationOut:
        made = await talk.create_conversation(
            asked.caller,
            ProjectId.parse(body.project),
            body.title,
            label=upto_of(body.label),
            closed=body.closed,
            participants=[PrincipalId.parse(each) for each in body.participants],
        )
        return conversation_out(made)

    async def show(made: str) -> ConversationOut:
        return conversation_out(
            await talk.show_conversation(asked.caller, ConversationId.parse(made))
        )

    return await asked.made_once("bridge.conversations.create", body, make, show)


@router.get("/{conversation}", name="show_conversation", responses=documented(404))
async def show_conversation(
    talk: Talk, caller: Caller, conversation: ConversationIdPath
) -> ConversationOut:
    return conversation_out(
        await talk.show_conversation(caller, ConversationId.parse(conversation))
    )


@router.patch("/{conversation}", name="change_conversation", responses=documented(404))
async def change_conversation(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, body: ConversationChangeIn
) -> ConversationOut:
    """What somebody else has begun, with `bridge:manage`."""
    changed = await talk.change_conversation(
        caller, ConversationId.parse(conversation), title=body.title, archived=body.archived
    )
    return conversation_out(changed)


@router.get("/{conversation}/participants", name="list_participants", responses=documented(404))
async def list_participants(
    talk: Talk, caller: Caller, conversation: ConversationIdPath
) -> Page[ParticipantOut]:
    """By when they joined."""
    found = await talk.list_participants(caller, ConversationId.parse(conversation))
    return Page(data=[participant_out(each) for each in found], next=None)


@router.post(
    "/{conversation}/participants",
    name="join_conversation",
    status_code=204,
    responses=documented(404),
)
async def join_conversation(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, body: JoinIn
) -> None:
    """From now on: what was said before is not unread for whoever joins."""
    who = None if body.principal is None else PrincipalId.parse(body.principal)
    await talk.join(caller, ConversationId.parse(conversation), who)


@router.delete(
    "/{conversation}/participants/{principal_id}",
    name="leave_conversation",
    status_code=204,
    responses=documented(404),
)
async def leave_conversation(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, principal_id: PrincipalIdPath
) -> None:
    """Yourself, or somebody else from one that you have begun."""
    await talk.leave(caller, ConversationId.parse(conversation), PrincipalId.parse(principal_id))


@router.put(
    "/{conversation}/mute", name="mute_conversation", status_code=204, responses=documented(404)
)
async def mute_conversation(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, body: MuteIn
) -> None:
    """What is said in one that is muted does not count as unread for you; nobody else is told."""
    await talk.mute(caller, ConversationId.parse(conversation), muted=body.muted)


class ReadSeveralIn(Body, title="ReadSeveralIn"):
    conversations: Annotated[
        list[ConversationIdText], Field(min_length=1, max_length=MOST_CONVERSATIONS)
    ]
    """Exactly those that the cursor is of."""
    cursor: CursorText
    upto: LabelText | None = None
    """With which they were read."""


class UnreadOut(BaseModel, title="UnreadOut"):
    conversation: ConversationOut
    count: int
    mentions: int
    """How many of them name you, or are addressed to you."""


class InboxOut(BaseModel, title="InboxOut"):
    unread: list[UnreadOut]
    overdue: list[MessageOut]
    """Of which an acknowledgement is owed by you, or to you, and its time is over."""
    total: int


class UnreadTotalOut(BaseModel, title="UnreadTotalOut"):
    count: int
    mentions: int
    """How many of them name you, or are addressed to you."""


class SelfOut(BaseModel, title="SelfOut"):
    id: str
    name: str
    kind: PrincipalKind
    clearance: str
    mark: str
    """The most secret of what you have read in this task: what you write is at least as secret."""
    untrusted: bool
    """Whether you have read a stranger's words in it."""
    scopes: list[str]


inbox_router = APIRouter(tags=["bridge"])


@inbox_router.get("/inbox", name="show_inbox", responses=documented())
async def show_inbox(talk: Talk, caller: Caller, upto: Upto = None) -> InboxOut:
    """What you have not read in conversations that you take part in and have not muted."""
    inbox = await talk.show_inbox(caller, upto=upto_of(upto))
    return InboxOut(
        unread=[
            UnreadOut(
                conversation=conversation_out(item.conversation),
                count=item.count,
                mentions=item.mentions,
            )
            for item in inbox.unread
        ],
        overdue=[message_out(message) for message in inbox.overdue],
        total=inbox.total,
    )


@inbox_router.get("/inbox/total", name="count_unread", responses=documented())
async def count_unread(talk: Talk, caller: Caller, upto: Upto = None) -> UnreadTotalOut:
    """How many messages wait for you, and no more: for a badge, and for asking often."""
    counted = await talk.count_unread(caller, upto=upto_of(upto))
    return UnreadTotalOut(count=counted.count, mentions=counted.mentions)


@inbox_router.get("/bridge/messages", name="read_several", responses=documented(404))
async def read_several(  # noqa: PLR0913 # each says what to read
    talk: Talk,
    caller: Caller,
    conversation: Several,
    *,
    cursor: Cursor = None,
    limit: Limit = DEFAULT_LIMIT,
    upto: Upto = None,
    wait: Wait = 0,
) -> MessagesOut:
    """Of several conversations at once, under one cursor."""
    page = await talk.read_messages(
        caller,
        conversations_of(conversation),
        cursor=cursor,
        limit=limit,
        upto=upto_of(upto),
        wait=patience(wait),
    )
    return messages_out(page)


@inbox_router.get("/bridge/cursor", name="show_several_ends", responses=documented(404))
async def show_several_ends(
    talk: Talk, caller: Caller, conversation: Several, upto: Upto = None
) -> CursorOut:
    """From which on you are given only what is said from now on."""
    several = conversations_of(conversation)
    return CursorOut(cursor=await talk.tail_cursor(caller, several, upto=upto_of(upto)))


@inbox_router.post(
    "/bridge/read", name="mark_several_read", status_code=204, responses=documented(404)
)
async def mark_several_read(talk: Talk, caller: Caller, body: ReadSeveralIn) -> None:
    """All up to a cursor, in each of them."""
    await talk.mark_read(
        caller, conversations_of(body.conversations), body.cursor, upto=upto_of(body.upto)
    )


@inbox_router.get("/whoami", name="who_am_i", responses=documented())
async def who_am_i(talk: Talk, caller: Caller) -> SelfOut:
    """Who you are, and what this task of yours has taken in."""
    found = await talk.who_am_i(caller)
    return SelfOut(
        id=str(found.principal),
        name=found.name,
        kind=found.kind,
        clearance=str(found.clearance),
        mark=str(found.mark),
        untrusted=found.untrusted,
        scopes=sorted(found.scopes),
    )


_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

stream_router = APIRouter(prefix="/bridge", tags=["bridge"])


@stream_router.get(
    "/events",
    name="follow_conversations",
    response_class=Response,
    responses={**documented(404), 200: {"description": "A stream.", "content": _STREAM}},
)
async def follow_conversations(
    talk: Talk, listener: Listening, conversation: Several, upto: Upto = None
) -> Response:
    """`news` names a conversation in which there is something to be read with your cursor, each
    once at the beginning; `reset` one of which you may see more or less than before, or nothing:
    read it anew, and follow again."""
    followed = conversations_of(conversation)
    news = talk.follow_conversations(listener.caller, followed, upto=upto_of(upto))
    # The first of each, before anything is sent: whoever may not follow is told so by a problem.
    first = [await anext(news) for _ in followed]
    return ActivityStream(listener, first, news)


class ActivityStream(Lasting):
    def __init__(
        self, listener: Listener, first: Sequence[Activity], news: AsyncGenerator[Activity, None]
    ) -> None:
        super().__init__(listener.manners)
        self._listener = listener
        self._first = first
        self._news = news
        self._inbox = Inbox(news)

    async def stream(self, connection: Connection) -> None:
        connection.follows(self._inbox)
        async with aclosing(self._news), asyncio.TaskGroup() as group:
            filling = group.create_task(self._inbox.fill())
            try:
                await connection.send(retry_after(1000) + told(self._first))
                await self._tell(connection)
            finally:
                filling.cancel()

    async def _tell(self, connection: Connection) -> None:
        followed = [news.conversation for news in self._first]
        while not connection.left:
            if connection.heartbeat_due():
                if not await self._heard_still():
                    return await _break_off(connection, followed)
                await connection.send(HEARTBEAT)
            while (news := self._inbox.take()) is not None:
                await connection.send(told([news]))
            if self._inbox.error is not None:
                return await _break_off(connection, followed)
            if self._inbox.over:
                return await connection.send(END)
            await self._inbox.stirred()
        return None

    async def _heard_still(self) -> bool:
        """Whether whoever follows still is who they were, and may see the same."""
        before = self._listener.caller
        try:
            now = (await self._listener.again()).principal
        except StoreUnavailable:
            return True
        except PorticoError:
            return False
        return (now.id, now.clearance, now.scopes) == (before.id, before.clearance, before.scopes)


async def _break_off(connection: Connection, followed: Sequence[ConversationId]) -> None:
    await connection.send(told(resets(followed)) + END)


def told(news: Sequence[Activity]) -> bytes:
    """Without ids: where its reader stands is their cursor's to say."""
    return b"".join(_told(each) for each in news)


def _told(news: Activity) -> bytes:
    data = json.dumps({"conversation": str(news.conversation)})
    return f"event: {'reset' if news.reset else 'news'}\ndata: {data}\n\n".encode()
