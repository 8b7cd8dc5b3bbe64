"""What there is for you on the bridge, over REST: the inbox, several conversations at once, and
who you are there."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Talk
from portico.interfaces.http.bridge_words import (
    MOST_CONVERSATIONS,
    ConversationOut,
    Cursor,
    CursorText,
    MessageOut,
    MessagesOut,
    Several,
    Upto,
    conversation_out,
    conversations_of,
    message_out,
    messages_out,
    upto_of,
)
from portico.interfaces.http.messages import CursorOut, Wait, patience
from portico.interfaces.http.paging import DEFAULT_LIMIT, Limit
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, ConversationIdText, LabelText
from portico.kernel.principal import PrincipalKind


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


router = APIRouter(tags=["bridge"])


@router.get("/inbox", name="show_inbox", responses=documented())
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


@router.get("/inbox/total", name="count_unread", responses=documented())
async def count_unread(talk: Talk, caller: Caller, upto: Upto = None) -> UnreadTotalOut:
    """How many messages wait for you, and no more: for a badge, and for asking often."""
    counted = await talk.count_unread(caller, upto=upto_of(upto))
    return UnreadTotalOut(count=counted.count, mentions=counted.mentions)


@router.get("/bridge/messages", name="read_several", responses=documented(404))
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


@router.get("/bridge/cursor", name="show_several_ends", responses=documented(404))
async def show_several_ends(
    talk: Talk, caller: Caller, conversation: Several, upto: Upto = None
) -> CursorOut:
    """From which on you are given only what is said from now on."""
    several = conversations_of(conversation)
    return CursorOut(cursor=await talk.tail_cursor(caller, several, upto=upto_of(upto)))


@router.post("/bridge/read", name="mark_several_read", status_code=204, responses=documented(404))
async def mark_several_read(talk: Talk, caller: Caller, body: ReadSeveralIn) -> None:
    """All up to a cursor, in each of them."""
    await talk.mark_read(
        caller, conversations_of(body.conversations), body.cursor, upto=upto_of(body.upto)
    )


@router.get("/whoami", name="who_am_i", responses=documented())
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
