"""Audit: what was done and decided, and whether it is what was written."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from portico.engine.core.errors import BadCursor
from portico.guard.audit import Wanted
from portico.guard.core.audit import Link, Verdict, link_line
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page
from portico.interfaces.console.screens.audit.entries import Checked, checked, head_text, line
from portico.interfaces.http.paging import opaque, position
from portico.kernel.ids import BadId, PrincipalId

_MOST: Final = 50
_LARGEST: Final = 2**63 - 1
_PEOPLE: Final = 200
_KINDS: Final = (
    ("", "All"),
    ("call.", "Calls"),
    ("approval.", "Approvals"),
    ("policy.", "Policy"),
    ("key.", "Keys"),
    ("session.", "Sessions"),
    ("principal.", "People"),
    ("server.", "Servers"),
    ("tool.", "Tools"),
    ("workflow.", "Workflows"),
    ("agent.", "Agents"),
    ("debate.", "Debates"),
    ("secret.", "Secrets"),
)


async def show(request: Request) -> Response:
    return await _drawn(request, desk_of(request))


async def verify(request: Request) -> Response:
    """To its end: what it came to is shown, and is an entry itself."""
    desk = desk_of(request)
    steps = await desk.house.use.verify_audit(desk.caller)
    verdict: Verdict | None = None
    async with aclosing(steps):
        async for step in steps:
            verdict = step if isinstance(step, Verdict) else verdict
    return await _drawn(request, desk, None if verdict is None else checked(verdict))


async def export(request: Request) -> Response:
    """All of it, oldest first, a line each: `portico audit verify --file` checks it anywhere."""
    desk = desk_of(request)
    pieces = await desk.house.use.export_audit(desk.caller)
    return StreamingResponse(
        _lines(pieces),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": 'attachment; filename="portico-audit.ndjson"'},
    )


async def _lines(pieces: AsyncGenerator[Sequence[Link], None]) -> AsyncIterator[str]:
    async with aclosing(pieces):
        async for links in pieces:
            yield "".join(map(link_line, links))


async def _drawn(request: Request, desk: Desk, result: Checked | None = None) -> Response:
    use, caller, query = desk.house.use, desk.caller, request.query_params
    action, who = query.get("action", "").strip()[:100], query.get("who", "").strip()[:40]
    people = await _people(desk)
    wanted = Wanted(action=_beginning(action), principal=_principal(who))
    after = _number(position(query.get("after")))
    found = await use.read_audit(caller, wanted, onward=after, limit=_MOST)
    head = await use.show_audit_head(caller)
    older = None if found.onward is None else opaque(str(found.onward))
    values = {
        "lines": [line(each) for each in found.found],
        "head": head,
        "head_text": head_text(head),
        "action": action,
        "who": who,
        "kinds": [(_address(prefix, who), name, prefix == action) for prefix, name in _KINDS],
        "people": people,
        "older": None if older is None else _address(action, who, older),
        "newest": _address(action, who) if after is not None else None,
        "result": result,
    }
    return await page(request, "audit/page.html", values, title="Audit")


def _beginning(action: str) -> str | None:
    """What an action begins with; whoever writes wildcards means them."""
    if not action:
        return None
    return action if set("*?") & set(action) else f"{action}*"


def _principal(text: str) -> PrincipalId | None:
    try:
        return PrincipalId.parse(text) if text else None
    except BadId:
        return None


async def _people(desk: Desk) -> list[tuple[str, str]]:
    if not desk.caller.may(Scope.PRINCIPALS_READ):
        return []
    found = await desk.house.use.list_principals(desk.caller, after=None, limit=_PEOPLE)
    return [(str(each.id), f"{each.name} ({each.kind})") for each in found]


def _address(action: str, who: str, after: str | None = None) -> str:
    given = {"action": action, "who": who, "after": after or ""}
    told = urlencode({name: value for name, value in given.items() if value})
    return f"/audit?{told}" if told else "/audit"


def _number(text: str | None) -> int | None:
    """Raises `BadCursor`."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) <= _LARGEST:
        raise BadCursor
    return int(text)


routes: Final = [
    Route("/audit", show, methods=["GET"]),
    Route("/audit/verify", verify, methods=["POST"]),
    Route("/audit/export", export, methods=["GET"]),
]
