"""What was measured, in figures: context, calls, times, what ran ahead, and what models cost."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from portico.agents.core.traces import ModelStats
from portico.gateway.core.calls import Figures
from portico.gateway.core.catalog_snapshot import Standing, ToolRef
from portico.gateway.core.surface import fixed_tools, search_description
from portico.gateway.servers import ServerLook
from portico.gateway.surface import OF_THE_SEARCH
from portico.interfaces.console.screens.tools.view import in_use, tool_href
from portico.interfaces.console.server_states import State, state_of
from portico.kernel.json import canonical
from portico.learning.core.prefetch.edge_table import AheadEdge
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.prefetch.show_ahead import AheadLook

EDGES: Final = 12
_MODES: Final[Mapping[AheadMode, str]] = {
    AheadMode.OFF: "off: nothing is foretold, and nothing is made",
    AheadMode.SHADOW: "shadow: foretold and compared, never made",
    AheadMode.LIVE: "live: reads that have proved right are made",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
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
class ServerFigures:
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
class AheadView:
    mode: str
    words: str
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


def context_of(looks: Sequence[ServerLook], count: Callable[[str], int]) -> Context:
    """As `portico init` tells it: of the servers in use, and of the door's own tools."""
    live = {
        look.server.name: look.tools[Standing.LIVE]
        for look in looks
        if look.server.approved and look.tools.get(Standing.LIVE)
    }
    most_first = dict(sorted(live.items(), key=lambda each: (-each[1], each[0])))
    told = search_description(most_first, lambda text: count(text) <= OF_THE_SEARCH)
    shown = sum(count(canonical(tool).decode()) for tool in fixed_tools(told))
    return Context(before=in_use(looks)[1], after=shown)


def totals(figures: Iterable[Figures]) -> Totals:
    known = [*figures]
    return Totals(
        calls=sum(its.calls for its in known), failures=sum(its.failures for its in known)
    )


def server_figures(
    figures: Iterable[Figures], looks: Iterable[ServerLook]
) -> Sequence[ServerFigures]:
    """Those called most first."""
    states = {look.server.name: state_of(look) for look in looks}
    found = [
        ServerFigures(
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


def ahead_view(look: AheadLook, edges: Sequence[AheadEdge]) -> AheadView:
    mode, totals_ = look.switches.mode, look.totals
    refused = Counter(_reason(each.turned_down) for each in edges if each.turned_down)
    return AheadView(
        mode=str(mode),
        words=_MODES[mode],
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


def _edge(edge: AheadEdge) -> EdgeRow:
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
