"""Conversations over REST: begun, renamed, put away; who takes part in them."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, StringConstraints
from starlette.responses import Response

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import Talk
from portico.interfaces.http.bridge_words import (
    Archived,
    ConversationOut,
    ParticipantOut,
    Upto,
    conversation_out,
    participant_out,
    upto_of,
)
from portico.interfaces.http.once import Asked
from portico.interfaces.http.paging import DEFAULT_LIMIT, After, Limit, Page, next_cursor, position
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import (
    Body,
    ConversationIdPath,
    LabelText,
    OneLine,
    PrincipalIdPath,
    PrincipalIdText,
    ProjectIdText,
    Switch,
)
from portico.kernel.ids import PrincipalId

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
async def create_conversation(talk: Talk, asked: Asked, body: ConversationIn) -> Response:
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
