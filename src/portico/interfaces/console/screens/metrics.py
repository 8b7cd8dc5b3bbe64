"""Metrics: calls, durations, tokens and costs over time, also as CSV."""

import asyncio
import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from io import StringIO
from math import ceil
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.agents import AgentFilter
from portico.agents.core.traces import ModelStats, TraceFilter
from portico.gateway.core.calls import Call, CallStats
from portico.gateway.core.catalog_snapshot import ToolRef, ToolStatus
from portico.gateway.core.surface import fixed_tools, search_description
from portico.gateway.servers import ServerDetails
from portico.gateway.surface import OF_THE_SEARCH
from portico.guard.core.principals import Scope
from portico.interfaces.console.formatting import State, state_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import PageContext, done, page, page_context, part
from portico.interfaces.console.screens.tool_view import in_use, tool_href
from portico.kernel.errors import PorticoError
from portico.kernel.json import canonical
from portico.learning.core.prefetch import PrefetchEdge
from portico.learning.core.prefetch_gates import PrefetchMode
from portico.learning.prefetch import PrefetchDetails, PrefetchSpec

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


async def together(
    first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B], third: Coroutine[Any, Any, C]
) -> tuple[A, B, C]:
    """Raises what one of them does, and then ends the others."""
    refusal: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(first)
            two = group.create_task(second)
            three = group.create_task(third)
    except* PorticoError as refused:
        refusal = refused.exceptions[0]
    if refusal is not None:
        raise refusal
    return one.result(), two.result(), three.result()


MOST: Final = 1000
"""Calls that are looked at: the newest."""
_HEIGHT: Final = 22


@dataclass(frozen=True, slots=True)
class Range:
    key: str
    name: str
    text: str
    within: timedelta
    step: timedelta
    each: str


RANGES: Final = (
    Range("1h", "1 h", "Last hour", timedelta(hours=1), timedelta(minutes=1), "minute"),
    Range("24h", "24 h", "Last 24 hours", timedelta(days=1), timedelta(minutes=30), "half hour"),
    Range("7d", "7 d", "Last 7 days", timedelta(days=7), timedelta(hours=3), "three hours"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    at: datetime
    calls: int
    wrong: int
    p50: float | None
    """Milliseconds; so are the others. None where nothing was called."""
    p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    steps: Sequence[Step]
    since: datetime
    """What is known from here on: before that there were more calls than are looked at."""
    whole: bool
    lines: Mapping[str, str]
    """Of each server, the points of a small line of its calls."""


def range_of(key: str | None) -> Range:
    return next((each for each in RANGES if each.key == key), RANGES[1])


def series(calls: Sequence[Call], meant: Range, now: datetime) -> Series:
    """`calls` are the newest, newest first."""
    count = ceil(meant.within / meant.step)
    began = now - meant.within
    inside = [call for call in calls if call.started_at >= began and call.outcome is not None]
    buckets: defaultdict[int, list[Call]] = defaultdict(list)
    for call in inside:
        buckets[min(count - 1, int((call.started_at - began) / meant.step))].append(call)
    cut = len(calls) >= MOST and calls[-1].started_at > began
    return Series(
        steps=[_step(began + n * meant.step, buckets.get(n, ())) for n in range(count)],
        since=calls[-1].started_at if cut else began,
        whole=not cut,
        lines=_lines(buckets, count),
    )


def _step(at: datetime, calls: Sequence[Call]) -> Step:
    times = sorted(call.took / timedelta(milliseconds=1) for call in calls if call.took is not None)
    return Step(
        at=at,
        calls=len(calls),
        wrong=sum(1 for call in calls if call.outcome is not None and call.outcome.wrong),
        p50=share_of(times, 0.5),
        p95=share_of(times, 0.95),
    )


def share_of(ordered: Sequence[float], share: float) -> float | None:
    """The value below which so many of them are, between the two nearest."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 1)


def _lines(buckets: Mapping[int, Sequence[Call]], count: int) -> Mapping[str, str]:
    counted: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for n, calls in buckets.items():
        for call in calls:
            counted[call.ref.server][n] += 1
    return {server: points([its[n] for n in range(count)]) for server, its in counted.items()}


def points(values: Sequence[int]) -> str:
    """Of a line that is 22 high, and goes two to the right with each step."""
    most = max([1, *values])
    return " ".join(
        f"{2 * n},{round(_HEIGHT - 1 - value / most * (_HEIGHT - 3))}"
        for n, value in enumerate(values)
    )


EDGES: Final = 12
_MODES: Final[Mapping[PrefetchMode, str]] = {
    PrefetchMode.OFF: "off: nothing is foretold, and nothing is made",
    PrefetchMode.SHADOW: "shadow: foretold and compared, never made",
    PrefetchMode.LIVE: "live: reads that have proved right are made",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTokenCost:
    """What a model pays for its tools: all of them listed, and what it is shown instead."""

    before: int
    after: int

    @property
    def saved(self) -> int:
        return max(0, self.before - self.after)

    @property
    def share(self) -> float | None:
        return self.saved / self.before if self.before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetrics:
    name: str
    href: str
    state: State | None
    """None of one that is not there any more."""
    calls: int
    errors: float
    p50: timedelta
    p95: timedelta
    p99: timedelta
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    calls: int
    failures: int

    @property
    def errors(self) -> float | None:
        return self.failures / self.calls if self.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    after: str
    tool: str
    href: str
    predicted: int
    right: int
    tried: int
    served: int
    wasted: int
    saved: timedelta
    live: bool
    declined: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchView:
    mode: str
    text: str
    installation: str
    learning: bool
    calls: int
    tried: int
    served: int
    wasted: int
    saved: timedelta
    exact: float | None
    coverage: float | None
    declined: Sequence[tuple[str, int]]
    """Why edges were turned down when they were last foretold, and how many of them."""
    edges: Sequence[EdgeRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    name: str
    turns: int
    input: int
    output: int
    cached: int
    money: Decimal
    p50: timedelta | None
    p95: timedelta | None


def context_of(looks: Sequence[ServerDetails], count: Callable[[str], int]) -> ToolTokenCost:
    """As `portico init` tells it: of the servers in use, and of the door's own tools."""
    live = {
        look.server.name: look.tools[ToolStatus.LIVE]
        for look in looks
        if look.server.approved and look.tools.get(ToolStatus.LIVE)
    }
    most_first = dict(sorted(live.items(), key=lambda each: (-each[1], each[0])))
    told = search_description(most_first, lambda text: count(text) <= OF_THE_SEARCH)
    shown = sum(count(canonical(tool).decode()) for tool in fixed_tools(told))
    return ToolTokenCost(before=in_use(looks)[1], after=shown)


def totals(figures: Iterable[CallStats]) -> Totals:
    known = [*figures]
    return Totals(
        calls=sum(its.calls for its in known), failures=sum(its.failures for its in known)
    )


def server_figures(
    figures: Iterable[CallStats], looks: Iterable[ServerDetails]
) -> Sequence[ServerMetrics]:
    """Those called most first."""
    states = {look.server.name: state_of(look) for look in looks}
    found = [
        ServerMetrics(
            name=its.name,
            href=f"/servers/{its.name}",
            state=states.get(its.name),
            calls=its.calls,
            errors=its.error_rate,
            p50=its.p50,
            p95=its.p95,
            p99=its.p99,
            last_at=its.last_at,
        )
        for its in figures
    ]
    return sorted(found, key=lambda its: (-its.calls, its.name))


def ahead_view(look: PrefetchDetails, edges: Sequence[PrefetchEdge]) -> PrefetchView:
    mode, totals_ = look.switches.mode, look.totals
    refused = Counter(_reason(each.turned_down) for each in edges if each.turned_down)
    return PrefetchView(
        mode=str(mode),
        text=_MODES[mode],
        installation=str(look.switches.installation),
        learning=look.switches.learning,
        calls=totals_.calls,
        tried=totals_.tried,
        served=totals_.served,
        wasted=totals_.wasted,
        saved=totals_.saved,
        exact=totals_.exact,
        coverage=totals_.coverage,
        declined=refused.most_common(6),
        edges=[_edge(each) for each in edges[:EDGES]],
    )


def _edge(edge: PrefetchEdge) -> EdgeRow:
    return EdgeRow(
        after=_name(edge.after),
        tool=str(edge.tool),
        href=tool_href(edge.tool),
        predicted=edge.predicted,
        right=edge.right,
        tried=edge.totals.tried,
        served=edge.totals.served,
        wasted=edge.totals.wasted,
        saved=edge.totals.saved,
        live=edge.live,
        declined=_reason(edge.turned_down) if edge.turned_down else "",
    )


def _name(ref: ToolRef | None) -> str:
    return "at the beginning" if ref is None else str(ref)


def _reason(gate: str) -> str:
    return gate.replace("_", " ")


def model_costs(stats: Iterable[ModelStats]) -> Sequence[Cost]:
    found = [
        Cost(
            name=its.model,
            turns=its.turns,
            input=its.input,
            output=its.output,
            cached=its.cached,
            money=its.money,
            p50=its.p50,
            p95=its.p95,
        )
        for its in stats
    ]
    return sorted(found, key=lambda its: (-its.money, -its.input, its.name))


def summed(name: str, stats: Iterable[ModelStats]) -> Cost:
    """Of one agent, whichever models it used; or of all of them."""
    known = [*stats]
    return Cost(
        name=name,
        turns=sum(its.turns for its in known),
        input=sum(its.input for its in known),
        output=sum(its.output for its in known),
        cached=sum(its.cached for its in known),
        money=sum((its.money for its in known), Decimal()),
        p50=None,
        p95=None,
    )


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def servers_csv(rows: Iterable[ServerMetrics]) -> str:
    head = ["server", "calls", "error_rate", "p50_ms", "p95_ms", "p99_ms", "last_at"]
    found = [
        [
            its.name,
            its.calls,
            round(its.errors, 6),
            *(round(span.total_seconds() * 1000, 3) for span in (its.p50, its.p95, its.p99)),
            "" if its.last_at is None else its.last_at.isoformat(),
        ]
        for its in rows
    ]
    return _written(head, found)


def models_csv(rows: Iterable[Cost]) -> str:
    head = ["model", "turns", "input", "output", "cached", "usd"]
    found = [[its.name, its.turns, its.input, its.output, its.cached, its.money] for its in rows]
    return _written(head, found)


def steps_csv(rows: Iterable[Step]) -> str:
    head = ["at", "calls", "wrong", "p50_ms", "p95_ms"]
    found = [[its.at.isoformat(), its.calls, its.wrong, its.p50, its.p95] for its in rows]
    return _written(head, found)


def _written(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([_cell(each) for each in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """A name that a spreadsheet would take for a formula is written as the text that it is."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


_AGENTS: Final = 12
_EDGES: Final = 100
_SAID: Final = {"ahead": "The switch is thrown. It is in force everywhere within a second."}


async def show(request: Request) -> Response:
    desk, meant = page_context(request), range_of(request.query_params.get("range"))
    # The database counts one while another is drawn up.
    now, more, calls = await together(_now(desk, meant), _more(desk, meant), _series(desk, meant))
    values = {
        **now,
        **more,
        "series": calls,
        "polled": False,
        "ranges": RANGES,
        "said": _SAID.get(request.query_params.get("done", "")),
        "may_switch": desk.caller.may(Scope.SERVERS_APPROVE),
        "modes": [*PrefetchMode],
    }
    return await page(request, "figures/page.html", values, title="Metrics")


async def show_now(request: Request) -> Response:
    """What changes with every call."""
    desk, meant = page_context(request), range_of(request.query_params.get("range"))
    return part(request, "figures/_now.html", {**await _now(desk, meant), "polled": True})


async def show_more(request: Request) -> Response:
    """What is counted over many of them, and asked for less often."""
    desk, meant = page_context(request), range_of(request.query_params.get("range"))
    return part(request, "figures/_more.html", {**await _more(desk, meant), "polled": True})


async def show_table(request: Request) -> Response:
    """What the charts are drawn from: a table that can be read as well."""
    desk, meant = page_context(request), range_of(request.query_params.get("range"))
    found = await _series(desk, meant)
    return part(request, "figures/_table.html", {"series": found, "range": meant, "polled": True})


async def _now(desk: PageContext, meant: Range) -> dict[str, Any]:
    gateway, caller = desk.services.gateway, desk.caller
    figures = await gateway.show_figures(caller, within=meant.within)
    looks = await gateway.list_servers(caller)
    return {
        "range": meant,
        "rows": server_figures(figures, looks),
        "totals": totals(figures),
        "context": context_of(looks, gateway.find_tools.tokenizer.count),
        "everybody": caller.may(Scope.CALLS_READ),
    }


async def _more(desk: PageContext, meant: Range) -> dict[str, Any]:
    ahead, caller = desk.services.gateway.ahead, desk.caller
    costs = await _models(desk, meant)
    return {
        "range": meant,
        "ahead": ahead_view(await ahead.show(caller), await ahead.list_edges(caller, most=_EDGES)),
        "models": model_costs(costs),
        "money": summed("all", costs) if costs else None,
        "agents": await _by_agent(desk, meant) if costs else (),
    }


async def _series(desk: PageContext, meant: Range) -> Series:
    calls = await desk.services.gateway.list_calls(desk.at("figures"), limit=MOST)
    return series(calls, meant, desk.now)


async def _models(
    desk: PageContext, meant: Range, agent: str | None = None
) -> Sequence[ModelStats]:
    """Nothing where somebody may not look at agents."""
    which = TraceFilter(agent=agent, since=desk.now - meant.within)
    try:
        return await desk.services.agents.show_model_stats(desk.caller, which)
    except PorticoError:
        return ()


async def _by_agent(desk: PageContext, meant: Range) -> Sequence[Cost]:
    agents = await desk.services.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_AGENTS
    )
    names = [agent.name for agent in agents]
    costs = [summed(name, await _models(desk, meant, name)) for name in names]
    return sorted((cost for cost in costs if cost.turns), key=lambda cost: -cost.money)


async def export(request: Request) -> Response:
    desk, asked = page_context(request), request.query_params
    meant = range_of(asked.get("range"))
    match asked.get("what"):
        case "models":
            text = models_csv(model_costs(await _models(desk, meant)))
        case "calls":
            text = steps_csv((await _series(desk, meant)).steps)
        case _:
            text = servers_csv((await _now(desk, meant))["rows"])
    headers = {"Content-Disposition": f'attachment; filename="portico-{meant.key}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


async def switch(request: Request) -> Response:
    desk, form = page_context(request), await form_of(request)
    mode = PrefetchMode(form.one_of("mode", [*PrefetchMode]))
    await desk.services.gateway.ahead.switch(desk.caller, PrefetchSpec(mode=mode))
    return done("/figures", "ahead")


routes: Final = [
    Route("/figures", show, methods=["GET"]),
    Route("/figures/now", show_now, methods=["GET"]),
    Route("/figures/more", show_more, methods=["GET"]),
    Route("/figures/table", show_table, methods=["GET"]),
    Route("/figures/csv", export, methods=["GET"]),
    Route("/figures/ahead", switch, methods=["POST"]),
]
