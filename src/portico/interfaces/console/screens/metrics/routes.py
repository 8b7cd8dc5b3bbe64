"""Metrics: only what is measured, over a range, and told anew every few seconds."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.agents import AgentFilter
from portico.agents.core.traces import ModelStats, TraceFilter
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.forms import form_of
from portico.interfaces.console.page import done, page, part
from portico.interfaces.console.screens.metrics.csv_text import models_csv, servers_csv, steps_csv
from portico.interfaces.console.screens.metrics.series import (
    MOST,
    RANGES,
    Range,
    Series,
    range_of,
    series,
)
from portico.interfaces.console.screens.metrics.view import (
    Cost,
    ahead_view,
    context_of,
    model_costs,
    server_figures,
    summed,
    totals,
)
from portico.interfaces.console.together import together
from portico.kernel.errors import PorticoError
from portico.learning.core.prefetch.switches import AheadMode
from portico.learning.prefetch.switch_ahead import AheadWish

_AGENTS: Final = 12
_EDGES: Final = 100
_SAID: Final = {"ahead": "The switch is thrown. It is in force everywhere within a second."}


async def show(request: Request) -> Response:
    desk, meant = desk_of(request), range_of(request.query_params.get("range"))
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
        "modes": [*AheadMode],
    }
    return await page(request, "figures/page.html", values, title="Metrics")


async def show_now(request: Request) -> Response:
    """What changes with every call."""
    desk, meant = desk_of(request), range_of(request.query_params.get("range"))
    return part(request, "figures/_now.html", {**await _now(desk, meant), "polled": True})


async def show_more(request: Request) -> Response:
    """What is counted over many of them, and asked for less often."""
    desk, meant = desk_of(request), range_of(request.query_params.get("range"))
    return part(request, "figures/_more.html", {**await _more(desk, meant), "polled": True})


async def show_table(request: Request) -> Response:
    """What the charts are drawn from: a table that can be read as well."""
    desk, meant = desk_of(request), range_of(request.query_params.get("range"))
    found = await _series(desk, meant)
    return part(request, "figures/_table.html", {"series": found, "range": meant, "polled": True})


async def _now(desk: Desk, meant: Range) -> dict[str, Any]:
    gateway, caller = desk.house.gateway, desk.caller
    figures = await gateway.show_figures(caller, within=meant.within)
    looks = await gateway.list_servers(caller)
    return {
        "range": meant,
        "rows": server_figures(figures, looks),
        "totals": totals(figures),
        "context": context_of(looks, gateway.find_tools.tokenizer.count),
        "everybody": caller.may(Scope.CALLS_READ),
    }


async def _more(desk: Desk, meant: Range) -> dict[str, Any]:
    ahead, caller = desk.house.gateway.ahead, desk.caller
    costs = await _models(desk, meant)
    return {
        "range": meant,
        "ahead": ahead_view(await ahead.show(caller), await ahead.list_edges(caller, most=_EDGES)),
        "models": model_costs(costs),
        "money": summed("all", costs) if costs else None,
        "agents": await _by_agent(desk, meant) if costs else (),
    }


async def _series(desk: Desk, meant: Range) -> Series:
    calls = await desk.house.gateway.list_calls(desk.at("figures"), limit=MOST)
    return series(calls, meant, desk.now)


async def _models(desk: Desk, meant: Range, agent: str | None = None) -> Sequence[ModelStats]:
    """Nothing where somebody may not look at agents."""
    which = TraceFilter(agent=agent, since=desk.now - meant.within)
    try:
        return await desk.house.agents.show_model_stats(desk.caller, which)
    except PorticoError:
        return ()


async def _by_agent(desk: Desk, meant: Range) -> Sequence[Cost]:
    agents = await desk.house.agents.list_agents(
        desk.caller, AgentFilter(), after=None, limit=_AGENTS
    )
    names = [agent.name for agent in agents]
    costs = [summed(name, await _models(desk, meant, name)) for name in names]
    return sorted((cost for cost in costs if cost.turns), key=lambda cost: -cost.money)


async def export(request: Request) -> Response:
    desk, asked = desk_of(request), request.query_params
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
    desk, form = desk_of(request), await form_of(request)
    mode = AheadMode(form.one_of("mode", [*AheadMode]))
    await desk.house.gateway.ahead.switch(desk.caller, AheadWish(mode=mode))
    return done("/figures", "ahead")


routes: Final = [
    Route("/figures", show, methods=["GET"]),
    Route("/figures/now", show_now, methods=["GET"]),
    Route("/figures/more", show_more, methods=["GET"]),
    Route("/figures/table", show_table, methods=["GET"]),
    Route("/figures/csv", export, methods=["GET"]),
    Route("/figures/ahead", switch, methods=["POST"]),
]
