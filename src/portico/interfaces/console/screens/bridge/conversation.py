"""A conversation: its messages, who is there, who would read a message, sending one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.messages import MOST_LETTERS, MessageId, NewMessage, ReplyRequest
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import Form, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part, wants_part
from portico.interfaces.console.screens.bridge.messages import (
    Around,
    MessagePage,
    Reader,
    around,
    before,
    confirmed_of,
    ending,
    message_of,
    message_rows,
    since,
)
from portico.interfaces.console.screens.bridge.panes import (
    Company,
    choices_of,
    conversation_at,
    conversation_path,
    panes,
    read_at,
    said,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, join

# Who would read a message, by name; nobody whom the caller may not know of is named.

_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    label: Label
    names: tuple[str, ...]
    """Who take part and are cleared, besides whoever writes."""
    more: int
    """Of them, beyond those that are named."""
    not_cleared: int
    missed: tuple[str, ...]
    """To whom it is addressed, and who will not see it."""
    closed: bool
    """Only for those who take part; else for whoever is cleared."""
    known: bool
    """Whether whoever writes may know who is cleared for what."""


def audience_of(
    label: Label,
    taking_part: Sequence[Participant],
    company: Company | None,
    *,
    me: PrincipalId,
    closed: bool,
    addressed: Collection[PrincipalId] = (),
) -> Audience:
    others = [
        company[each.principal]
        for each in taking_part
        if company is not None and each.principal != me and each.principal in company
    ]
    there = [each for each in others if not each.gone]
    cleared = [each for each in there if each.clearance.covers(label)]
    out = [each for each in there if not each.clearance.covers(label)]
    return Audience(
        label=label,
        names=tuple(each.name for each in cleared[:_NAMED]),
        more=max(0, len(cleared) - _NAMED),
        not_cleared=len(out),
        missed=tuple(each.name for each in out if each.id in addressed)[:_NAMED],
        closed=closed,
        known=company is not None,
    )


WITHIN: Final = {
    "": "no",
    "any": "yes",
    "hour": "within an hour",
    "day": "within a day",
    "week": "within a week",
}
"""By when it is to be confirmed."""
_TIMES: Final = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """As it stands in the form, whether it can be said or not."""

    body: str = ""
    label: str = ""
    reply: str | None = None
    to: tuple[str, ...] = ()
    within: str = ""


EMPTY: Final = Typed()


def typed_in(form: Form) -> Typed:
    fields = form.fields
    return Typed(
        body=fields.get("body", [""])[0][:MOST_LETTERS],
        label=fields.get("label", [""])[0],
        reply=fields.get("reply", [""])[0] or None,
        to=tuple(_ids(fields.get("to", []))),
        within=fields.get("within", [""])[0],
    )


def new_message(form: Form, conversation: ConversationId, now: datetime) -> NewMessage:
    """Raises `InvalidForm`, `InvalidLabel`, `InvalidId`."""
    label, reply = form.maybe("label", most=500), form.maybe("reply", most=100)
    within = form.maybe("within", most=10) or ""
    if within:
        form.one_of("within", [*WITHIN])
    until = now + _TIMES[within] if within in _TIMES else None
    return NewMessage(
        conversation=conversation,
        body=form.text("body", most=MOST_LETTERS),
        label=None if label is None else Label.parse(label),
        reply_to=None if reply is None else MessageId.parse(reply),
        addressed=tuple(PrincipalId.parse(each) for each in form.many("to")),
        acknowledge=ReplyRequest(until=until) if within else None,
        key=form.once,
    )


def _ids(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.startswith("prn_")][:100]


_OTHERS: Final = 100


async def show(request: Request) -> Response:
    desk = page_context(request)
    its = await conversation_at(desk, request)
    return await drawn(request, desk, its, Typed(reply=request.query_params.get("reply")))


async def send(request: Request) -> Response:
    """Say it, once. A refusal is shown above what was written."""
    desk, form = page_context(request), await form_of(request)
    its = await conversation_at(desk, request)
    typed = typed_in(form)
    try:
        sent = await desk.services.bridge.talk.send_message(
            desk.caller, new_message(form, its.id, desk.now)
        )
    except PorticoError as problem:
        return await drawn(request, desk, its, typed, problem)
    told = "raised" if sent.raised else "absent" if sent.absent else None
    return done(conversation_path(its), told)


async def older(request: Request) -> Response:
    """What was said before the page that is shown."""
    desk = page_context(request)
    its = await conversation_at(desk, request)
    stretch = await before(desk, its, request.query_params.get("before"))
    if not wants_part(request):
        return await drawn(request, desk, its, EMPTY, stretch=stretch)
    values = {
        **await _said(desk, stretch, (await around(desk, its)).reader),
        "conversation": its,
        "below": request.query_params.get("day"),
        "can_write": _can_write(desk, its),
    }
    return part(request, "bridge/_older.html", values)


async def newer(request: Request) -> Response:
    """What was said since; then the place where the next comes, which asks once more at once, for
    what came while this was on its way. If the least that one can write has risen, the form is
    told. Nothing new: the place stays as it is."""
    desk = page_context(request)
    its = await conversation_at(desk, request)
    asked = request.query_params
    stretch = await since(desk, its, asked.get("cursor"), asked.get("last"))
    if not stretch.messages and not stretch.anew:
        return Response(status_code=204)
    there = await around(desk, its)
    writing = await _writing(desk, its, there, EMPTY)
    values = {
        **await _said(desk, stretch, there.reader, day=asked.get("day")),
        **writing,
        "conversation": its,
        "risen": asked.get("least") != str(writing["least"]),
        "unseen": True,
        "last": str(stretch.messages[-1].id) if stretch.messages else asked.get("last"),
        "behind": bool(stretch.messages),
    }
    return part(request, "bridge/_newer.html", values)


async def show_audience(request: Request) -> Response:
    """Who will see what is written now, with this label and to these people."""
    desk, asked = page_context(request), request.query_params
    its = await conversation_at(desk, request)
    label = Label.parse(asked.get("label") or str(its.label))
    to = [PrincipalId.parse(each) for each in asked.getlist("to") if each]
    seen = _audience(its, await around(desk, its), label, to)
    return part(request, "bridge/_audience.html", {"audience": seen})


async def mark_read(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    its = await conversation_at(desk, request)
    await desk.services.bridge.talk.mark_read(desk.caller, [its.id], form.text("cursor", most=4000))
    if not wants_part(request):
        return done(conversation_path(its))
    return part(request, "bridge/_lists.html", await panes(desk, its.project, its.id))


async def mute(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    muted = form.one_of("muted", ("yes", "no")) == "yes"
    its = await conversation_at(desk, request)
    await desk.services.bridge.talk.mute(desk.caller, its.id, muted=muted)
    return done(conversation_path(its), "muted" if muted else "loud")


async def join_in(request: Request) -> Response:
    """Oneself, or somebody else."""
    desk, form = page_context(request), await form_of(request)
    its = await conversation_at(desk, request)
    who = form.maybe("who", most=100)
    them = None if who is None else PrincipalId.parse(who)
    await desk.services.bridge.talk.join(desk.caller, its.id, them)
    return done(conversation_path(its), "joined" if who is None else "let_in")


async def leave(request: Request) -> Response:
    desk = page_context(request)
    await form_of(request)
    its = await conversation_at(desk, request)
    await desk.services.bridge.talk.leave(desk.caller, its.id)
    return done("/bridge" if its.closed else conversation_path(its), "left")


async def drawn(  # what is shown beside what was typed
    request: Request,
    desk: PageContext,
    its: Conversation,
    typed: Typed,
    problem: PorticoError | None = None,
    *,
    stretch: MessagePage | None = None,
) -> Response:
    """`stretch`: something older, in place of its end."""
    lists = await panes(desk, its.project, its.id)
    waiting = {item.conversation.id: item.count for item in lists["inbox"].unread}
    unread = waiting.get(its.id, 0)
    shown, there = stretch or await ending(desk, its), await around(desk, its)
    values = {
        **lists,
        **await _said(desk, shown, there.reader, unread if stretch is None else 0),
        **_people(its, there),
        **await _writing(desk, its, there, typed),
        "conversation": its,
        "problem": problem,
        "said": said(request),
        "here_unread": unread,
        "unseen": unread > 0,
        "last": str(shown.messages[-1].id) if shown.messages else None,
        "behind": False,
        "latest": stretch is None,
    }
    status = 200 if problem is None else status_of(problem)
    return await page(request, "bridge/conversation.html", values, title=its.title, status=status)


async def _said(
    desk: PageContext,
    stretch: MessagePage,
    reader: Reader,
    unread: int = 0,
    day: str | None = None,
) -> dict[str, Any]:
    confirmed = await confirmed_of(desk, stretch.messages)
    rows = message_rows(stretch.messages, reader, confirmed=confirmed, unread=unread, day=day)
    return {
        "rows": rows,
        "cursor": stretch.cursor,
        "back": stretch.back,
        "first_day": rows[0].date if rows else "",
        "last_day": rows[-1].date if rows else day,
    }


async def _writing(
    desk: PageContext, its: Conversation, there: Around, typed: Typed
) -> dict[str, Any]:
    """The form below: between which labels, and who will see it."""
    mark = await read_at(desk, its.id)
    labels = choices_of(its.label, mark, desk.caller.clearance)
    named = [each for each in labels if str(each) == typed.label]
    chosen = next(iter([*named, *labels]), None)
    to = [PrincipalId.parse(each) for each in typed.to]
    answered = None if typed.reply is None else await message_of(desk, its, typed.reply)
    return {
        "typed": typed,
        "labels": labels,
        "have_read": mark,
        "least": join([its.label, mark]),
        "audience": None if chosen is None else _audience(its, there, chosen, to),
        "answered": answered,
        "within": WITHIN,
        "can_write": _can_write(desk, its),
    }


def _can_write(desk: PageContext, its: Conversation) -> bool:
    return desk.caller.may(Scope.BRIDGE_WRITE) and its.archived_at is None


def _people(its: Conversation, there: Around) -> dict[str, Any]:
    """Who takes part, and who could be let in."""
    inside = {each.principal for each in there.people}
    others = [
        each
        for each in (there.company or {}).values()
        if each.id not in inside and not each.gone and each.clearance.covers(its.label)
    ]
    return {
        "people": there.people,
        "kinds": there.reader.kinds,
        "mine": there.mine,
        "others": sorted(others, key=lambda each: each.name.casefold())[:_OTHERS],
    }


def _audience(
    its: Conversation, there: Around, label: Label, to: Sequence[PrincipalId]
) -> Audience:
    return audience_of(
        label,
        there.people,
        there.company,
        me=there.caller.id,
        closed=its.closed,
        addressed=to,
    )


routes: Final = [
    Route("/bridge/{project}/{conversation}", show, methods=["GET"]),
    Route("/bridge/{project}/{conversation}", send, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/older", older, methods=["GET"]),
    Route("/bridge/{project}/{conversation}/newer", newer, methods=["GET"]),
    Route("/bridge/{project}/{conversation}/audience", show_audience, methods=["GET"]),
    Route("/bridge/{project}/{conversation}/read", mark_read, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/mute", mute, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/join", join_in, methods=["POST"]),
    Route("/bridge/{project}/{conversation}/leave", leave, methods=["POST"]),
]
