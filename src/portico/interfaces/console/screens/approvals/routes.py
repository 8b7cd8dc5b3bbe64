"""Approvals: what waits for somebody's yes, and saying it."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.engine.core.idempotency import Answer
from portico.engine.idempotency import Ask
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Via, answer_kind, resolution
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import BadForm, Form, form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.approvals.looking import (
    PLACE,
    approval_of,
    marked_of,
    opened,
    queue,
    queue_of,
)
from portico.interfaces.console.screens.approvals.queue import Queue, Show
from portico.interfaces.console.screens.approvals.typed import written
from portico.interfaces.console.screens.approvals.why_view import whom, why
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject

_MOST_JSON: Final = 500_000
_SAID: Final = {
    "once": "Approved, once.",
    "run": "Approved for this run.",
    "always": "Approved from now on; the rule is listed under Settings, Policy.",
    "reject": "Rejected.",
    "edited": "Approved with your arguments.",
    "done": "Noted: it was done.",
    "retry": "It is tried again.",
    "skip": "Noted: it was not made and shall not be.",
    "withdrawn": "Taken back.",
}


async def show(request: Request) -> Response:
    desk = desk_of(request)
    listed = await queue_of(desk, request, None)
    first = None if listed.first is None else ApprovalId.parse(listed.first)
    return await _drawn(request, desk, listed, first, in_list=True)


async def show_one(request: Request) -> Response:
    desk, approval = desk_of(request), approval_of(request)
    return await _drawn(request, desk, await queue_of(desk, request, approval), approval)


async def show_list(request: Request) -> Response:
    listed = await queue_of(desk_of(request), request, marked_of(request))
    return part(request, "inbox/_list.html", {"queue": listed})


async def show_part(request: Request) -> Response:
    desk, approval = desk_of(request), approval_of(request)
    return part(request, "inbox/_detail.html", await _detail(desk, approval))


async def show_arguments(request: Request) -> Response:
    """All of them, as text."""
    desk = desk_of(request)
    found = await opened(desk, approval_of(request))
    return PlainTextResponse(found.json.encode(errors="replace"))


async def show_why(request: Request) -> Response:
    """Raises `ApprovalNotFound`."""
    desk, gateway = desk_of(request), desk_of(request).house.gateway
    found = await gateway.approvals.show_approval(desk.at(PLACE), approval_of(request))
    try:
        told = why(await gateway.policy.explain(desk.caller, whom(found), found.tool))
    except PorticoError as problem:
        return part(request, "inbox/_why.html", {"why": None, "problem": problem})
    return part(request, "inbox/_why.html", {"why": told, "problem": None})


async def answer(request: Request) -> Response:
    desk, approval, form = desk_of(request), approval_of(request), await form_of(request)
    try:
        kind = answer_kind(form.maybe("answer", most=20) or "")
        reply = Reply(kind=kind, via=Via.WEB, reason=_reason(form), pattern=_pattern(form, kind))
        following = await _following(desk, approval)
        await _answered(desk, approval, reply, form)
    except PorticoError as error:
        return await _again(request, desk, approval, error)
    return done(following, str(kind))


async def edit(request: Request) -> Response:
    """Yes, but with other arguments."""
    desk, approval, form = desk_of(request), approval_of(request), await form_of(request)
    typed = form.maybe("arguments", most=_MOST_JSON) or ""
    try:
        reply = Reply(kind=AnswerKind.ONCE, via=Via.WEB, arguments=written(typed))
        following = await _following(desk, approval)
        await _answered(desk, approval, reply, form)
    except PorticoError as error:
        return await _again(request, desk, approval, error, typed=typed)
    return done(following, "edited")


async def resolve(request: Request) -> Response:
    desk, approval, form = desk_of(request), approval_of(request), await form_of(request)
    gateway = desk.house.gateway
    try:
        outcome = resolution(form.maybe("outcome", most=20) or "")
        following = await _following(desk, approval)
        await gateway.approvals.resolve_approval(desk.caller, approval, outcome)
    except PorticoError as error:
        return await _again(request, desk, approval, error)
    return done(following, str(outcome))


async def withdraw(request: Request) -> Response:
    desk, approval = desk_of(request), approval_of(request)
    following = await _following(desk, approval)
    await desk.house.gateway.approvals.withdraw_approval(desk.caller, approval)
    return done(following, "withdrawn")


def _reason(form: Form) -> str | None:
    """Raises `BadForm`."""
    reason = form.maybe("reason", most=500)
    if reason is not None and not reason.isprintable():
        raise BadForm("reason", "must be plain text on one line")
    return reason


def _pattern(form: Form, kind: AnswerKind) -> str | None:
    return form.maybe("pattern", most=200) if kind is AnswerKind.ALWAYS else None


async def _answered(desk: Desk, approval: ApprovalId, reply: Reply, form: Form) -> None:
    asked: JsonObject = {
        "approval": str(approval),
        "answer": str(reply.kind),
        "reason": reply.reason,
        "pattern": reply.pattern,
        "arguments": reply.arguments,
    }

    async def action() -> Answer:
        answer_approval = desk.house.gateway.approvals.answer_approval
        return Answer({"id": str((await answer_approval(desk.caller, approval, reply)).id)})

    await desk.house.use.do_once(desk.caller, Ask("web.approvals.answer", asked, form.once), action)


async def _following(desk: Desk, approval: ApprovalId) -> str:
    """Where to look once this one is answered: at the next that waits."""
    try:
        listed = await queue(desk, Show.WAITING)
    except PorticoError:
        return "/inbox"
    after = listed.after(str(approval))
    return "/inbox" if after is None else f"/inbox/{after}"


async def _again(
    request: Request,
    desk: Desk,
    approval: ApprovalId,
    problem: PorticoError,
    *,
    typed: str | None = None,
) -> Response:
    """The same page, with what was wrong and what was typed."""
    listed = await queue_of(desk, request, approval)
    return await _drawn(request, desk, listed, approval, problem=problem, typed=typed)


async def _drawn(  # noqa: PLR0913 # each is a part of the page
    request: Request,
    desk: Desk,
    listed: Queue,
    approval: ApprovalId | None,
    *,
    in_list: bool = False,
    problem: PorticoError | None = None,
    typed: str | None = None,
) -> Response:
    """`in_list`: what is open is only beside the list, where there is room for both."""
    detail = await _detail(desk, approval, problem=problem, typed=typed)
    said = _SAID.get(request.query_params.get("done", ""))
    one = approval is not None and not in_list
    values = {**detail, "queue": listed, "one": one, "said": said}
    status = 200 if problem is None else status_of(problem)
    return await page(request, "inbox/page.html", values, title="Approvals", status=status)


async def _detail(
    desk: Desk,
    approval: ApprovalId | None,
    *,
    problem: PorticoError | None = None,
    typed: str | None = None,
) -> dict[str, Any]:
    asked = None if approval is None else await opened(desk, approval)
    return {"asked": asked, "problem": problem, "typed": typed}


routes: Final = [
    Route("/inbox", show, methods=["GET"]),
    Route("/inbox/list", show_list, methods=["GET"]),
    Route("/inbox/{approval}", show_one, methods=["GET"]),
    Route("/inbox/{approval}/part", show_part, methods=["GET"]),
    Route("/inbox/{approval}/arguments", show_arguments, methods=["GET"]),
    Route("/inbox/{approval}/why", show_why, methods=["GET"]),
    Route("/inbox/{approval}/answer", answer, methods=["POST"]),
    Route("/inbox/{approval}/edit", edit, methods=["POST"]),
    Route("/inbox/{approval}/resolve", resolve, methods=["POST"]),
    Route("/inbox/{approval}/withdraw", withdraw, methods=["POST"]),
]
