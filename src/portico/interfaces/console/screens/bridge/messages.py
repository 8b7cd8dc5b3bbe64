"""Messages: read a conversation, show one with its thread and versions, change, confirm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import Conversation, Participant
from portico.bridge.core.declassification import DECLASSIFY, Proposal
from portico.bridge.core.errors import MessageNotFound
from portico.bridge.core.messages import MOST_LETTERS, Acknowledged, Message, MessageId
from portico.engine.core.errors import InvalidCursor
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.markdown import markdown
from portico.interfaces.console.page import PageContext, done, page, page_context
from portico.interfaces.console.screens.bridge.panes import (
    Company,
    company_of,
    conversation_at,
    conversation_path,
    excerpt,
    lower_than,
    panes,
    said,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import opaque, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import InvalidId, PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

HUES: Final = 8
_MOST: Final = 18_000
"""Letters of drawn text in one part: what is beyond is shown as its beginning."""
_LONGEST: Final = 9_000
"""Of one message."""
_BEGINNING: Final = 280
_TOGETHER: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who looks, what they may do, and whom they know."""

    me: PrincipalId
    writes: bool
    manages: bool
    names: Mapping[PrincipalId, str] = field(default_factory=dict)
    kinds: Mapping[PrincipalId, str] = field(default_factory=dict)
    """`person` or `agent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    id: str
    who: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    id: str
    who: str
    kind: str
    letter: str
    hue: int
    follows: bool
    """Of the same sender, soon after the one above it."""
    day: str
    """What stands above it where a day begins; else empty."""
    date: str
    first_unread: bool
    mine: bool
    sent_at: datetime
    edited_at: datetime | None
    deleted: bool
    label: Label
    text: Markup | None
    """Whole, drawn; None where only its beginning is shown."""
    beginning: str
    quote: Quote | None
    """What it answers, where that is on the same page."""
    answers: str | None
    """The id of what it answers, wherever that is."""
    thread: str
    to: tuple[str, ...]
    names_me: bool
    attachments: tuple[str, ...]
    wants_word: bool
    """That it has arrived."""
    due_at: datetime | None
    confirmed: tuple[str, ...]
    can_confirm: bool
    can_edit: bool
    can_delete: bool
    untrusted: bool


def reader_of(
    me: PrincipalId,
    company: Company | None,
    taking_part: Sequence[Participant] = (),
    *,
    writes: bool,
    manages: bool,
) -> Reader:
    """Names of those who take part are known to whoever sees the conversation."""
    names = {each.principal: each.name for each in taking_part}
    kinds: dict[PrincipalId, str] = {}
    for each in (company or {}).values():
        names[each.id] = each.name
        kinds[each.id] = str(each.kind)
    return Reader(me=me, writes=writes, manages=manages, names=names, kinds=kinds)


def message_rows(
    messages: Sequence[Message],
    reader: Reader,
    *,
    confirmed: Mapping[MessageId, Sequence[Acknowledged]] | None = None,
    unread: int = 0,
    day: str | None = None,
) -> tuple[MessageRow, ...]:
    """In their order. `unread`: so many of the last ones, as far as they are here; `day`: which
    has its line above them already."""
    drawn = _drawn(messages)
    known = {each.id: each for each in messages}
    marked = _first_unread(messages, unread, reader.me)
    rows: list[MessageRow] = []
    above: Message | None = None
    for each in messages:
        own = (confirmed or {}).get(each.id, ())
        row = _row(each, reader, above, known, drawn.get(each.id), own, marked == each.id)
        rows.append(replace(row, day="") if above is None and row.date == day else row)
        above = each
    return tuple(rows)


def _row(  # noqa: PLR0913, PLR0917 # all that one row is made of
    its: Message,
    reader: Reader,
    above: Message | None,
    known: Mapping[MessageId, Message],
    text: Markup | None,
    confirmed: Sequence[Acknowledged],
    first_unread: bool,
) -> MessageRow:
    deleted = its.deleted_at is not None
    new_day = above is None or above.sent_at.date() != its.sent_at.date()
    soon = above is not None and its.sent_at - above.sent_at < _TOGETHER
    same = above is not None and above.sender == its.sender and soon and its.reply_to is None
    mine, owed = its.sender == reader.me, reader.me in its.addressed
    said = reader.me in {each.by for each in confirmed}
    return MessageRow(
        id=str(its.id),
        who=its.sender_name,
        kind=reader.kinds.get(its.sender, ""),
        letter=(its.sender_name.strip()[:1] or "?").upper(),
        hue=its.sender.value.int % HUES,
        follows=same and not new_day and not first_unread,
        day=its.sent_at.strftime("%A, %-d %B %Y") if new_day else "",
        date=its.sent_at.date().isoformat(),
        first_unread=first_unread,
        mine=mine,
        sent_at=its.sent_at,
        edited_at=its.edited_at,
        deleted=deleted,
        label=its.label,
        text=text,
        beginning="" if text is not None else excerpt(its.body, _BEGINNING),
        quote=_quote(its, known),
        answers=None if its.reply_to is None else str(its.reply_to),
        thread=str(its.thread or its.id),
        to=tuple(reader.names[who] for who in its.addressed if who in reader.names),
        names_me=reader.me in (*its.mentions, *its.addressed),
        attachments=tuple(map(str, its.attachments)),
        wants_word=its.acknowledge is not None,
        due_at=None if its.acknowledge is None else its.acknowledge.until,
        confirmed=tuple(reader.names[each.by] for each in confirmed if each.by in reader.names),
        can_confirm=its.acknowledge is not None and owed and not said and reader.writes,
        can_edit=mine and reader.writes and not deleted,
        can_delete=(mine or reader.manages) and reader.writes and not deleted,
        untrusted=its.untrusted,
    )


def _quote(its: Message, known: Mapping[MessageId, Message]) -> Quote | None:
    answered = None if its.reply_to is None else known.get(its.reply_to)
    if answered is None:
        return None
    return Quote(id=str(answered.id), who=answered.sender_name, text=excerpt(answered.body, 90))


def _first_unread(messages: Sequence[Message], unread: int, me: PrincipalId) -> MessageId | None:
    """What oneself has said never was unread."""
    counted = [each for each in messages if each.deleted_at is None and each.sender != me]
    return counted[-unread].id if 0 < unread <= len(counted) else None


def _drawn(messages: Sequence[Message]) -> dict[MessageId, Markup]:
    """The newest first get room: they are what somebody came for."""
    found: dict[MessageId, Markup] = {}
    left = _MOST
    for each in reversed(messages):
        if len(each.body) > _LONGEST:
            continue
        text = markdown(each.body)
        if len(text) <= min(left, _LONGEST):
            found[each.id] = text
            left -= len(text)
    return found


_AT_ONCE: Final = 25
_CONFIRMED: Final = 12
"""Messages of a page of which it is looked up who has confirmed them: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    messages: Sequence[Message]
    cursor: str | None = None
    """From which on there is what comes next; None where it was looked back."""
    back: str | None = None
    """To what was said before; None if there is nothing."""
    anew: bool = False
    """The cursor that was given is of another clearance: this one takes its place."""


async def ending(desk: PageContext, its: Conversation) -> MessagePage:
    """Its last messages. What is said between the two questions is in it, and once more after its
    cursor: `since` leaves that away."""
    use, caller = desk.services.bridge.talk, desk.caller
    end = await use.tail_cursor(caller, [its.id])
    back = await use.look_back(caller, its.id, limit=_AT_ONCE)
    return MessagePage(messages=back.messages, cursor=end, back=back.cursor if back.more else None)


async def before(desk: PageContext, its: Conversation, cursor: str | None) -> MessagePage:
    """Raises `InvalidCursor`."""
    found = await desk.services.bridge.talk.look_back(
        desk.caller, its.id, before=cursor, limit=_AT_ONCE
    )
    return MessagePage(messages=found.messages, back=found.cursor if found.more else None)


async def since(
    desk: PageContext, its: Conversation, cursor: str | None, last: str | None
) -> MessagePage:
    """What came after the cursor, and after the `last` that is shown already. Nothing old: a cursor
    of another clearance begins anew, at the end. Raises `InvalidCursor`."""
    use = desk.services.bridge.talk
    found = await use.read_messages(desk.caller, [its.id], cursor=cursor, limit=_AT_ONCE)
    if found.reset or cursor is None:
        end = await use.tail_cursor(desk.caller, [its.id])
        return MessagePage(messages=(), cursor=end, anew=True)
    shown = [place for place, each in enumerate(found.messages) if str(each.id) == last]
    fresh = found.messages[shown[0] + 1 :] if shown else found.messages
    return MessagePage(messages=fresh, cursor=found.cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Who is there, as far as whoever looks may know of them."""

    caller: Principal
    company: Company | None
    people: Sequence[Participant]
    mine: Participant | None
    """How whoever looks takes part, if they do."""

    @property
    def reader(self) -> Reader:
        return reader_of(
            self.caller.id,
            self.company,
            self.people,
            writes=self.caller.may(Scope.BRIDGE_WRITE),
            manages=self.caller.may(Scope.BRIDGE_MANAGE),
        )


async def around(desk: PageContext, its: Conversation) -> Around:
    caller = desk.caller
    found = await desk.services.bridge.talk.list_participants(caller, its.id)
    company = await company_of(desk)
    known = [each for each in found if company is None or each.principal in company]
    mine = next((each for each in found if each.principal == caller.id), None)
    return Around(caller=caller, company=company, people=known, mine=mine)


async def confirmed_of(
    desk: PageContext, messages: Sequence[Message]
) -> Mapping[MessageId, Sequence[Acknowledged]]:
    """Who has said that they have it, of those that ask for it."""
    asking = [each for each in messages if each.acknowledge is not None][-_CONFIRMED:]
    use = desk.services.bridge.talk
    return {each.id: await use.list_acknowledged(desk.caller, each.id) for each in asking}


async def message_of(desk: PageContext, its: Conversation, which: str) -> Message:
    """One of this conversation. Raises `MessageNotFound`."""
    try:
        found = await desk.services.bridge.talk.show_message(desk.caller, MessageId.parse(which))
    except InvalidId as error:
        raise MessageNotFound(which) from error
    if found.conversation != its.id:
        raise MessageNotFound(which)
    return found


_ANSWERS: Final = 30
_WAITING: Final = 100
"""Requests that are looked through for those about this message."""


async def show(request: Request) -> Response:
    desk, its, message = await _opened(request)
    return await _drawn_message(request, desk, its, message)


async def edit(request: Request) -> Response:
    desk, its, message = await _opened(request)
    form = await form_of(request)
    typed = form.fields.get("body", [""])[0]
    try:
        body = form.text("body", most=MOST_LETTERS)
        await desk.services.bridge.talk.edit_message(desk.caller, message.id, body)
    except PorticoError as problem:
        return await _drawn_message(request, desk, its, message, problem, typed=typed)
    return done(f"{conversation_path(its)}/messages/{message.id}", "edited")


async def delete(request: Request) -> Response:
    desk, its, message = await _opened(request)
    await form_of(request)
    await desk.services.bridge.talk.delete_message(desk.caller, message.id)
    return done(conversation_path(its), "deleted")


async def confirm(request: Request) -> Response:
    """That it has arrived."""
    desk, its, message = await _opened(request)
    await form_of(request)
    await desk.services.bridge.talk.acknowledge(desk.caller, message.id)
    return done(conversation_path(its), "confirmed")


async def lower(request: Request) -> Response:
    """Ask for a copy that is less secret, and show what it would say."""
    desk, its, message = await _opened(request)
    form = await form_of(request)
    try:
        to = Label.parse(form.text("to", most=500))
        proposal = await desk.services.bridge.letting_out.propose_declassification(
            desk.caller, message.id, to
        )
    except PorticoError as problem:
        return await _drawn_message(request, desk, its, message, problem)
    return await _drawn_message(request, desk, its, message, proposal=proposal)


async def _opened(request: Request) -> tuple[PageContext, Conversation, Message]:
    desk = page_context(request)
    its = await conversation_at(desk, request)
    return desk, its, await message_of(desk, its, request.path_params["message"])


async def _drawn_message(  # noqa: PLR0913 # what is shown beside the message itself
    request: Request,
    desk: PageContext,
    its: Conversation,
    message: Message,
    problem: PorticoError | None = None,
    *,
    typed: str | None = None,
    proposal: Proposal | None = None,
) -> Response:
    reader = (await around(desk, its)).reader
    confirmed = await confirmed_of(desk, [message])
    [row] = message_rows([message], reader, confirmed=confirmed)
    values = {
        **await panes(desk, its.project, its.id),
        **await _thread(request, desk, message, reader),
        "conversation": its,
        "message": message,
        "row": row,
        "names": reader.names,
        "versions": await desk.services.bridge.talk.show_versions(desk.caller, message.id),
        "lowered": await desk.services.bridge.letting_out.list_declassifications(
            desk.caller, message.id
        ),
        "asked_for": await _waiting(desk, message),
        "lower_to": lower_than(message.label, its.label) if not row.deleted else (),
        "problem": problem,
        "typed": message.body if typed is None else typed,
        "proposal": proposal,
        "said": said(request),
    }
    status = 200 if problem is None else status_of(problem)
    title = f"Message in {its.title}"
    return await page(request, "bridge/message.html", values, title=title, status=status)


async def _thread(
    request: Request, desk: PageContext, message: Message, reader: Reader
) -> dict[str, Any]:
    after = _position(request.query_params.get("after"))
    found = await desk.services.bridge.talk.read_thread(
        desk.caller,
        message.id,
        after=None if after is None else MessageId.parse(after),
        limit=_ANSWERS,
    )
    rows = message_rows(found, reader) if len(found) > 1 or after else ()
    more = opaque(str(found[-1].id)) if len(found) == _ANSWERS else None
    return {"thread": rows, "thread_more": more}


async def _waiting(desk: PageContext, message: Message) -> list[Approval]:
    """What was asked for of this message and nobody has answered yet."""
    if not desk.caller.may(Scope.APPROVALS_READ):
        return []
    found = await desk.services.gateway.approvals.list_approvals(
        desk.at("bridge"), statuses=[Status.WAITING], limit=_WAITING
    )
    return [
        each
        for each in found
        if each.tool == DECLASSIFY and each.arguments.get("message") == str(message.id)
    ]


def _position(cursor: str | None) -> str | None:
    try:
        return position(cursor)
    except InvalidCursor:
        return None


_AT: Final = "/bridge/{project}/{conversation}/messages/{message}"
routes: Final = [
    Route(_AT, show, methods=["GET"]),
    Route(f"{_AT}/edit", edit, methods=["POST"]),
    Route(f"{_AT}/delete", delete, methods=["POST"]),
    Route(f"{_AT}/confirm", confirm, methods=["POST"]),
    Route(f"{_AT}/lower", lower, methods=["POST"]),
]
