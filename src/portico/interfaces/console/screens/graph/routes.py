"""Tool graph: what was learnt of which tool comes after which, drawn and in words."""

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.gateway.core.catalog_snapshot import Standing, ToolRef
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import page, part
from portico.interfaces.console.screens.graph.view import (
    SHOWN,
    ChosenCommunity,
    ChosenTool,
    PathView,
    chosen_community,
    chosen_tool,
    community_rows,
    drawing,
    path_view,
)
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError

_NEAR: Final = 12


async def show(request: Request) -> Response:
    desk, asked = desk_of(request), request.query_params
    graph, caller = desk.house.gateway.graph, desk.caller
    figures = await graph.figures(caller)
    rows = community_rows(await graph.communities(caller))
    every = asked.get("all") == "1"
    values: dict[str, Any] = {
        "figures": figures,
        "rows": rows,
        "shown": SHOWN,
        "every": every,
        **await _path(desk, asked),
        **await _chosen(desk, asked),
    }
    wrong = values["path_problem"] or values["chosen_problem"]
    status = 200 if wrong is None else status_of(wrong)
    return await page(request, "graph/page.html", values, title="Tool graph", status=status)


async def show_path(request: Request) -> Response:
    values = await _path(desk_of(request), request.query_params)
    return part(request, "graph/_path.html", values)


async def show_chosen(request: Request) -> Response:
    values = await _chosen(desk_of(request), request.query_params)
    return part(request, "graph/_chosen.html", values)


async def show_data(request: Request) -> Response:
    """The picture, with places: computed once for each graph, whoever asks."""
    desk = desk_of(request)
    graph, caller = desk.house.gateway.graph, desk.caller
    exported = await graph.export(caller)
    large = community_rows(await graph.communities(caller))
    others: list[ToolRef] = []
    if request.query_params.get("all") == "1":
        looks = await desk.house.gateway.list_tools(caller)
        others = [look.tool.ref for look in looks if look.standing is Standing.LIVE]
    drawn = await asyncio.to_thread(drawing, exported, large, others)
    body = json.dumps(drawn, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    headers = {"ETag": f'"{sha256(body).hexdigest()[:32]}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def _path(desk: Desk, asked: Mapping[str, str]) -> dict[str, Any]:
    start, goal = asked.get("from", "").strip()[:300], asked.get("to", "").strip()[:300]
    found: PathView | None = None
    problem: PorticoError | None = None
    if start and goal:
        try:
            ways = await desk.house.gateway.graph.ways(
                desk.caller, ToolRef.parse(start), ToolRef.parse(goal)
            )
            found = path_view(ways)
        except PorticoError as error:
            problem = error
    return {"start": start, "goal": goal, "path_found": found, "path_problem": problem}


async def _chosen(desk: Desk, asked: Mapping[str, str]) -> dict[str, Any]:
    tool, number = asked.get("tool", "").strip()[:300], asked.get("community", "")
    found: ChosenTool | ChosenCommunity | None = None
    problem: PorticoError | None = None
    try:
        if tool:
            ref = ToolRef.parse(tool)
            near = await desk.house.gateway.graph.neighbours(desk.caller, ref, _NEAR)
            found = chosen_tool(ref, near)
        elif number:
            groups = await desk.house.gateway.graph.communities(desk.caller)
            meant = [group for group in groups if str(group.number) == number]
            found = chosen_community(meant[0], groups) if meant else None
    except PorticoError as error:
        problem = error
    return {
        "chosen": found,
        "is_tool": isinstance(found, ChosenTool),
        "chosen_problem": problem,
        "asked_tool": tool,
        "asked_community": number,
    }


routes: Final = [
    Route("/graph", show, methods=["GET"]),
    Route("/graph/data", show_data, methods=["GET"]),
    Route("/graph/path", show_path, methods=["GET"]),
    Route("/graph/chosen", show_chosen, methods=["GET"]),
]
