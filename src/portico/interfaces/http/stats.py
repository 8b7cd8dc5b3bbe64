"""Statistics of agents over REST: how tools and models have been doing in their runs."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portico.agents.core.traces import ModelStats, ToolStats, TraceFilter
from portico.interfaces.http.agent_use_cases import Agents
from portico.interfaces.http.agent_words import amount
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.paging import Page
from portico.interfaces.http.problems import documented
from portico.interfaces.http.traces import seconds
from portico.interfaces.http.words import Moment, Name

_Word = Annotated[Name | None, Query(max_length=300)]
_Moment = Annotated[Moment | None, Query(description="Of when runs were started.")]


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


router = APIRouter(prefix="/stats", tags=["traces"])


@router.get("/tools", name="show_tool_stats", responses=documented())
async def show_tool_stats(  # noqa: PLR0913 # a filter each
    agents: Agents,
    caller: Caller,
    *,
    agent: _Word = None,
    tool: _Word = None,
    since: _Moment = None,
    until: _Moment = None,
    mine: bool = False,
) -> Page[ToolStatsOut]:
    """By tool, in your own runs, and with `traces:read` in everybody's."""
    which = TraceFilter(agent=agent, tool=tool, since=since, until=until, mine=mine)
    found = await agents.show_tool_stats(caller, which)
    return Page(data=[_tool(its) for its in found], next=None)


@router.get("/models", name="show_model_stats", responses=documented())
async def show_model_stats(
    agents: Agents,
    caller: Caller,
    *,
    agent: _Word = None,
    since: _Moment = None,
    until: _Moment = None,
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
