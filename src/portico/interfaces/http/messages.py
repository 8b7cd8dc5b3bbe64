"""Messages over REST: send, read, change, acknowledge, search, declassify."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import JSONResponse, Response

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.declassification import Declassification, FindingKind, ScanMatch
from portico.bridge.core.messages import (
    MOST_ATTACHMENTS,
    MOST_LETTERS,
    MOST_MENTIONS,
    MessageId,
    NewMessage,
    ReplyRequest,
)
from portico.bridge.core.projects import ProjectId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_shapes import (
    AcknowledgedOut,
    Cursor,
    CursorText,
    MessageOut,
    MessagesOut,
    MessageVersionOut,
    Upto,
    acknowledged_out,
    message_fields,
    message_out,
    messages_out,
    upto_of,
    version_out,
)
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    ConversationIdPath,
    ConversationIdText,
    DigestText,
    LabelText,
    Limit,
    MessageIdPath,
    MessageIdText,
    Moment,
    Page,
    PrincipalIdText,
    ProjectIdText,
    Text,
    next_cursor,
    position,
)
from portico.interfaces.http.use_cases import LettingOut, Talk
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

END: Final = "end"
Wait = Annotated[
    int,
    Query(
        ge=0,
        le=30,
        description="Seconds to wait for something to be there, if nothing is yet.",
    ),
]
_Body = Annotated[Text, StringConstraints(max_length=MOST_LETTERS)]
_People = Annotated[list[PrincipalIdText], Field(max_length=MOST_MENTIONS)]
_Before = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=4000,
        description="Look back: `end` for the last ones, or `cursor` of such a page for those "
        "before it.",
    ),
]
_Words = Annotated[Text, StringConstraints(min_length=1, max_length=1000)]


class WantedIn(Body, title="WantedIn"):
    until: Moment | None = None
    """After which it counts as overdue."""


class NewMessageIn(Body, title="NewMessageIn"):
    body: _Body
    label: LabelText | None = None
    """How secret it is: at least what you have read in this task, and as much, if left away."""
    reply_to: MessageIdText | None = None
    mentions: _People = Field(default=[])
    """Besides those whom the text names with an @."""
    addressed: _People = Field(default=[])
    """To whom it is directed. Others who are cleared can read it as well."""
    attachments: Annotated[list[DigestText], Field(max_length=MOST_ATTACHMENTS)] = Field(default=[])
    acknowledge: WantedIn | None = None
    """Whoever it is addressed to is to say that they have it."""


class EditIn(Body, title="EditIn"):
    body: _Body


class ReadIn(Body, title="ReadIn"):
    cursor: CursorText
    upto: LabelText | None = None
    """With which it was read."""


class SentOut(MessageOut, title="SentOut"):
    raised: bool
    """It is more secret than its conversation: you have read something in this task that is."""
    absent: list[str]
    """The ids of those whom it names or is addressed to and who take no part in the conversation:
    it is not in their inbox."""


class CursorOut(BaseModel, title="CursorOut"):
    cursor: str


class MessageHitOut(BaseModel, title="MessageHitOut"):
    message: MessageOut
    score: float


router = APIRouter(tags=["bridge"])


@router.post(
    "/conversations/{conversation}/messages",
    name="send_message",
    status_code=201,
    response_model=SentOut,
    responses=documented(404),
)
async def send_message(
    talk: Talk, asked: IdempotentCreate, conversation: ConversationIdPath, body: NewMessageIn
) -> Response:
    """Say something. With the same `Idempotency-Key` again it is the same message, for ever."""
    wanted = NewMessage(
        conversation=ConversationId.parse(conversation),
        body=body.body,
        label=upto_of(body.label),
        reply_to=None if body.reply_to is None else MessageId.parse(body.reply_to),
        mentions=tuple(map(PrincipalId.parse, body.mentions)),
        addressed=tuple(map(PrincipalId.parse, body.addressed)),
        attachments=tuple(map(Digest.parse, body.attachments)),
        acknowledge=None
        if body.acknowledge is None
        else ReplyRequest(until=body.acknowledge.until),
        key=asked.key,
    )
    sent = await talk.send_message(asked.caller, wanted)
    absent = [str(who) for who in sent.absent]
    out = SentOut(**message_fields(sent.message), raised=sent.raised, absent=absent)
    headers = {"Idempotency-Replayed": "true"} if sent.replayed else None
    return JSONResponse(out.model_dump(mode="json"), 201, headers)


@router.get(
    "/conversations/{conversation}/messages", name="read_messages", responses=documented(404)
)
async def read_messages(  # noqa: PLR0913 # each says what to read
    talk: Talk,
    caller: Caller,
    conversation: ConversationIdPath,
    *,
    cursor: Cursor = None,
    before: _Before = None,
    limit: Limit = DEFAULT_LIMIT,
    upto: Upto = None,
    wait: Wait = 0,
) -> MessagesOut:
    """From the first on, or from where you left off, oldest first; or with `before` the last
    ones."""
    one, label = ConversationId.parse(conversation), upto_of(upto)
    if before is not None:
        back = None if before == END else before
        return messages_out(await talk.look_back(caller, one, before=back, limit=limit, upto=label))
    page = await talk.read_messages(
        caller, [one], cursor=cursor, limit=limit, upto=label, wait=patience(wait)
    )
    return messages_out(page)


@router.get("/conversations/{conversation}/cursor", name="show_end", responses=documented(404))
async def show_end(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, upto: Upto = None
) -> CursorOut:
    """From which on you are given only what is said from now on."""
    one = ConversationId.parse(conversation)
    return CursorOut(cursor=await talk.tail_cursor(caller, [one], upto=upto_of(upto)))


@router.post(
    "/conversations/{conversation}/read",
    name="mark_read",
    status_code=204,
    responses=documented(404),
)
async def mark_read(
    talk: Talk, caller: Caller, conversation: ConversationIdPath, body: ReadIn
) -> None:
    """All up to a cursor; never back, and told to nobody."""
    one = ConversationId.parse(conversation)
    await talk.mark_read(caller, [one], body.cursor, upto=upto_of(body.upto))


@router.get("/bridge/search", name="search_messages", responses=documented(404))
async def search_messages(  # noqa: PLR0913 # a filter each
    talk: Talk,
    caller: Caller,
    q: Annotated[_Words, Query(description="Words that it must have; or what it is about.")],
    *,
    by: Literal["words", "meaning"] = "words",
    project: Annotated[ProjectIdText | None, Query()] = None,
    conversation: Annotated[ConversationIdText | None, Query()] = None,
    upto: Upto = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Page[MessageHitOut]:
    """By words the newest first, by meaning the nearest."""
    found = await talk.search_messages(
        caller,
        q,
        project=None if project is None else ProjectId.parse(project),
        conversation=None if conversation is None else ConversationId.parse(conversation),
        upto=upto_of(upto),
        by_meaning=by == "meaning",
        limit=limit,
    )
    data = [MessageHitOut(message=message_out(hit.message), score=hit.score) for hit in found]
    return Page(data=data, next=None)


@router.get("/messages/{message}", name="show_message", responses=documented(404))
async def show_message(talk: Talk, caller: Caller, message: MessageIdPath) -> MessageOut:
    return message_out(await talk.show_message(caller, MessageId.parse(message)))


@router.patch("/messages/{message}", name="edit_message", responses=documented(404))
async def edit_message(
    talk: Talk, caller: Caller, message: MessageIdPath, body: EditIn
) -> MessageOut:
    """Your own; what it was stays in its versions."""
    return message_out(await talk.edit_message(caller, MessageId.parse(message), body.body))


@router.delete(
    "/messages/{message}", name="delete_message", status_code=204, responses=documented(404)
)
async def delete_message(talk: Talk, caller: Caller, message: MessageIdPath) -> None:
    """Your own, or with `bridge:manage` anybody's; what it said stays in its versions."""
    await talk.delete_message(caller, MessageId.parse(message))


@router.get("/messages/{message}/versions", name="show_versions", responses=documented(404))
async def show_versions(
    talk: Talk, caller: Caller, message: MessageIdPath
) -> Page[MessageVersionOut]:
    """What it said before it was changed, oldest first."""
    found = await talk.show_versions(caller, MessageId.parse(message))
    return Page(data=[version_out(each) for each in found], next=None)


@router.get("/messages/{message}/thread", name="read_thread", responses=documented(404))
async def read_thread(
    talk: Talk, caller: Caller, message: MessageIdPath, limit: Limit = 200, after: After = None
) -> Page[MessageOut]:
    """The one that its thread began with, and all answers to it, oldest first."""
    last = position(after)
    found = await talk.read_thread(
        caller,
        MessageId.parse(message),
        after=None if last is None else MessageId.parse(last),
        limit=limit,
    )
    cursor = next_cursor(found, limit, str(found[-1].id) if found else "")
    return Page(data=[message_out(each) for each in found], next=cursor)


@router.post(
    "/messages/{message}/read", name="mark_one", status_code=204, responses=documented(404)
)
async def mark_one(talk: Talk, caller: Caller, message: MessageIdPath) -> None:
    """This one, whatever was said before it."""
    await talk.mark_one(caller, MessageId.parse(message))


@router.post(
    "/messages/{message}/acknowledgements",
    name="acknowledge",
    status_code=204,
    responses=documented(404),
)
async def acknowledge(talk: Talk, caller: Caller, message: MessageIdPath) -> None:
    """Say that you have it; the first time counts."""
    await talk.acknowledge(caller, MessageId.parse(message))


@router.get(
    "/messages/{message}/acknowledgements", name="list_acknowledged", responses=documented(404)
)
async def list_acknowledged(
    talk: Talk, caller: Caller, message: MessageIdPath
) -> Page[AcknowledgedOut]:
    """Who has said so, oldest first."""
    found = await talk.list_acknowledged(caller, MessageId.parse(message))
    return Page(data=[acknowledged_out(each) for each in found], next=None)


def patience(seconds: int) -> timedelta | None:
    return timedelta(seconds=seconds) if seconds else None


class LowerIn(Body, title="LowerIn"):
    to: LabelText
    """How secret the copy is to be."""


class FindingOut(BaseModel, title="FindingOut"):
    rule: str
    kind: FindingKind
    start: int
    end: int


class ProposalOut(BaseModel, title="ProposalOut"):
    approval: str
    """Of the request that somebody else has to say yes to."""
    text: str
    """What the copy would say."""
    findings: list[FindingOut]
    """What would be blacked out: where in the text as it is."""
    diff: list[str]


class DeclassificationOut(BaseModel, title="DeclassificationOut"):
    id: str
    source: str
    copy_: Annotated[str, Field(serialization_alias="copy")]
    before: str
    after: str
    rules: list[str]
    """That something was found by."""
    asked_by: str
    approved_by: str
    approval: str
    at: datetime
    digest: str
    """SHA-256 of the text that was let out."""
    signature: str
    sound: bool
    """The signature is of this very record, and ours."""


declassifications_router = APIRouter(prefix="/messages/{message}", tags=["bridge"])


@declassifications_router.post(
    "/declassification",
    name="propose_declassification",
    status_code=202,
    responses=documented(404, 429),
)
async def propose_declassification(
    letting_out: LettingOut, caller: Caller, message: MessageIdPath, body: LowerIn
) -> ProposalOut:
    """Ask for a copy that is less secret. It is said at the end of the conversation once somebody
    else has approved it, without what was found in it."""
    proposal = await letting_out.propose_declassification(
        caller, MessageId.parse(message), Label.parse(body.to)
    )
    return ProposalOut(
        approval=str(proposal.approval),
        text=proposal.redacted.text,
        findings=[_finding_out(each) for each in proposal.redacted.findings],
        diff=[*proposal.redacted.diff],
    )


@declassifications_router.get(
    "/declassifications", name="list_declassifications", responses=documented(404)
)
async def list_declassifications(
    letting_out: LettingOut, caller: Caller, message: MessageIdPath
) -> Page[DeclassificationOut]:
    """What was let out of it, oldest first."""
    found = await letting_out.list_declassifications(caller, MessageId.parse(message))
    return Page(data=[_out(each) for each in found], next=None)


def _finding_out(finding: ScanMatch) -> FindingOut:
    return FindingOut(rule=finding.rule, kind=finding.kind, start=finding.start, end=finding.end)


def _out(record: Declassification) -> DeclassificationOut:
    return DeclassificationOut(
        id=str(record.id),
        source=str(record.source),
        copy_=str(record.copy),
        before=str(record.before),
        after=str(record.after),
        rules=[*record.rules],
        asked_by=str(record.asked_by),
        approved_by=str(record.approved_by),
        approval=str(record.approval),
        at=record.at,
        digest=record.digest,
        signature=record.signature,
        sound=record.sound,
    )
