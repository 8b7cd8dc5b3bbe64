"""The audit log over REST: read, export, check."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, JsonValue
from starlette.responses import StreamingResponse

from portico.engine.core.errors import InvalidCursor
from portico.guard.audit import AuditFilter, ChainedEntry, Progress
from portico.guard.core.audit import Link, Verdict, link_line, verdict_json
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Limit,
    Moment,
    OneLine,
    Page,
    opaque,
    position,
    wire,
)
from portico.interfaces.http.use_cases import Use
from portico.kernel.ids import PrincipalId

_LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}
_LARGEST: Final = 2**63 - 1


class EntryOut(BaseModel, title="EntryOut"):
    number: int
    at: datetime | None
    by: str | None
    """The id of whoever did it."""
    act: JsonValue
    """What was done: action, subject, rule, reason and facts, without any value of an argument."""
    hash: str


class HeadOut(BaseModel, title="HeadOut"):
    space: str
    number: int
    """Of the last entry; 0 if there is none yet."""
    hash: str


router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("", name="read_audit", responses=documented())
async def read_audit(  # noqa: PLR0913 # one a filter
    use: Use,
    caller: Caller,
    *,
    action: Annotated[OneLine | None, Query(max_length=100, examples=["key.*"])] = None,
    subject: Annotated[OneLine | None, Query(max_length=300)] = None,
    principal: Annotated[str | None, Query(pattern="^prn_[0-7][0-9a-hjkmnp-tv-z]{25}$")] = None,
    since: Moment | None = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[EntryOut]:
    """Newest first; `action` and `subject` may have wildcards. What is seldom may take several
    pages, some of them with nothing on them."""
    wanted = AuditFilter(
        action=action,
        subject=subject,
        principal=None if principal is None else PrincipalId.parse(principal),
        since=since,
    )
    page = await use.read_audit(caller, wanted, onward=_number(position(after)), limit=limit)
    data = [_entry(found) for found in page.found]
    return Page(data=data, next=None if page.onward is None else opaque(str(page.onward)))


@router.get("/head", name="show_audit_head", responses=documented())
async def show_audit_head(use: Use, caller: Caller) -> HeadOut:
    """How far it goes: kept elsewhere, it shows later whether the end was cut off."""
    head = await use.show_audit_head(caller)
    return HeadOut(space=str(caller.space), number=head.number, hash=head.hash.hex())


@router.get(
    "/export",
    name="export_audit",
    response_class=StreamingResponse,
    responses={**documented(), **_LINES},
)
async def export_audit(use: Use, caller: Caller) -> StreamingResponse:
    """All of it, oldest first, a line each: `portico audit verify --file` checks it anywhere."""
    pieces = await use.export_audit(caller)
    return StreamingResponse(_exported(pieces), media_type="application/x-ndjson")


@router.get(
    "/verify",
    name="verify_audit",
    response_class=StreamingResponse,
    responses={**documented(), **_LINES},
)
async def verify_audit(use: Use, caller: Caller) -> StreamingResponse:
    """How far it has got, a line each time, and last the verdict."""
    steps = await use.verify_audit(caller)
    return StreamingResponse(_verified(steps), media_type="application/x-ndjson")


async def _exported(pieces: AsyncGenerator[Sequence[Link], None]) -> AsyncIterator[str]:
    async with aclosing(pieces):
        async for links in pieces:
            yield "".join(map(link_line, links))


async def _verified(steps: AsyncGenerator[Progress | Verdict, None]) -> AsyncIterator[str]:
    async with aclosing(steps):
        async for step in steps:
            match step:
                case Progress(checked, of):
                    told: dict[str, JsonValue] = {"checked": checked, "of": of}
                case Verdict():
                    told = {"verdict": wire(verdict_json(step))}
            yield json.dumps(told) + "\n"


def _entry(found: ChainedEntry) -> EntryOut:
    at, by = found.entry.get("at"), found.entry.get("by")
    return EntryOut(
        number=found.link.number,
        at=_moment(at),
        by=_principal(by),
        act=wire(found.entry.get("act")),
        hash=found.link.hash.hex(),
    )


def _moment(told: object) -> datetime | None:
    """None where somebody has written something else: it is still shown."""
    try:
        return datetime.fromisoformat(str(told))
    except ValueError:
        return None


def _principal(told: object) -> str | None:
    try:
        return str(PrincipalId(UUID(str(told))))
    except ValueError:
        return None


def _number(text: str | None) -> int | None:
    """Raises `InvalidCursor`."""
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or not 0 < int(text) <= _LARGEST:
        raise InvalidCursor
    return int(text)
