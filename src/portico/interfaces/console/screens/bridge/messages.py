"""One message: whole, with its thread, its versions and who has it; changed, deleted, confirmed,
and asked to be read by more."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.declassification import DECLASSIFY, Proposal
from portico.bridge.core.messages import MOST_LETTERS, Message, MessageId
from portico.engine.core.errors import BadCursor
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import done, page
from portico.interfaces.console.screens.bridge.lists import conversation_path
from portico.interfaces.console.screens.bridge.panes import conversation_at, panes
from portico.interfaces.console.screens.bridge.reading import around, confirmed_of, message_of
from portico.interfaces.console.screens.bridge.standing import lower_than
from portico.interfaces.console.screens.bridge.talk_rows import Reader, message_rows
from portico.interfaces.console.screens.bridge.words import said
from portico.interfaces.http.paging import opaque, position
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label

_ANSWERS: Final = 30
_WAITING: Final = 100
"""Requests that are looked through for those about this message."""


async def show(request: Request) -> Response:
    desk, its, message = await _opened(request)
    return await _drawn(request, desk, its, message)


async def edit(request: Request) -> Response:
    desk, its, message = await _opened(request)
    form = await form_of(request)
    typed = form.fields.get("body", [""])[0]
    try:
        body = form.text("body", most=MOST_LETTERS)
        await desk.house.bridge.talk.edit_message(desk.caller, message.id, body)
    except PorticoError as problem:
        return await _drawn(request, desk, its, message, problem, typed=typed)
    return done(f"{conversation_path(its)}/messages/{message.id}", "edited")


async def delete(request: Request) -> Response:
    desk, its, message = await _opened(request)
    await form_of(request)
    await desk.house.bridge.talk.delete_message(desk.caller, message.id)
    return done(conversation_path(its), "deleted")


async def confirm(request: Request) -> Response:
    """That it has arrived."""
    desk, its, message = await _opened(request)
    await form_of(request)
    await desk.house.bridge.talk.acknowledge(desk.caller, message.id)
    return done(conversation_path(its), "confirmed")


async def lower(request: Request) -> Response:
    """Ask for a copy that is less secret, and show what it would say."""
    desk, its, message = await _opened(request)
    form = await form_of(request)
    try:
        to = Label.parse(form.text("to", most=500))
        proposal = await desk.house.bridge.letting_out.propose_declassification(
            desk.caller, message.id, to
        )
    except PorticoError as problem:
        return await _drawn(request, desk, its, message, problem)
    return await _drawn(request, desk, its, message, proposal=proposal)


async def _opened(request: Request) -> tuple[Desk, Conversation, Message]:
    desk = desk_of(request)
    its = await conversation_at(desk, request)
    return desk, its, await message_of(desk, its, request.path_params["message"])


async def _drawn(  # noqa: PLR0913 # what is shown beside the message itself
    request: Request,
    desk: Desk,
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
        "versions": await desk.house.bridge.talk.show_versions(desk.caller, message.id),
        "lowered": await desk.house.bridge.letting_out.list_declassifications(
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


async def _thread(request: Request, desk: Desk, message: Message, reader: Reader) -> dict[str, Any]:
    after = _position(request.query_params.get("after"))
    found = await desk.house.bridge.talk.read_thread(
        desk.caller,
        message.id,
        after=None if after is None else MessageId.parse(after),
        limit=_ANSWERS,
    )
    rows = message_rows(found, reader) if len(found) > 1 or after else ()
    more = opaque(str(found[-1].id)) if len(found) == _ANSWERS else None
    return {"thread": rows, "thread_more": more}


async def _waiting(desk: Desk, message: Message) -> list[Approval]:
    """What was asked for of this message and nobody has answered yet."""
    if not desk.caller.may(Scope.APPROVALS_READ):
        return []
    found = await desk.house.gateway.approvals.list_approvals(
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
    except BadCursor:
        return None


_AT: Final = "/bridge/{project}/{conversation}/messages/{message}"
routes: Final = [
    Route(_AT, show, methods=["GET"]),
    Route(f"{_AT}/edit", edit, methods=["POST"]),
    Route(f"{_AT}/delete", delete, methods=["POST"]),
    Route(f"{_AT}/confirm", confirm, methods=["POST"]),
    Route(f"{_AT}/lower", lower, methods=["POST"]),
]
