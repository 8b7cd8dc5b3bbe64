"""Traces of agents over REST, and statistics of their tools and models."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, JsonValue, StringConstraints

from portico.agents.core.model_requests import Finish, message_as_json
from portico.agents.core.traces import (
    AgentRunStatus,
    ModelStats,
    RunTrace,
    ToolStats,
    ToolUse,
    TraceFilter,
    TracePlace,
    TurnTrace,
    UserInput,
    WholeTrace,
    opening,
)
from portico.interfaces.http.agents import amount
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import (
    DEFAULT_LIMIT,
    After,
    Limit,
    Moment,
    Name,
    Page,
    RunIdPath,
    next_cursor,
    position,
    wire_object,
)
from portico.interfaces.http.use_cases import Agents
from portico.kernel.ids import RunId

_Word = Annotated[Name | None, Query(max_length=300)]
_Words = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=200)] | None,
    Query(description="Words, or how they begin, that people, models or tools said together."),
]
_Moment = Annotated[Moment | None, Query(description="Of when they were started.")]
Statuses = Annotated[list[AgentRunStatus] | None, Query(max_length=10)]


class UsageOut(BaseModel, title="UsageOut"):
    input: int
    output: int
    cached: int
    reported: bool
    """False where a server did not say: it is what was counted here then."""


class RunLine(
    BaseModel, title="RunLine", json_schema_extra=alias("portico__faces__http__traces__RunLine")
):
    run: str
    agent: str
    agent_name: str
    agent_version: int
    started_by: str
    acts_as: str
    continues: str | None
    status: AgentRunStatus
    label: str
    started_at: datetime
    ended_at: datetime | None
    model: str
    turns: int
    tool_uses: int
    usage: UsageOut
    money: str
    """US dollars."""
    answer: str
    error_code: str | None
    error: str | None
    trace_id: str
    """OpenTelemetry's."""
    asked: str
    """How what it was started with begins."""


class TracePage(
    Page[RunLine],
    title="Page[RunLine]",
    json_schema_extra=alias("portico__faces__http__paging__Page_RunLine___2"),
):
    pass


class RunOut(
    RunLine, title="RunOut", json_schema_extra=alias("portico__faces__http__traces__RunOut")
):
    history: list[dict[str, JsonValue]]
    """What was said before, by the account of whoever started it."""


class SaidOut(
    BaseModel, title="SaidOut", json_schema_extra=alias("portico__faces__http__traces__SaidOut")
):
    number: int
    text: str
    by: str
    at: datetime


class ToolCallOut(BaseModel, title="ToolCallOut"):
    id: str
    name: str
    arguments: dict[str, JsonValue]


class TurnOut(BaseModel, title="TurnOut"):
    number: int
    model: str
    attempts: int
    heard: int
    text: str
    thought: str
    calls: list[ToolCallOut]
    usage: UsageOut
    counted: int
    """Tokens that the budget was charged."""
    money: str
    finish: Finish
    started_at: datetime
    took: float
    """Seconds."""
    first_piece: float | None
    tokens_a_second: float | None
    notes: list[str]
    label: str
    span_id: str


class UseOut(BaseModel, title="UseOut"):
    turn: int
    place: int
    call: str
    tool: str
    arguments: dict[str, JsonValue]
    text: str
    failed: bool
    code: str | None
    approval: str | None
    early: bool
    """Begun while the model was still speaking."""
    started_at: datetime
    took: float
    """Seconds."""
    label: str
    span_id: str


class TraceOut(BaseModel, title="TraceOut"):
    run: RunOut
    said: list[SaidOut]
    turns: list[TurnOut]
    uses: list[UseOut]


router = APIRouter(prefix="/traces", tags=["traces"])


@router.get("", name="list_traces", responses=documented())
async def list_traces(  # noqa: PLR0913 # a filter each
    agents: Agents,
    caller: Caller,
    *,
    agent: _Word = None,
    status: Statuses = None,
    since: _Moment = None,
    until: _Moment = None,
    tool: _Word = None,
    error: _Word = None,
    text: _Words = None,
    mine: bool = False,
    limit: Limit = DEFAULT_LIMIT,
    after: After = None,
) -> TracePage:
    """Newest first: your own runs, and with `traces:read` everybody's. `error` is a code, of what
    ended a run or of a use of a tool in it."""
    which = TraceFilter(
        agent=agent,
        statuses=frozenset(status or ()),
        since=since,
        until=until,
        tool=tool,
        error=error,
        text=text,
        mine=mine,
    )
    found = await agents.list_traces(caller, which, before=position(after), limit=limit)
    last = str(TracePlace.of(found[-1])) if found else ""
    data = [RunLine(**_run(run)) for run in found]
    return TracePage(data=data, next=next_cursor(data, limit, last))


@router.get("/{run_id}", name="show_trace", responses=documented(404))
async def show_trace(agents: Agents, caller: Caller, run_id: RunIdPath) -> TraceOut:
    """One with all that was said and done in it."""
    found = await agents.show_trace(caller, RunId.parse(run_id))
    history = [wire_object(message_as_json(each)) for each in found.run.history]
    return TraceOut(
        run=RunOut(**_run(_with_question(found)), history=history),
        said=[_said(said) for said in found.said],
        turns=[_turn(turn) for turn in found.turns],
        uses=[_use(use) for use in found.uses],
    )


@router.get("/{run_id}/export", name="export_trace", responses=documented(404))
async def export_trace(agents: Agents, caller: Caller, run_id: RunIdPath) -> dict[str, JsonValue]:
    """As OTLP/JSON: spans of the run, its turns and its uses of tools. Nothing that was said."""
    return wire_object(await agents.export_trace(caller, RunId.parse(run_id)))


def _run(run: RunTrace) -> dict[str, Any]:
    return {
        "run": str(run.run),
        "agent": str(run.agent),
        "agent_name": run.agent_name,
        "agent_version": run.agent_version,
        "started_by": str(run.started_by),
        "acts_as": str(run.acts_as),
        "continues": None if run.continues is None else str(run.continues),
        "status": run.status,
        "label": str(run.label),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "model": run.model,
        "turns": run.turns,
        "tool_uses": run.tool_uses,
        "usage": _usage(run),
        "money": amount(run.money),
        "answer": run.answer,
        "error_code": run.error_code,
        "error": run.error,
        "trace_id": run.trace_id,
        "asked": run.asked,
    }


def _with_question(whole: WholeTrace) -> RunTrace:
    asked = opening(whole.said[0].text) if whole.said else ""
    return replace(whole.run, asked=asked)


def _usage(of: RunTrace | TurnTrace) -> UsageOut:
    usage = of.usage
    return UsageOut(
        input=usage.input, output=usage.output, cached=usage.cached, reported=usage.reported
    )


def _said(said: UserInput) -> SaidOut:
    return SaidOut(number=said.number, text=said.text, by=str(said.by), at=said.at)


def _turn(turn: TurnTrace) -> TurnOut:
    return TurnOut(
        number=turn.number,
        model=turn.model,
        attempts=turn.attempts,
        heard=turn.inputs_seen,
        text=turn.text,
        thought=turn.thought,
        calls=[
            ToolCallOut(id=it.id, name=it.name, arguments=wire_object(it.arguments))
            for it in turn.calls
        ],
        usage=_usage(turn),
        counted=turn.counted,
        money=amount(turn.money),
        finish=turn.finish,
        started_at=turn.started_at,
        took=seconds(turn.took),
        first_piece=None if turn.first_piece is None else seconds(turn.first_piece),
        tokens_a_second=turn.tokens_a_second,
        notes=[*turn.notes],
        label=str(turn.label),
        span_id=turn.span_id,
    )


def _use(use: ToolUse) -> UseOut:
    return UseOut(
        turn=use.turn,
        place=use.position,
        call=use.call,
        tool=use.tool,
        arguments=wire_object(use.arguments),
        text=use.text,
        failed=use.failed,
        code=use.code,
        approval=None if use.approval is None else str(use.approval),
        early=use.early,
        started_at=use.started_at,
        took=seconds(use.took),
        label=str(use.label),
        span_id=use.span_id,
    )


def seconds(time: timedelta) -> float:
    return time.total_seconds()


_StatsWord = Annotated[Name | None, Query(max_length=300)]
_StatsMoment = Annotated[Moment | None, Query(description="Of when runs were started.")]


class ToolStatsOut(BaseModel, title="ToolStatsOut"):
    tool: str
    uses: int
    failures: int
    codes: dict[str, int]
    """Of failures, by why."""
    early: int
    """Begun while the model was still speaking."""
    p50: float
    """Seconds; so is the next."""
    p95: float
    last_at: datetime


class ModelStatsOut(BaseModel, title="ModelStatsOut"):
    model: str
    turns: int
    retried: int
    """Turns for which a model had to be asked more than once."""
    input: int
    output: int
    cached: int
    money: str
    """US dollars."""
    p50: float
    """Seconds of a whole answer; so is the next."""
    p95: float
    first_piece: float | None
    """Seconds until something came, the median."""
    tokens_a_second: float | None
    """The median, from then on."""
    last_at: datetime


stats_router = APIRouter(prefix="/stats", tags=["traces"])


@stats_router.get("/tools", name="show_tool_stats", responses=documented())
async def show_tool_stats(  # noqa: PLR0913 # a filter each
    agents: Agents,
    caller: Caller,
    *,
    agent: _StatsWord = None,
    tool: _StatsWord = None,
    since: _StatsMoment = None,
    until: _StatsMoment = None,
    mine: bool = False,
) -> Page[ToolStatsOut]:
    """By tool, in your own runs, and with `traces:read` in everybody's."""
    which = TraceFilter(agent=agent, tool=tool, since=since, until=until, mine=mine)
    found = await agents.show_tool_stats(caller, which)
    return Page(data=[_tool(its) for its in found], next=None)


@stats_router.get("/models", name="show_model_stats", responses=documented())
async def show_model_stats(
    agents: Agents,
    caller: Caller,
    *,
    agent: _StatsWord = None,
    since: _StatsMoment = None,
    until: _StatsMoment = None,
    mine: bool = False,
) -> Page[ModelStatsOut]:
    """By model, in your own runs, and with `traces:read` in everybody's."""
    which = TraceFilter(agent=agent, since=since, until=until, mine=mine)
    found = await agents.show_model_stats(caller, which)
    return Page(data=[_model(its) for its in found], next=None)


def _tool(its: ToolStats) -> ToolStatsOut:
    return ToolStatsOut(
        tool=its.tool,
        uses=its.uses,
        failures=its.failures,
        codes=dict(its.codes),
        early=its.early,
        p50=seconds(its.p50),
        p95=seconds(its.p95),
        last_at=its.last_at,
    )


def _model(its: ModelStats) -> ModelStatsOut:
    return ModelStatsOut(
        model=its.model,
        turns=its.turns,
        retried=its.retried,
        input=its.input,
        output=its.output,
        cached=its.cached,
        money=amount(its.money),
        p50=seconds(its.p50),
        p95=seconds(its.p95),
        first_piece=None if its.first_piece is None else seconds(its.first_piece),
        tokens_a_second=its.tokens_a_second,
        last_at=its.last_at,
    )
