"""The learnt graph as it is drawn and as it is read: communities, neighbours, and ways."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.console.screens.graph.placing import Dot, Placed, frame_of, placed
from portico.interfaces.console.screens.tools.tool_view import Nearby, nearby
from portico.interfaces.console.screens.tools.view import tool_href
from portico.interfaces.console.wording import plural
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.graph.analysis import Community
from portico.learning.core.graph.path import Hop, Path
from portico.learning.graph.look_at_graph import Neighbours, Ways

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
    place: int
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
        place=place,
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
    dots = [*_learnt(nodes, {row.number: row.place for row in large})]
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
        "names": {row.place: row.name for row in large}
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
