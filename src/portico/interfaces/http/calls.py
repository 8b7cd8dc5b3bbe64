"""Calls of tools over REST: make one, read on in a long result, list."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import JSONResponse

from portico.engine.core.errors import InvalidCursor
from portico.gateway.core.calls import Call, Called, CallOutcome, ResultId, Verb
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.reserved_metadata import age_ms
from portico.guard.core.errors import ApprovalPending
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    Limit,
    OneLine,
    Page,
    next_cursor,
    position,
    wire,
    wire_object,
)
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.effect import Effect

ResultIdPath = Annotated[str, Path(pattern="^res_[0-7][0-9a-hjkmnp-tv-z]{25}$")]


class CallIn(Body, title="CallIn"):
    tool: Annotated[OneLine, Field(max_length=300)]
    """`server.tool`"""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    call_with: Verb | None = None
    """Refused if the tool's effect is another; left away: whatever it is."""


class AnswerOut(BaseModel, title="AnswerOut"):
    call: str
    failed: bool
    """The tool ran, and says that it failed."""
    content: list[dict[str, JsonValue]]
    structured: JsonValue
    result: str | None
    """Where the whole of it is kept, if `content` is only its beginning."""
    age_ms: int | None
    """How old it is, if it was read ahead."""


class PendingOut(BaseModel, title="PendingOut"):
    status: Literal["approval_pending"] = "approval_pending"
    approval: str
    tool: str
    expires_at: datetime
    detail: str
    fix: str | None


class ResultOut(BaseModel, title="ResultOut"):
    text: str
    page: int
    pages: int


class CallOut(BaseModel, title="CallOut"):
    id: str
    tool: str
    principal: str
    effect: Effect
    outcome: CallOutcome | None
    """None while it is under way."""
    started_at: datetime
    took_ms: float | None
    arguments: JsonValue
    """Without secrets, and cut where they were long."""
    error: str | None
    bytes_out: int


router = APIRouter(tags=["calls"])


@router.post(
    "/calls",
    name="call_tool",
    response_model=AnswerOut,
    responses={
        **documented(404, 429),
        202: {"model": PendingOut, "description": "Waits for approval."},
    },
)
async def call_tool(gateway: Gateway, caller: Caller, body: CallIn) -> AnswerOut | JSONResponse:
    """Call a tool. Never made a second time by us, unless it only reads.

    What somebody has to approve is answered with 202 if nobody does so at once: it is made when
    they have, and made again, the same call gives what it gave."""
    try:
        called = await gateway.call_tool(
            caller, ToolRef.parse(body.tool), body.arguments, verb=body.call_with
        )
    except ApprovalPending as pending:
        return _pending(pending)
    return answer_out(called)


def _pending(pending: ApprovalPending) -> JSONResponse:
    told = PendingOut(
        approval=pending.approval,
        tool=pending.tool,
        expires_at=pending.expires_at,
        detail=str(pending),
        fix=pending.fix,
    )
    headers = {"Location": f"/api/v1/approvals/{pending.approval}"}
    return JSONResponse(told.model_dump(mode="json"), 202, headers=headers)


def answer_out(called: Called) -> AnswerOut:
    return AnswerOut(
        call=str(called.call),
        failed=called.answer.failed,
        content=[wire_object(block) for block in called.answer.content],
        structured=wire(called.answer.structured),
        result=None if called.stored is None else str(called.stored),
        age_ms=age_ms(called.answer),
    )


@router.get("/results/{result}", name="read_result", responses=documented(404))
async def read_result(
    gateway: Gateway, caller: Caller, result: ResultIdPath, *, page: Annotated[int, Query(ge=1)] = 1
) -> ResultOut:
    """A page of an answer that was too long."""
    found = await gateway.read_result(caller, ResultId.parse(result), page=page)
    return ResultOut(text=found.text, page=found.page, pages=found.pages)


@router.get("/calls", name="list_calls", responses=documented())
async def list_calls(
    gateway: Gateway,
    caller: Caller,
    *,
    tool: Annotated[OneLine | None, Query(max_length=300)] = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[CallOut]:
    """Newest first."""
    ref = None if tool is None else ToolRef.parse(tool)
    found = await gateway.list_calls(caller, ref=ref, before=_moment(position(after)), limit=limit)
    data = [_call(call) for call in found]
    last = found[-1].started_at.astimezone(UTC).isoformat() if found else ""
    return Page(data=data, next=next_cursor(data, limit, last))


def _moment(text: str | None) -> datetime | None:
    """Raises `InvalidCursor`."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidCursor from error
    if moment.tzinfo is None:
        raise InvalidCursor
    return moment


def _call(call: Call) -> CallOut:
    return CallOut(
        id=str(call.id),
        tool=str(call.ref),
        principal=str(call.principal),
        effect=call.effect,
        outcome=call.outcome,
        started_at=call.started_at,
        took_ms=None if call.took is None else round(call.took.total_seconds() * 1000, 3),
        arguments=wire(call.arguments),
        error=call.error,
        bytes_out=call.bytes_out,
    )
