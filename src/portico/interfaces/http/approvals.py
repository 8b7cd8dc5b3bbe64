"""Approvals over REST: list, answer, say what became of one."""

from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import Response

from portico.engine.core.errors import InvalidCursor
from portico.engine.core.idempotency import StoredResponse
from portico.guard.approvals import Reply
from portico.guard.core.approvals import (
    Answered,
    AnswerKind,
    Approval,
    Outcome,
    Resolution,
    Status,
    Via,
)
from portico.guard.core.policy import Danger
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.calls import AnswerOut, answer_out
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Body,
    Limit,
    OneLine,
    Page,
    Wildcard,
    next_cursor,
    position,
    wire_object,
)
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, InvalidId
from portico.kernel.principal import PrincipalKind
from portico.workflows.core.plan_progress import step_asked

APPROVAL_ID: Final = "^apr_[0-7][0-9a-hjkmnp-tv-z]{25}$"
ApprovalIdPath = Annotated[str, Path(pattern=APPROVAL_ID)]


class AnswerIn(Body, title="AnswerIn"):
    answer: AnswerKind
    """`once`; `run`: also whatever else this tool is asked for in the same task, for some hours;
    `always`: by a rule, from now on; `reject`. Nothing else approves."""
    reason: Annotated[OneLine, Field(max_length=500)] | None = None
    pattern: Wildcard | None = None
    """With `always`: the tools that it is for; the one that was asked for, if left away."""
    arguments: dict[str, JsonValue] | None = None
    """Approve it with these instead, all of them: it is another request then."""
    via: Literal[Via.REST, Via.CLI] = Via.REST


class ResolveIn(Body, title="ResolveIn"):
    outcome: Resolution
    """What you have found: it was `done`, it shall be tried again (`retry`), or not (`skip`)."""


class AskerOut(BaseModel, title="AskerOut"):
    id: str
    name: str
    kind: PrincipalKind
    key: str | None
    """The id of the key that it came with."""


class MarkOut(BaseModel, title="MarkOut"):
    pointer: str
    """Into `arguments` (RFC 6901)."""
    why: Danger


class GivenOut(BaseModel, title="GivenOut"):
    answer: AnswerKind
    by: str
    by_name: str
    via: Via
    at: datetime
    reason: str | None
    rule: str | None
    """The rule that it made, which can be removed."""


class ApprovalOut(BaseModel, title="ApprovalOut"):
    id: str
    status: Status
    question: str
    tool: str
    server: str
    effect: Effect
    asker: AskerOut
    arguments: dict[str, JsonValue]
    """Without secrets."""
    marks: list[MarkOut]
    """What to look at first."""
    before: list[dict[str, JsonValue]]
    """The last calls of the same task, newest first."""
    rule: str
    reason: str
    label: str
    answers: list[AnswerKind]
    """What may be said to it: where a rule asks, nothing that lasts."""
    tainted: bool
    """The task had read a stranger's words, or something not public."""
    asked_at: datetime
    expires_at: datetime
    run: str
    """Of a step of a workflow or a program, the run that waits for it; of any other call, the one
    that makes it."""
    step: str | None
    """Of that run, which asks."""
    answered: GivenOut | None
    outcome: Outcome | None
    ended_at: datetime | None
    error: str | None
    replaces: str | None
    replaced_by: str | None


class ApprovalDetail(ApprovalOut, title="ApprovalDetail"):
    result: AnswerOut | None
    """What the call gave: to whoever asked for it, and to nobody else."""


router = APIRouter(prefix="/approvals", tags=["approvals"])


@router.get("", name="list_approvals", responses=documented())
async def list_approvals(
    gateway: Gateway,
    caller: Caller,
    *,
    status: Annotated[list[Status] | None, Query(max_length=6)] = None,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> Page[ApprovalOut]:
    """Newest first: all that you may answer, or else your own."""
    found = await gateway.approvals.list_approvals(
        caller, statuses=status or (), before=_position(after), limit=limit
    )
    data = [approval_out(approval) for approval in found]
    return Page(data=data, next=next_cursor(data, limit, data[-1].id if data else ""))


@router.get("/{approval}", name="show_approval", responses=documented(404))
async def show_approval(
    gateway: Gateway, caller: Caller, approval: ApprovalIdPath
) -> ApprovalDetail:
    """One request; to whoever asked, with what came of it."""
    wanted = ApprovalId.parse(approval)
    found = await gateway.approvals.show_approval(caller, wanted)
    shown = approval_out(found)
    called = await gateway.approvals.read_outcome(caller, found)
    result = None if called is None else answer_out(called)
    return ApprovalDetail(**shown.model_dump(), result=result)


@router.post(
    "/{approval}/answer",
    name="answer_approval",
    response_model=ApprovalOut,
    responses=documented(404),
)
async def answer_approval(
    gateway: Gateway, asked: IdempotentCreate, approval: ApprovalIdPath, body: AnswerIn
) -> Response:
    """Say yes or no. Whoever is first counts; everybody after that is told who it was (409)."""
    reply = Reply(
        kind=body.answer,
        via=body.via,
        reason=body.reason,
        pattern=body.pattern,
        arguments=body.arguments,
    )

    async def action() -> StoredResponse:
        answered = await gateway.approvals.answer_approval(
            asked.caller, ApprovalId.parse(approval), reply
        )
        return StoredResponse(approval_out(answered).model_dump(mode="json"))

    return await asked.once("approvals.answer", body, action, status=200)


@router.post(
    "/{approval}/withdraw",
    name="withdraw_approval",
    response_model=ApprovalOut,
    responses=documented(404),
)
async def withdraw_approval(
    gateway: Gateway, asked: IdempotentCreate, approval: ApprovalIdPath
) -> Response:
    """Take back a request of your own that waits."""

    async def action() -> StoredResponse:
        closed = await gateway.approvals.withdraw_approval(asked.caller, ApprovalId.parse(approval))
        return StoredResponse(approval_out(closed).model_dump(mode="json"))

    return await asked.once("approvals.withdraw", None, action, status=200)


@router.post(
    "/{approval}/resolve",
    name="resolve_approval",
    response_model=ApprovalOut,
    responses=documented(404),
)
async def resolve_approval(
    gateway: Gateway, asked: IdempotentCreate, approval: ApprovalIdPath, body: ResolveIn
) -> Response:
    """Say what became of an approved call whose outcome is `uncertain`."""

    async def action() -> StoredResponse:
        resolved = await gateway.approvals.resolve_approval(
            asked.caller, ApprovalId.parse(approval), body.outcome
        )
        return StoredResponse(approval_out(resolved).model_dump(mode="json"))

    return await asked.once("approvals.resolve", body, action, status=200)


def approval_out(approval: Approval) -> ApprovalOut:
    asker, waiter = approval.requester, approval.waiter
    return ApprovalOut(
        id=str(approval.id),
        status=approval.status,
        question=approval.question,
        tool=approval.tool,
        server=approval.server,
        effect=approval.effect,
        asker=AskerOut(id=str(asker.id), name=asker.name, kind=asker.kind, key=asker.key),
        arguments=wire_object(approval.arguments),
        marks=[MarkOut(pointer=mark.pointer, why=mark.why) for mark in approval.marks],
        before=[wire_object(call) for call in approval.before],
        rule=approval.rule,
        reason=approval.reason,
        label=str(approval.label),
        answers=[*approval.answers],
        tainted=approval.tainted,
        asked_at=approval.asked_at,
        expires_at=approval.expires_at,
        run=str(approval.run if waiter is None else waiter.run),
        step=None if waiter is None else step_asked(waiter.topic),
        answered=None if approval.answered is None else _given(approval.answered),
        outcome=approval.outcome,
        ended_at=approval.ended_at,
        error=approval.error,
        replaces=None if approval.replaces is None else str(approval.replaces),
        replaced_by=None if approval.replaced_by is None else str(approval.replaced_by),
    )


def _given(answered: Answered) -> GivenOut:
    return GivenOut(
        answer=answered.kind,
        by=str(answered.by),
        by_name=answered.by_name,
        via=answered.via,
        at=answered.at,
        reason=answered.reason,
        rule=answered.rule,
    )


def _position(after: str | None) -> ApprovalId | None:
    """Raises `InvalidCursor`."""
    start = position(after)
    try:
        return None if start is None else ApprovalId.parse(start)
    except InvalidId as error:
        raise InvalidCursor from error
