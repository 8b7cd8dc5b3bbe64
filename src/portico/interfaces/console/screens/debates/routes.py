"""Debates: which there are, and one with all that was said in it."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from portico.debate.core.debates import DebateId, DebateStatus
from portico.debate.core.replay import log_text
from portico.engine.core.errors import BadCursor
from portico.interfaces.console.desk import desk_of
from portico.interfaces.console.page import page, part
from portico.interfaces.console.screens.debates import acts, replay, seat, start
from portico.interfaces.console.screens.debates.look import board_values, debate_at, drawn
from portico.interfaces.console.screens.debates.rows import CHIPS, debate_rows
from portico.interfaces.console.screens.debates.seat import seat_of
from portico.interfaces.http.paging import next_cursor, position
from portico.kernel.ids import BadId

_AT_ONCE: Final = 30


async def show_all(request: Request) -> Response:
    values = await _listed(request)
    return await page(request, "debates/page.html", values, title="Debates")


async def show_list(request: Request) -> Response:
    """The list anew."""
    return part(request, "debates/_list.html", await _listed(request))


async def show(request: Request) -> Response:
    desk, which = desk_of(request), debate_at(request)
    return await drawn(request, desk, which, more={"seat": await seat_of(desk, which)})


async def show_board(request: Request) -> Response:
    values = await board_values(desk_of(request), debate_at(request))
    return part(request, "debates/_board.html", values)


async def show_log(request: Request) -> Response:
    """The whole of it, as a text."""
    desk = desk_of(request)
    whole = await desk.house.debates.look.one(desk.caller, debate_at(request))
    text = log_text(whole).encode(errors="backslashreplace").decode()
    return PlainTextResponse(text)


async def _listed(request: Request) -> dict[str, Any]:
    desk, asked = desk_of(request), request.query_params
    state, words = asked.get("state", ""), asked.get("q", "").strip()[:200]
    status = DebateStatus(state) if state in CHIPS and state else None
    found = await desk.house.debates.look.page(
        desk.caller,
        project=asked.get("project") or None,
        status=status,
        words=words or None,
        after=_after(asked.get("after")),
        limit=_AT_ONCE,
    )
    return {
        "debates": debate_rows(found),
        "running": " ".join(str(each.id) for each in found if not each.status.over),
        "chips": CHIPS,
        "state": state if status else "",
        "words": words,
        "project": asked.get("project", "")[:100],
        "following": next_cursor(found, _AT_ONCE, str(found[-1].id) if found else ""),
        "query": request.url.query,
    }


def _after(cursor: str | None) -> DebateId | None:
    try:
        last = position(cursor)
        return None if last is None else DebateId.parse(last)
    except (BadCursor, BadId):
        return None


routes: Final = [
    Route("/debates", show_all, methods=["GET"]),
    Route("/debates/list", show_list, methods=["GET"]),
    *start.routes,
    Route("/debates/{debate}", show, methods=["GET"]),
    Route("/debates/{debate}/board", show_board, methods=["GET"]),
    Route("/debates/{debate}/log", show_log, methods=["GET"]),
    *acts.routes,
    *replay.routes,
    *seat.routes,
]
