"""Approvals: what waits for an answer, and giving one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.engine.core.errors import InvalidCursor
from portico.engine.core.idempotency import StoredResponse
from portico.engine.idempotency import WriteRequest
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Approval, Status, Via, answer_kind, resolution
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.console.forms import Form, InvalidForm, form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.approval_view import (
    Badge,
    RequestView,
    asked,
    effect_badge,
    first_risk,
    kind_of,
    one_line,
    seen,
    soon,
    state_badge,
    uncertain,
    whom,
    why,
)
from portico.interfaces.http.problems import status_of
from portico.interfaces.http.shapes import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, InvalidId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label


def written(text: str) -> JsonObject:
    """What somebody has typed as arguments. Raises `InvalidForm`."""
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, letter {error.colno}: {error.msg}"
        raise InvalidForm("arguments", f"is not JSON: {where}") from error
    except RecursionError as error:
        raise InvalidForm("arguments", "is nested too deep") from error
    except ValueError as error:  # of our own two hooks
        raise InvalidForm("arguments", str(error)) from error
    if not isinstance(value, dict):
        raise InvalidForm("arguments", "must be an object: { … }")
    return value


def _each_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Of two of the same name one would be dropped unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, _ in pairs if [each for each, _ in pairs].count(name) > 1)
        raise ValueError(f"names {twice[:40]!r} twice")
    return found


def _no_number(name: str) -> JsonValue:
    raise ValueError(f"holds {name}, which is no number of JSON")


_SHORT: Final = 90


class Show(StrEnum):
    WAITING = "waiting"
    ANSWERED = "answered"
    EXPIRED = "expired"
    ALL = "all"


STATUSES: Final[Mapping[Show, Sequence[Status]]] = {
    Show.WAITING: (Status.WAITING,),
    Show.ANSWERED: (Status.APPROVED, Status.REJECTED, Status.REPLACED),
    Show.EXPIRED: (Status.EXPIRED, Status.WITHDRAWN),
    Show.ALL: (),
}
EMPTY: Final[Mapping[Show, tuple[str, str]]] = {
    Show.WAITING: (
        "Nothing waits for you.",
        "What an agent may not do by itself comes here, and you say yes or no.",
    ),
    Show.ANSWERED: ("Nothing was answered yet.", "What people have said yes or no to stays here."),
    Show.EXPIRED: ("Nothing has expired.", "What nobody answered in time would be here."),
    Show.ALL: ("There are no requests yet.", "Agents ask when a rule or a default says so."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    path: str
    tool: str
    kind: str
    requester: str
    asker_kind: str
    effect: Badge
    state: Badge
    label: Label
    asked_at: datetime
    expires_at: datetime | None
    """Of one that waits."""
    risk: str | None
    """The first of what to look at."""
    marked: bool


@dataclass(frozen=True, slots=True)
class Chip:
    name: str
    path: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQueue:
    show: Show
    unsure: Sequence[Row]
    """Of which nobody knows whether they were made."""
    rows: Sequence[Row]
    chips: Sequence[Chip]
    older: str | None
    """Where the next page is."""
    part: str
    """Where this list is asked for again."""
    empty: tuple[str, str]

    @property
    def first(self) -> str | None:
        return next((row.id for row in (*self.unsure, *self.rows)), None)

    def after(self, approval: str) -> str | None:
        """What is opened once this one is answered."""
        ids = [row.id for row in (*self.unsure, *self.rows)]
        if approval not in ids:
            return self.first
        at = ids.index(approval)
        return next(iter([*ids[at + 1 :], *reversed(ids[:at])]), None)


def show_of(text: str | None) -> Show:
    return Show(text) if text in set(Show) else Show.WAITING


def ordered(found: Sequence[Approval], now: datetime) -> Sequence[Approval]:
    """As they come, newest first, but for those that end soon."""
    return sorted(found, key=lambda each: (not soon(each, now), _until(each, now)))


def _until(approval: Approval, now: datetime) -> float:
    """Of those that end soon, the first to end first; the others stay where they are."""
    return approval.expires_at.timestamp() if soon(approval, now) else 0.0


def chips(show: Show) -> Sequence[Chip]:
    names = {
        Show.WAITING: "Waiting",
        Show.ANSWERED: "Answered",
        Show.EXPIRED: "Expired",
        Show.ALL: "All",
    }
    return [Chip(name, address("/inbox", each), each is show) for each, name in names.items()]


def address(path: str, show: Show, after: str | None = None, marked: str | None = None) -> str:
    """With what is not as it is anyway."""
    told = {
        "show": None if show is Show.WAITING else str(show),
        "after": after,
        "marked": marked,
    }
    given = {name: value for name, value in told.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def row(approval: Approval, show: Show, now: datetime, marked: ApprovalId | None) -> Row:
    waits = approval.status_at(now) is Status.WAITING
    risk = first_risk(approval.arguments, approval.marks)
    return Row(
        id=str(approval.id),
        path=address(f"/inbox/{approval.id}", show),
        tool=seen(approval.tool),
        kind=kind_of(approval),
        requester=seen(approval.requester.name),
        asker_kind=str(approval.requester.kind),
        effect=effect_badge(approval.effect),
        state=state_badge(approval, now),
        label=approval.label,
        asked_at=approval.asked_at,
        expires_at=approval.expires_at if waits else None,
        risk=None if risk is None else one_line(f"{risk.name}: {risk.value}", _SHORT),
        marked=approval.id == marked,
    )


PLACE: Final = "inbox"
_MOST: Final = 25
_LOOKED_THROUGH: Final = 100
"""Approved ones, for those of which nobody knows whether they were made."""


def approval_of(request: Request) -> ApprovalId:
    """Raises `ApprovalNotFound`."""
    text = str(request.path_params["approval"])
    try:
        return ApprovalId.parse(text)
    except InvalidId as error:
        raise ApprovalNotFound(text[:40]) from error


async def queue_of(desk: PageContext, request: Request, marked: ApprovalId | None) -> ApprovalQueue:
    """Raises `NotPermitted`, `InvalidCursor`."""
    show, after = show_of(request.query_params.get("show")), request.query_params.get("after")
    return await queue(desk, show, after, marked)


async def queue(
    desk: PageContext, show: Show, after: str | None = None, marked: ApprovalId | None = None
) -> ApprovalQueue:
    """Where none is marked, the first is."""
    found = await desk.services.gateway.approvals.list_approvals(
        desk.at(PLACE), statuses=STATUSES[show], before=_before(after), limit=_MOST
    )
    unsure = await _unsure(desk) if show is Show.WAITING and after is None else []
    cursor = next_cursor(found, _MOST, str(found[-1].id) if found else "")
    listed = ordered(found, desk.now)
    marked = marked or next((each.id for each in (*unsure, *listed)), None)
    open_one = None if marked is None else str(marked)
    return ApprovalQueue(
        show=show,
        unsure=[row(each, show, desk.now, marked) for each in unsure],
        rows=[row(each, show, desk.now, marked) for each in listed],
        chips=chips(show),
        older=None if cursor is None else address("/inbox", show, cursor),
        part=address("/inbox/list", show, after, open_one),
        empty=EMPTY[show],
    )


async def _unsure(desk: PageContext) -> list[Approval]:
    """To whoever could say what became of them."""
    if not desk.caller.may(Scope.APPROVALS_ANSWER):
        return []
    found = await desk.services.gateway.approvals.list_approvals(
        desk.at(PLACE), statuses=[Status.APPROVED], limit=_LOOKED_THROUGH
    )
    return [each for each in found if uncertain(each)]


async def opened(desk: PageContext, approval: ApprovalId) -> RequestView:
    """Raises `ApprovalNotFound`."""
    look = desk.services.gateway.approvals.show_approval
    found = await look(desk.at(PLACE), approval)
    replaced: Approval | None = None
    if found.replaces is not None:
        try:
            replaced = await look(desk.at(PLACE), found.replaces)
        except PorticoError:
            replaced = None  # it is shown without what it was
    return asked(found, desk.caller, desk.now, replaced)


def marked_of(request: Request) -> ApprovalId | None:
    try:
        return ApprovalId.parse(request.query_params.get("marked", ""))
    except InvalidId:
        return None


def _before(after: str | None) -> ApprovalId | None:
    """Raises `InvalidCursor`."""
    start = position(after)
    try:
        return None if start is None else ApprovalId.parse(start)
    except InvalidId as error:
        raise InvalidCursor from error


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
    desk = page_context(request)
    listed = await queue_of(desk, request, None)
    first = None if listed.first is None else ApprovalId.parse(listed.first)
    return await _drawn(request, desk, listed, first, in_list=True)


async def show_one(request: Request) -> Response:
    desk, approval = page_context(request), approval_of(request)
    return await _drawn(request, desk, await queue_of(desk, request, approval), approval)


async def show_list(request: Request) -> Response:
    listed = await queue_of(page_context(request), request, marked_of(request))
    return part(request, "inbox/_list.html", {"queue": listed})


async def show_part(request: Request) -> Response:
    desk, approval = page_context(request), approval_of(request)
    return part(request, "inbox/_detail.html", await _detail(desk, approval))


async def show_arguments(request: Request) -> Response:
    """All of them, as text."""
    desk = page_context(request)
    found = await opened(desk, approval_of(request))
    return PlainTextResponse(found.json.encode(errors="replace"))


async def show_why(request: Request) -> Response:
    """Raises `ApprovalNotFound`."""
    desk, gateway = page_context(request), page_context(request).services.gateway
    found = await gateway.approvals.show_approval(desk.at(PLACE), approval_of(request))
    try:
        told = why(await gateway.policy.explain(desk.caller, whom(found), found.tool))
    except PorticoError as problem:
        return part(request, "inbox/_why.html", {"why": None, "problem": problem})
    return part(request, "inbox/_why.html", {"why": told, "problem": None})


async def answer(request: Request) -> Response:
    desk, approval, form = page_context(request), approval_of(request), await form_of(request)
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
    desk, approval, form = page_context(request), approval_of(request), await form_of(request)
    typed = form.maybe("arguments", most=_MOST_JSON) or ""
    try:
        reply = Reply(kind=AnswerKind.ONCE, via=Via.WEB, arguments=written(typed))
        following = await _following(desk, approval)
        await _answered(desk, approval, reply, form)
    except PorticoError as error:
        return await _again(request, desk, approval, error, typed=typed)
    return done(following, "edited")


async def resolve(request: Request) -> Response:
    desk, approval, form = page_context(request), approval_of(request), await form_of(request)
    gateway = desk.services.gateway
    try:
        outcome = resolution(form.maybe("outcome", most=20) or "")
        following = await _following(desk, approval)
        await gateway.approvals.resolve_approval(desk.caller, approval, outcome)
    except PorticoError as error:
        return await _again(request, desk, approval, error)
    return done(following, str(outcome))


async def withdraw(request: Request) -> Response:
    desk, approval = page_context(request), approval_of(request)
    following = await _following(desk, approval)
    await desk.services.gateway.approvals.withdraw_approval(desk.caller, approval)
    return done(following, "withdrawn")


def _reason(form: Form) -> str | None:
    """Raises `InvalidForm`."""
    reason = form.maybe("reason", most=500)
    if reason is not None and not reason.isprintable():
        raise InvalidForm("reason", "must be plain text on one line")
    return reason


def _pattern(form: Form, kind: AnswerKind) -> str | None:
    return form.maybe("pattern", most=200) if kind is AnswerKind.ALWAYS else None


async def _answered(desk: PageContext, approval: ApprovalId, reply: Reply, form: Form) -> None:
    asked: JsonObject = {
        "approval": str(approval),
        "answer": str(reply.kind),
        "reason": reply.reason,
        "pattern": reply.pattern,
        "arguments": reply.arguments,
    }

    async def action() -> StoredResponse:
        answer_approval = desk.services.gateway.approvals.answer_approval
        return StoredResponse({"id": str((await answer_approval(desk.caller, approval, reply)).id)})

    await desk.services.use.do_once(
        desk.caller, WriteRequest("web.approvals.answer", asked, form.once), action
    )


async def _following(desk: PageContext, approval: ApprovalId) -> str:
    """Where to look once this one is answered: at the next that waits."""
    try:
        listed = await queue(desk, Show.WAITING)
    except PorticoError:
        return "/inbox"
    after = listed.after(str(approval))
    return "/inbox" if after is None else f"/inbox/{after}"


async def _again(
    request: Request,
    desk: PageContext,
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
    desk: PageContext,
    listed: ApprovalQueue,
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
    desk: PageContext,
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
