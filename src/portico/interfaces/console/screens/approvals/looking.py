"""What the pages of requests are drawn from: the list, and the one that is open."""

from typing import Final

from starlette.requests import Request

from portico.engine.core.errors import BadCursor
from portico.guard.core.approvals import Approval, Status
from portico.guard.core.errors import ApprovalNotFound
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.interfaces.console.screens.approvals.queue import (
    EMPTY,
    STATUSES,
    Queue,
    Show,
    address,
    chips,
    ordered,
    row,
    show_of,
)
from portico.interfaces.console.screens.approvals.request_view import Asked, asked
from portico.interfaces.console.screens.approvals.standing import uncertain
from portico.interfaces.http.paging import next_cursor, position
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, BadId

PLACE: Final = "inbox"
_MOST: Final = 25
_LOOKED_THROUGH: Final = 100
"""Approved ones, for those of which nobody knows whether they were made."""


def approval_of(request: Request) -> ApprovalId:
    """Raises `ApprovalNotFound`."""
    text = str(request.path_params["approval"])
    try:
        return ApprovalId.parse(text)
    except BadId as error:
        raise ApprovalNotFound(text[:40]) from error


async def queue_of(desk: Desk, request: Request, marked: ApprovalId | None) -> Queue:
    """Raises `NotPermitted`, `BadCursor`."""
    show, after = show_of(request.query_params.get("show")), request.query_params.get("after")
    return await queue(desk, show, after, marked)


async def queue(
    desk: Desk, show: Show, after: str | None = None, marked: ApprovalId | None = None
) -> Queue:
    """Where none is marked, the first is."""
    found = await desk.house.gateway.approvals.list_approvals(
        desk.at(PLACE), statuses=STATUSES[show], before=_before(after), limit=_MOST
    )
    unsure = await _unsure(desk) if show is Show.WAITING and after is None else []
    cursor = next_cursor(found, _MOST, str(found[-1].id) if found else "")
    listed = ordered(found, desk.now)
    marked = marked or next((each.id for each in (*unsure, *listed)), None)
    open_one = None if marked is None else str(marked)
    return Queue(
        show=show,
        unsure=[row(each, show, desk.now, marked) for each in unsure],
        rows=[row(each, show, desk.now, marked) for each in listed],
        chips=chips(show),
        older=None if cursor is None else address("/inbox", show, cursor),
        part=address("/inbox/list", show, after, open_one),
        empty=EMPTY[show],
    )


async def _unsure(desk: Desk) -> list[Approval]:
    """To whoever could say what became of them."""
    if not desk.caller.may(Scope.APPROVALS_ANSWER):
        return []
    found = await desk.house.gateway.approvals.list_approvals(
        desk.at(PLACE), statuses=[Status.APPROVED], limit=_LOOKED_THROUGH
    )
    return [each for each in found if uncertain(each)]


async def opened(desk: Desk, approval: ApprovalId) -> Asked:
    """Raises `ApprovalNotFound`."""
    look = desk.house.gateway.approvals.show_approval
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
    except BadId:
        return None


def _before(after: str | None) -> ApprovalId | None:
    """Raises `BadCursor`."""
    start = position(after)
    try:
        return None if start is None else ApprovalId.parse(start)
    except BadId as error:
        raise BadCursor from error
