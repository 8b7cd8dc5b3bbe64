"""The tool graph, drawn and in words."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import cos, floor, hypot, pi, sin, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.gateway.core.catalog_snapshot import ToolRef, ToolStatus
from portico.interfaces.console.formatting import plural
from portico.interfaces.console.page import PageContext, page, page_context, part
from portico.interfaces.console.screens.tool_view import Nearby, nearby, tool_href
from portico.interfaces.http.problems import status_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.tool_graph import Community, Hop, Path
from portico.learning.tool_graph import Neighbours, Ways

# Positions: communities apart, members around the most central one, no two on top of each other.
# The same graph always gives the same picture, by its edges and not by their confidence, so that it
# can be learnt.

Floats = NDArray[np.float64]

SMALLEST: Final = 3.0
LARGEST: Final = 11.0
GAP: Final = 3.0
"""Between two tools, at least."""
APART: Final = 16.0
"""Between two communities."""
_WIDE: Final = 1.3
"""Pictures are wider than they are high."""
_GOLDEN: Final = pi * (3 - sqrt(5))
_PASSES: Final = 3
_LEAST: Final = 150.0
"""Half of the height of the smallest picture."""
_NEARER: Final = 0.96
_SLACK: Final = 1.9
"""Room for circles between circles."""
_EFFORT: Final = 14_000
"""Steps of relaxing, times tools: large communities are left sooner as they were begun."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A tool to be placed. `group` is its community; `size` from 0 to 1."""

    id: str
    group: int
    size: float


@dataclass(frozen=True, slots=True)
class Placed:
    id: str
    x: float
    y: float
    radius: float


@lru_cache(maxsize=16)
def placed(dots: tuple[Dot, ...], edges: tuple[tuple[int, int], ...]) -> tuple[Placed, ...]:
    """In the order of the dots; `edges` are between their numbers."""
    if not dots:
        return ()
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, dot in enumerate(dots):
        groups[dot.group].append(number)
    radii = [radius_of(dot.size) for dot in dots]
    inside = {group: _inside(members, dots, radii, edges) for group, members in groups.items()}
    centres = _centres(inside, {n: dot.group for n, dot in enumerate(dots)}, edges)
    spots: dict[int, tuple[float, float]] = {}
    for group, members in groups.items():
        x, y = centres[group]
        for number, (dx, dy) in zip(members, inside[group].spots, strict=True):
            spots[number] = (x + dx, y + dy)
    return tuple(
        Placed(dot.id, round(spots[n][0], 2), round(spots[n][1], 2), round(radii[n], 2))
        for n, dot in enumerate(dots)
    )


def radius_of(size: float) -> float:
    return SMALLEST + (LARGEST - SMALLEST) * sqrt(min(max(size, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class _Blob:
    """The members of one community around its middle."""

    spots: Sequence[tuple[float, float]]
    radius: float


def _inside(
    members: Sequence[int],
    dots: Sequence[Dot],
    radii: Sequence[float],
    edges: Sequence[tuple[int, int]],
) -> _Blob:
    count = len(members)
    order = sorted(range(count), key=lambda n: (-dots[members[n]].size, dots[members[n]].id))
    mean = sum(radii[number] for number in members) / count
    spacing = 2 * mean + GAP + 2
    wanted = np.zeros((count, 2))
    for rank, n in enumerate(order):
        wanted[n] = _spiral(rank, spacing * 0.62)
    place = {number: n for n, number in enumerate(members)}
    own = [(place[a], place[b]) for a, b in edges if a in place and b in place and a != b]
    own_radii = [radii[number] for number in members]
    if own:
        wanted = _gathered(_relaxed(wanted, own, spacing), own_radii, GAP)
    spots = settled([(x, y) for x, y in wanted.tolist()], own_radii, order, GAP)
    middle_x = sum(x for x, _ in spots) / count
    middle_y = sum(y for _, y in spots) / count
    centred = [(x - middle_x, y - middle_y) for x, y in spots]
    reach = max(hypot(x, y) + r for (x, y), r in zip(centred, own_radii, strict=True))
    return _Blob(centred, reach)


def _centres(
    blobs: dict[int, _Blob], group_of: dict[int, int], edges: Sequence[tuple[int, int]]
) -> dict[int, tuple[float, float]]:
    groups = sorted(blobs)
    place = {group: n for n, group in enumerate(groups)}
    between = {
        (place[group_of[a]], place[group_of[b]]) for a, b in edges if group_of[a] != group_of[b]
    }
    radii = [blobs[group].radius for group in groups]
    spacing = 2 * sum(radii) / len(radii) + APART
    wanted = np.array([_spiral(rank, spacing * 0.62) for rank in range(len(groups))])
    if between:
        wanted = _relaxed(wanted, sorted(between), spacing)
    wanted = _gathered(wanted, radii, APART)
    wanted[:, 0] *= _WIDE
    start = [(x, y) for x, y in wanted.tolist()]
    largest = sorted(range(len(groups)), key=lambda n: (-radii[n], n))
    spots = _drawn_in(settled(start, radii, largest, APART, wide=_WIDE), radii)
    left, right = _span([x for x, _ in spots], radii)
    low, high = _span([y for _, y in spots], radii)
    middle_x, middle_y = (left + right) / 2, (low + high) / 2
    return {group: (spots[n][0] - middle_x, spots[n][1] - middle_y) for group, n in place.items()}


def _span(values: Sequence[float], radii: Sequence[float]) -> tuple[float, float]:
    pairs = list(zip(values, radii, strict=True))
    return min(value - r for value, r in pairs), max(value + r for value, r in pairs)


def _drawn_in(
    spots: Sequence[tuple[float, float]], radii: Sequence[float]
) -> Sequence[tuple[float, float]]:
    """Towards the middle, the nearest first, each as far as the others let it."""
    found = [*spots]
    for _ in range(_PASSES):
        for n in sorted(range(len(found)), key=lambda n: hypot(found[n][0] / _WIDE, found[n][1])):
            nearer = found[n]
            while hypot(*nearer) > 1 and all(
                _clear(nearer, radii[n], found[it], radii[it], APART)
                for it in range(len(found))
                if it != n
            ):
                found[n] = nearer
                nearer = (nearer[0] * _NEARER, nearer[1] * _NEARER)
    return found


def _spiral(rank: int, step: float) -> tuple[float, float]:
    """As the seeds of a sunflower stand: evenly, the first in the middle."""
    distance, angle = step * sqrt(rank + 0.3), rank * _GOLDEN
    return distance * cos(angle), distance * sin(angle)


def _relaxed(start: Floats, edges: Sequence[tuple[int, int]], spacing: float) -> Floats:
    """Fruchterman and Reingold: what is linked draws near, everything else keeps away."""
    count = len(start)
    spots, ends = start.copy(), np.array(edges)
    steps = min(60, max(10, _EFFORT // count))
    warm = spacing * sqrt(count) * 0.1
    for step in range(steps):
        squares = (spots**2).sum(axis=1)
        near = squares[:, None] + squares[None, :] - 2 * (spots @ spots.T)
        push = spacing**2 / np.maximum(near, spacing**2 * 0.01)
        np.fill_diagonal(push, 0.0)
        moved = spots * push.sum(axis=1, keepdims=True) - push @ spots
        along = spots[ends[:, 0]] - spots[ends[:, 1]]
        pull = along * np.sqrt((along**2).sum(axis=1, keepdims=True)) / spacing * 0.35
        np.add.at(moved, ends[:, 0], -pull)
        np.add.at(moved, ends[:, 1], pull)
        moved -= spots * 0.05 * spacing / sqrt(count)
        size = np.sqrt((moved**2).sum(axis=1, keepdims=True)) + 1e-6
        spots += moved / size * np.minimum(size, warm * (1 - step / steps) + 0.5)
    return spots


def _gathered(spots: Floats, radii: Sequence[float], gap: float) -> Floats:
    """In the same directions from the middle and in the same order, but as near as there is
    room: relaxing leaves a few far outside, and the others small beside the way to them."""
    reach = np.sqrt((spots**2).sum(axis=1)) + 1e-6
    order = np.argsort(reach, kind="stable")
    areas = (np.array(radii)[order] + gap / 2) ** 2
    room = np.empty(len(spots))
    room[order] = np.sqrt((np.cumsum(areas) - areas / 2) * _SLACK)
    found: Floats = spots * (room / reach)[:, None]
    return found


def settled(
    wanted: Sequence[tuple[float, float]],
    radii: Sequence[float],
    order: Sequence[int],
    gap: float,
    *,
    wide: float = 1.0,
) -> list[tuple[float, float]]:
    """One after the other, each at the nearest free place to where it wants to be. Whoever is in
    the way is found by a grid, in which one cell is as wide as the largest two."""
    cell = 2 * max(radii) + gap
    grid: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    spots: dict[int, tuple[float, float]] = {}
    for n in order:
        step = (radii[n] + gap) * 0.7
        tries = 0
        while True:
            dx, dy = (0.0, 0.0) if not tries else _spiral(tries, step)
            spot = (wanted[n][0] + dx * wide, wanted[n][1] + dy)
            column, row = floor(spot[0] / cell), floor(spot[1] / cell)
            around = (
                other
                for i in (-1, 0, 1)
                for j in (-1, 0, 1)
                for other in grid.get((column + i, row + j), ())
            )
            if all(_clear(spot, radii[n], spots[it], radii[it], gap) for it in around):
                break
            tries += 1
        spots[n] = spot
        grid[column, row].append(n)
    return [spots[n] for n in range(len(wanted))]


def _clear(
    one: tuple[float, float], r_one: float, other: tuple[float, float], r_other: float, gap: float
) -> bool:
    return hypot(one[0] - other[0], one[1] - other[1]) >= r_one + r_other + gap


def frame_of(spots: Sequence[Placed]) -> tuple[float, float, float, float]:
    """From left to right and from top to bottom, all that is drawn: at least so much that a few
    tools are not drawn as giants."""
    left, right = _span([it.x for it in spots] or [0.0], [it.radius for it in spots] or [0.0])
    top, bottom = _span([it.y for it in spots] or [0.0], [it.radius for it in spots] or [0.0])
    wide = max(0.0, 2 * _LEAST * _WIDE - (right - left)) / 2
    high = max(0.0, 2 * _LEAST - (bottom - top)) / 2
    return left - wide, right + wide, top - high, bottom + high


COLOURS: Final = 12
"""Of the palette; further communities have them again, and a name besides."""
SHOWN: Final = 14
"""Communities that are listed at once."""
MEMBERS: Final = 200
_ALONE: Final = 0
_SERVERS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityRow:
    number: int
    position: int
    """In an order that does not change when one of them grows: it has its place in the picture
    and its colour by this."""
    colour: int
    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HopRow:
    tool: str
    href: str
    confidence: float
    at_least: float
    times: int
    tasks: int
    fed: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    start: str
    start_href: str
    hops: Sequence[HopRow]
    confidence: float
    at_least: float
    shorter: str
    """Another way with fewer hops, in words, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTool:
    name: str
    href: str
    near: Nearby


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCommunity:
    row: CommunityRow
    tools: Sequence[tuple[str, str]]
    left: int


def community_rows(found: Sequence[Community]) -> Sequence[CommunityRow]:
    places = _places(found)
    return [_row(each, places[each.number]) for each in found]


def _row(community: Community, place: int) -> CommunityRow:
    return CommunityRow(
        number=community.number,
        position=place,
        colour=(place - 1) % COLOURS + 1,
        name=community_name(community.tools),
        count=len(community.tools),
    )


def _places(found: Iterable[Community]) -> Mapping[int, int]:
    """From 1, by the server that most of its tools are of."""
    ordered = sorted(found, key=lambda each: (_servers(each.tools)[0], min(each.tools)))
    return {each.number: place for place, each in enumerate(ordered, 1)}


def community_name(tools: Sequence[ToolRef]) -> str:
    """The servers that most of its tools are of."""
    named = _servers(tools)
    return " · ".join(named[:_SERVERS]) + (" …" if len(named) > _SERVERS else "")


def _servers(tools: Iterable[ToolRef]) -> Sequence[str]:
    counted = Counter(tool.server for tool in tools)
    return sorted(counted, key=lambda server: (-counted[server], server))


def chosen_community(found: Community, every: Sequence[Community]) -> ChosenCommunity:
    shown = found.tools[:MEMBERS]
    return ChosenCommunity(
        row=_row(found, _places(every)[found.number]),
        tools=[(str(tool), tool_href(tool)) for tool in shown],
        left=len(found.tools) - len(shown),
    )


def chosen_tool(ref: ToolRef, found: Neighbours) -> ChosenTool:
    return ChosenTool(name=str(ref), href=tool_href(ref), near=nearby(found))


def path_view(ways: Ways) -> PathView | None:
    likeliest, shortest = ways.likeliest, ways.shortest
    if likeliest is None:
        return None
    fewer = shortest is not None and len(shortest.hops) < len(likeliest.hops)
    start = likeliest.tools[0]
    return PathView(
        start=str(start),
        start_href=tool_href(start),
        hops=[_hop(hop) for hop in likeliest.hops],
        confidence=likeliest.confidence,
        at_least=likeliest.at_least,
        shorter=_words(shortest) if fewer and shortest is not None else "",
    )


def _words(path: Path) -> str:
    way = " → ".join(str(tool) for tool in path.tools)
    return f"{plural(len(path.hops), 'hop')}, confidence {path.confidence:.2f}: {way}"


def _hop(hop: Hop) -> HopRow:
    return HopRow(
        tool=str(hop.later),
        href=tool_href(hop.later),
        confidence=hop.confidence,
        at_least=hop.at_least,
        times=hop.times,
        tasks=hop.tasks,
        fed=[f"{fed.path} becomes {fed.parameter}, {fed.times} times" for fed in hop.fed[:3]],
    )


def drawing(
    exported: JsonObject, large: Sequence[CommunityRow], unlearnt: Iterable[ToolRef] = ()
) -> dict[str, Any]:
    """What the page draws: tools with their places, edges between their numbers.

    `large`: the communities of two or more. Tools of which nothing was learnt stand with those of
    their own server.
    """
    nodes, links = _objects(exported.get("nodes")), _objects(exported.get("edges"))
    dots = [*_learnt(nodes, {row.number: row.position for row in large})]
    known = {dot.id for dot in dots}
    others = sorted({ref for ref in unlearnt if str(ref) not in known})
    homes = {server: -n for n, server in enumerate(sorted({ref.server for ref in others}), 1)}
    dots += [Dot(str(ref), homes[ref.server], 0.0) for ref in others]
    number = {dot.id: n for n, dot in enumerate(dots)}
    pairs = [(number[str(it["source"])], number[str(it["target"])]) for it in links]
    spots = placed(tuple(dots), tuple(pairs))
    return {
        "frame": frame_of(spots),
        "nodes": [_node(dot, spot) for dot, spot in zip(dots, spots, strict=True)],
        "edges": [
            [*pair, _number(it.get("confidence")), bool(it.get("took"))]
            for pair, it in zip(pairs, links, strict=True)
            if pair[0] != pair[1]
        ],
        "names": {row.position: row.name for row in large}
        | {group: server for server, group in homes.items()},
    }


def _learnt(nodes: Sequence[JsonObject], places: Mapping[int, int]) -> Iterator[Dot]:
    """Sizes in tenths: a rank that moves by a hair does not move the picture."""
    most = max([1e-9, *(_number(node.get("rank")) for node in nodes)])
    for node in nodes:
        community = node.get("community")
        group = places.get(community, _ALONE) if isinstance(community, int) else _ALONE
        yield Dot(str(node["id"]), group, round(_number(node.get("rank")) / most, 1))


def _node(dot: Dot, spot: Placed) -> list[JsonValue]:
    return [dot.id, spot.x, spot.y, spot.radius, dot.group]


def _objects(value: JsonValue) -> Sequence[JsonObject]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0.0


_NEAR: Final = 12


async def show(request: Request) -> Response:
    desk, asked = page_context(request), request.query_params
    graph, caller = desk.services.gateway.graph, desk.caller
    figures = await graph.metrics(caller)
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
    values = await _path(page_context(request), request.query_params)
    return part(request, "graph/_path.html", values)


async def show_chosen(request: Request) -> Response:
    values = await _chosen(page_context(request), request.query_params)
    return part(request, "graph/_chosen.html", values)


async def show_data(request: Request) -> Response:
    """The picture, with places: computed once for each graph, whoever asks."""
    desk = page_context(request)
    graph, caller = desk.services.gateway.graph, desk.caller
    exported = await graph.export(caller)
    large = community_rows(await graph.communities(caller))
    others: list[ToolRef] = []
    if request.query_params.get("all") == "1":
        looks = await desk.services.gateway.list_tools(caller)
        others = [look.tool.ref for look in looks if look.status is ToolStatus.LIVE]
    drawn = await asyncio.to_thread(drawing, exported, large, others)
    body = json.dumps(drawn, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    headers = {"ETag": f'"{sha256(body).hexdigest()[:32]}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def _path(desk: PageContext, asked: Mapping[str, str]) -> dict[str, Any]:
    start, goal = asked.get("from", "").strip()[:300], asked.get("to", "").strip()[:300]
    found: PathView | None = None
    problem: PorticoError | None = None
    if start and goal:
        try:
            ways = await desk.services.gateway.graph.ways(
                desk.caller, ToolRef.parse(start), ToolRef.parse(goal)
            )
            found = path_view(ways)
        except PorticoError as error:
            problem = error
    return {"start": start, "goal": goal, "path_found": found, "path_problem": problem}


async def _chosen(desk: PageContext, asked: Mapping[str, str]) -> dict[str, Any]:
    tool, number = asked.get("tool", "").strip()[:300], asked.get("community", "")
    found: ChosenTool | ChosenCommunity | None = None
    problem: PorticoError | None = None
    try:
        if tool:
            ref = ToolRef.parse(tool)
            near = await desk.services.gateway.graph.neighbours(desk.caller, ref, _NEAR)
            found = chosen_tool(ref, near)
        elif number:
            groups = await desk.services.gateway.graph.communities(desk.caller)
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
