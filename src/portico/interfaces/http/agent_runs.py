"""Runs of agents over REST: start, follow, steer, stop."""

import json
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from portico.agents.core.agents import Limits
from portico.agents.core.events import (
    AgentEvent,
    AgentStreamItem,
    InputReceived,
    ReasoningDelta,
    RunFinished,
    RunNotice,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.agents.core.model_requests import Usage
from portico.agents.core.traces import AgentRunStatus
from portico.agents.runs import AgentRunSpec, StartedAgentRun
from portico.engine.core.idempotency import StoredResponse
from portico.guard.core.approvals import Resolution
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.idempotency import IdempotentCreate
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import (
    Body,
    LabelText,
    Name,
    Patience,
    RunIdPath,
    RunIdText,
    Text,
    applied,
)
from portico.interfaces.http.streaming import (
    END,
    MEDIA_TYPE,
    Listening,
    RunEventStream,
    one_line,
    retry_after,
)
from portico.interfaces.http.use_cases import Runs
from portico.kernel.errors import PorticoError
from portico.kernel.ids import Id, RunId
from portico.kernel.label import Label

NAMES: Final[dict[type[AgentEvent], str]] = {
    TurnStarted: "turn.began",
    TextDelta: "text.added",
    ReasoningDelta: "thought.added",
    ToolCallStarted: "tool.began",
    ToolCallAwaitingApproval: "tool.waits",
    ToolCallFinished: "tool.ended",
    TurnFinished: "turn.ended",
    InputReceived: "message.heard",
    RunNotice: "noted",
    RunFinished: "run.ended",
}


def happening_json(happening: AgentEvent) -> dict[str, Any]:
    return {each.name: _plain(getattr(happening, each.name)) for each in fields(happening)}


def usage_json(usage: Usage) -> dict[str, Any]:
    return {each.name: getattr(usage, each.name) for each in fields(usage)}


def _plain(value: object) -> object:
    """Money is a text: no float is an exact amount."""
    match value:
        case Usage():
            return usage_json(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case Id():
            return str(value)
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value


_Words = Annotated[Text, StringConstraints(min_length=1, max_length=500_000)]
_ModelText = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class LimitsIn(Body, title="LimitsIn"):
    """Each narrows the agent's own, and none widens it."""

    turns: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    tokens: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] | None = None
    money: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")] | None = None
    """US dollars, as a text: no float is an exact amount."""
    seconds: Annotated[float, Field(strict=True, gt=0, le=1_000_000)] | None = None
    calls: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] | None = None

    @property
    def limits(self) -> Limits:
        most = 10**12
        return Limits(
            turns=self.turns or most,
            tokens=self.tokens or most,
            money=Decimal(most if self.money is None else self.money),
            seconds=self.seconds or float(most),
            calls=most if self.calls is None else self.calls,
        )


class AgentRunIn(Body, title="AgentRunIn"):
    message: _Words
    continues: RunIdText | None = None
    """An earlier run of yours that is over: all that was said in it comes before the message."""
    model: _ModelText | None = None
    """In place of the agent's own: `provider:model`."""
    limits: LimitsIn | None = None
    label: LabelText | None = None
    """How secret the message is, if it is more than what your task has read."""


class MessageIn(
    Body, title="MessageIn", json_schema_extra=alias("portico__faces__http__agent_runs__MessageIn")
):
    message: _Words


class ResolveCallIn(Body, title="ResolveCallIn"):
    step: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    """Of the run, as it waits: `call-3-0` is the first call of the third turn."""
    outcome: Resolution
    """What you have found: it was `done`, it shall be tried again (`retry`), or not (`skip`)."""


class WaitsOut(BaseModel, title="WaitsOut"):
    tool: str
    approval: str
    expires_at: datetime | None


class UsageOut(BaseModel, title="UsageOut"):
    input: int
    output: int
    cached: int
    reported: bool


class AgentRunOut(BaseModel, title="AgentRunOut"):
    run: str
    agent: str
    agent_version: int
    status: AgentRunStatus
    waits: WaitsOut | None = None
    """What has to be approved before it goes on."""
    answer: str | None = None
    error_code: str | None = None
    error: str | None = None
    fix: str | None = None
    usage: UsageOut | None = None
    money: str | None = None
    """US dollars."""


class SaidOut(
    BaseModel, title="SaidOut", json_schema_extra=alias("portico__faces__http__agent_runs__SaidOut")
):
    run: str
    number: int
    """Among what people said to this run, from 1."""
    at: datetime


_ENDED: Final[dict[str, Any]] = {"model": AgentRunOut, "description": "It has ended within `wait`."}
_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

router = APIRouter(prefix="/agents", tags=["agents"])


@router.post(
    "/{name}/runs",
    name="start_agent_run",
    status_code=202,
    response_model=AgentRunOut,
    responses={**documented(404, 429), 200: _ENDED},
)
async def start_agent_run(
    runs: Runs, asked: IdempotentCreate, name: Name, body: AgentRunIn, patience: Patience
) -> Response:
    """Ask an agent something. What comes of it is in its trace, and is told while it happens."""
    wish = AgentRunSpec(
        agent=name,
        message=body.message,
        continues=None if body.continues is None else RunId.parse(body.continues),
        model=body.model,
        limits=None if body.limits is None else body.limits.limits,
        key=asked.key,
        label=None if body.label is None else Label.parse(body.label),
    )
    started = await runs.start_agent_run(asked.caller, wish)
    waited = timedelta(0) if patience is None else patience
    now = None
    if patience is not None or started.replayed:
        now = await runs.answer_of(asked.caller, started.run, patience=waited)
    status = 200 if isinstance(now, RunFinished) and patience is not None else 202
    return _answer(_out(started, now), status, _headers(started) | applied(patience))


@router.get(
    "/runs/{run_id}/events",
    name="follow_agent_run",
    response_class=Response,
    responses={**documented(404), 200: {"description": "A stream.", "content": _STREAM}},
)
async def follow_agent_run(
    runs: Runs,
    listener: Listening,
    run_id: RunIdPath,
    after: Annotated[
        str | None, Query(max_length=4000, description="`id` of the last event one has had.")
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=4000, description="As `after`, and wins over it."),
    ] = None,
) -> Response:
    """What is said and done in a run, to its end, from where one left off: one's own runs, or with
    `traces:read` those of others."""
    run = RunId.parse(run_id)
    await runs.answer_of(listener.caller, run, patience=timedelta(0))
    told = runs.follow_run(listener.caller, run, after=last_event_id or after or None)
    return RunEventStream(listener, told, AgentStreamEncoder())


@router.post(
    "/runs/{run_id}/messages",
    name="steer_agent_run",
    status_code=201,
    response_model=SaidOut,
    responses=documented(404),
)
async def steer_agent_run(
    runs: Runs, asked: IdempotentCreate, run_id: RunIdPath, body: MessageIn
) -> Response:
    """Say something to a run while it is on: its next turn takes it in."""

    async def action() -> StoredResponse:
        said = await runs.steer_run(asked.caller, RunId.parse(run_id), body.message)
        out = SaidOut(run=str(said.run), number=said.number, at=said.at)
        return StoredResponse(out.model_dump(mode="json"))

    return await asked.once("agents.steer", body, action, status=201)


@router.post(
    "/runs/{run_id}/stop", name="stop_agent_run", status_code=204, responses=documented(404)
)
async def stop_agent_run(runs: Runs, caller: Caller, run_id: RunIdPath) -> None:
    """It ends before its next step, and what it had said by then is its answer. What it has done
    stays done; what it asked people for is asked no more."""
    await runs.stop_run(caller, RunId.parse(run_id))


@router.post(
    "/runs/{run_id}/resume", name="resume_agent_run", status_code=204, responses=documented(404)
)
async def resume_agent_run(runs: Runs, caller: Caller, run_id: RunIdPath) -> None:
    """Take up a run that has failed: what it has done and what was paid for stays."""
    await runs.resume_agent_run(caller, RunId.parse(run_id))


@router.post(
    "/runs/{run_id}/resolve",
    name="resolve_agent_call",
    status_code=204,
    responses=documented(404, 409),
)
async def resolve_agent_call(
    runs: Runs, caller: Caller, run_id: RunIdPath, body: ResolveCallIn
) -> None:
    """Say what became of a call of which nobody knows whether it was made."""
    await runs.resolve_step(caller, RunId.parse(run_id), body.step, body.outcome)


@dataclass(frozen=True, slots=True)
class AgentStreamEncoder:
    """Encodes a stream for clients that read our own events."""

    @property
    def waits(self) -> bool:
        return False

    def started(self) -> bytes:
        return retry_after(1000)

    def told(self, told: AgentStreamItem) -> bytes:
        name, facts = NAMES[type(told.event)], happening_json(told.event)
        mark = "" if told.cursor is None else f"id: {told.cursor}\n"
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        return f"{mark}event: {name}\ndata: {one_line(text)}\n\n".encode(errors="backslashreplace")

    def gave_up(self) -> bytes:
        return b""

    def broke(self, error: PorticoError) -> bytes:
        text = json.dumps({"code": error.code, "detail": str(error), "fix": error.fix})
        return f"event: error\ndata: {text}\n\n".encode()

    def ended(self) -> bytes:
        return END


def _headers(started: StartedAgentRun) -> dict[str, str]:
    replayed = {"Idempotency-Replayed": "true"} if started.replayed else {}
    return {"Location": f"/api/v1/traces/{started.run}", **replayed}


def _out(
    started: StartedAgentRun, now: RunFinished | ToolCallAwaitingApproval | None
) -> AgentRunOut:
    out = AgentRunOut(
        run=str(started.run),
        agent=started.agent.name,
        agent_version=started.agent.version,
        status=AgentRunStatus.RUNNING,
    )
    match now:
        case None:
            return out
        case ToolCallAwaitingApproval():
            waits = WaitsOut(tool=now.tool, approval=str(now.approval), expires_at=now.expires_at)
            return out.model_copy(update={"status": AgentRunStatus.WAITING, "waits": waits})
        case RunFinished():
            ended = {
                "status": now.status,
                "answer": now.answer,
                "error_code": now.error_code,
                "error": now.error,
                "fix": now.fix,
                "usage": UsageOut(**usage_json(now.usage)),
                "money": f"{now.money:f}",
            }
            return out.model_copy(update=ended)


def _answer(body: AgentRunOut, status: int, headers: dict[str, str]) -> Response:
    """What a model said may hold half of a surrogate pair, which is no UTF-8: it is escaped."""
    text = json.dumps(body.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="backslashreplace")
    return Response(content, status, headers, media_type="application/json")
