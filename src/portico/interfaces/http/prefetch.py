"""Prefetch over REST: its switches, totals, and the edges that it follows."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import Body, Page, Switch
from portico.interfaces.http.use_cases import Gateway
from portico.learning.core.prefetch import PrefetchEdge, PrefetchTotals
from portico.learning.core.prefetch_gates import PrefetchMode
from portico.learning.prefetch import (
    PrefetchDetails,
    PrefetchSpec,
    ServerPrefetch,
    ServerPrefetchSpec,
)

_Name = Annotated[str, Field(min_length=1, max_length=80)]


class ServerIn(
    Body, title="ServerIn", json_schema_extra=alias("portico__faces__http__ahead__ServerIn")
):
    """What is left away stays as it is."""

    mode: PrefetchMode | None = None
    external: Switch | None = None
    """Whether its tools that read elsewhere may be called ahead."""


class PrefetchIn(Body, title="AheadIn"):
    """What is left away stays as it is."""

    mode: PrefetchMode | None = None
    learning: Switch | None = None
    """Off: nothing is noted of the space's calls."""
    servers: Annotated[dict[_Name, ServerIn], Field(max_length=200)] = Field(default={})
    """By name."""


class ServerOut(
    BaseModel, title="ServerOut", json_schema_extra=alias("portico__faces__http__ahead__ServerOut")
):
    name: str
    mode: PrefetchMode
    """In force: the strictest of the configuration, the space and its own."""
    own: PrefetchMode
    external: bool


class FiguresOut(
    BaseModel,
    title="FiguresOut",
    json_schema_extra=alias("portico__faces__http__ahead__FiguresOut"),
):
    """Since they are counted, of what you may know of."""

    calls: int
    """That callers made."""
    tried: int
    """That were made ahead."""
    served: int
    """Of these, those that were asked for, exactly so, in time."""
    wasted: int
    """Of these, the others; a few of them may still be asked for."""
    saved_ms: int
    """What callers did not have to wait."""
    coverage: float | None
    """Served, of all calls."""
    exact_hit_rate: float | None
    """Served, of those that were made ahead."""
    waste_rate: float | None
    """Made for nothing, for each call that somebody made."""


class PrefetchOut(BaseModel, title="AheadOut"):
    mode: PrefetchMode
    """In force in this space: the strictest of the configuration and its own."""
    installation: PrefetchMode
    space: PrefetchMode
    learning: bool
    servers: list[ServerOut]
    figures: FiguresOut


class EdgeOut(
    BaseModel, title="EdgeOut", json_schema_extra=alias("portico__faces__http__ahead__EdgeOut")
):
    before: str | None
    """Called before the last; null where that is not looked at."""
    after: str | None
    """Called last; null where nothing was called yet."""
    failed: bool
    """Whether the last had failed."""
    tool: str
    """What is foretold."""
    arguments: list[str]
    predicted: int
    right: int
    at_least: float
    """The share of those that were right, as low as it may be by what is known."""
    live: bool
    """Whether it is made, where the switches allow it. Otherwise it is only foretold."""
    turned_down: str | None
    """What forbade it when it was last foretold in this process, such as `worth_it`: its tool
    answers too soon for anything to be won. Null if it was made."""
    tried: int
    served: int
    wasted: int
    saved_ms: int
    last_seen: datetime


router = APIRouter(prefix="/ahead", tags=["ahead"])


@router.get("", name="show", responses=documented())
async def show(gateway: Gateway, caller: Caller) -> PrefetchOut:
    return _told(await gateway.ahead.show(caller))


@router.put("", name="switch", responses=documented(404))
async def switch(gateway: Gateway, caller: Caller, body: PrefetchIn) -> PrefetchOut:
    """In force in every process within a second: what is under way by then is broken off, and
    what waits is thrown away."""
    wish = PrefetchSpec(
        mode=body.mode,
        learning=body.learning,
        servers={
            name: ServerPrefetchSpec(its.mode, its.external) for name, its in body.servers.items()
        },
    )
    return _told(await gateway.ahead.switch(caller, wish))


@router.get("/edges", name="list_edges", responses=documented())
async def list_edges(
    gateway: Gateway, caller: Caller, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[EdgeOut]:
    """From what was called to what is foretold, those foretold most often first."""
    found = await gateway.ahead.list_edges(caller, most=limit)
    return Page(data=[_edge(each) for each in found], next=None)


def _told(look: PrefetchDetails) -> PrefetchOut:
    switches = look.switches
    return PrefetchOut(
        mode=switches.mode,
        installation=switches.installation,
        space=switches.space.mode,
        learning=switches.learning,
        servers=[_server(each) for each in look.servers],
        figures=_figures(look.totals),
    )


def _server(look: ServerPrefetch) -> ServerOut:
    return ServerOut(
        name=look.server.name, mode=look.mode, own=look.own.mode, external=look.external
    )


def _figures(totals: PrefetchTotals) -> FiguresOut:
    return FiguresOut(
        calls=totals.calls,
        tried=totals.tried,
        served=totals.served,
        wasted=totals.wasted,
        saved_ms=_milliseconds(totals.saved),
        coverage=totals.coverage,
        exact_hit_rate=totals.exact,
        waste_rate=totals.waste,
    )


def _edge(edge: PrefetchEdge) -> EdgeOut:
    return EdgeOut(
        before=_ref(edge.before),
        after=_ref(edge.after),
        failed=edge.failed,
        tool=str(edge.tool),
        arguments=[*edge.arguments],
        predicted=edge.predicted,
        right=edge.right,
        at_least=edge.at_least,
        live=edge.live,
        turned_down=edge.turned_down,
        tried=edge.totals.tried,
        served=edge.totals.served,
        wasted=edge.totals.wasted,
        saved_ms=_milliseconds(edge.totals.saved),
        last_seen=edge.last_seen,
    )


def _ref(ref: ToolRef | None) -> str | None:
    return None if ref is None else str(ref)


def _milliseconds(span: timedelta) -> int:
    return round(span / timedelta(milliseconds=1))
