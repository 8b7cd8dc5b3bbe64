"""The tool graph over REST: figures, paths, and the whole of it for a drawing."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.problems import documented
from portico.interfaces.http.schema_names import alias
from portico.interfaces.http.shapes import OneLine, wire_object
from portico.interfaces.http.tools import ToolName
from portico.interfaces.http.use_cases import Gateway
from portico.learning.core.tool_graph import GraphMetrics, Hop, Path

AskedTool = Annotated[OneLine, Query(max_length=300, description="`server.tool`")]


class FedOut(BaseModel, title="FedOut"):
    path: str
    """JMESPath into what the earlier tool gives."""
    parameter: str
    times: int


class HopOut(BaseModel, title="HopOut"):
    earlier: str
    later: str
    confidence: float
    """Of what came after `earlier`, the share that this was; what was never seen counts too."""
    at_least: float
    """The lower end of a 95 % interval around it."""
    needed: float
    """Of the calls of `later`, the share that took something of `earlier`."""
    followed: int
    """How often it came right after."""
    took: int
    """How often it took something of it."""
    tasks: int
    last_seen: datetime
    fed: list[FedOut]


class PathOut(
    BaseModel, title="PathOut", json_schema_extra=alias("portico__faces__http__graph__PathOut")
):
    tools: list[str]
    direct: bool
    confidence: float
    at_least: float
    words: str
    hops: list[HopOut]


class WaysOut(BaseModel, title="WaysOut"):
    likeliest: PathOut | None
    """Null: no way is known."""
    shortest: PathOut | None


class RankedOut(BaseModel, title="RankedOut"):
    tool: str
    rank: float


class GraphFiguresOut(BaseModel, title="GraphFiguresOut"):
    tools: int
    """That anything was learnt of; `offered` are all that you could use."""
    offered: int
    edges: int
    feeding: int
    """Edges by which something was handed on."""
    density: float
    communities: int
    central: list[RankedOut]
    """By PageRank, which search never looks at."""
    surest: list[HopOut]


class CommunityOut(BaseModel, title="CommunityOut"):
    number: int
    tools: list[str]
    """The most central first."""


class NeighboursOut(BaseModel, title="NeighboursOut"):
    tool: str
    after: list[HopOut]
    before: list[HopOut]
    beside: list[str]
    """Of the same community."""


class NodeOut(BaseModel, title="NodeOut"):
    id: str
    server: str
    tool: str
    rank: float
    community: int | None


class EdgeOut(
    BaseModel, title="EdgeOut", json_schema_extra=alias("portico__faces__http__graph__EdgeOut")
):
    source: str
    target: str
    confidence: float
    at_least: float
    needed: float
    followed: int
    took: int
    tasks: int
    last_seen: datetime
    fed: list[FedOut]


class NodeLinkOut(BaseModel, title="NodeLinkOut"):
    """The node-link form that networkx, graphology and d3 take."""

    directed: bool
    multigraph: bool
    graph: dict[str, str]
    nodes: list[NodeOut]
    edges: list[EdgeOut]


router = APIRouter(prefix="/graph", tags=["graph"])


@router.get("", name="export_graph", responses=documented())
async def export_graph(gateway: Gateway, caller: Caller) -> NodeLinkOut:
    """All that you may know of the learnt graph, as nodes and edges."""
    return NodeLinkOut.model_validate(wire_object(await gateway.graph.export(caller)))


@router.get("/stats", name="show_graph_stats", responses=documented())
async def show_graph_stats(gateway: Gateway, caller: Caller) -> GraphFiguresOut:
    """The learnt graph in figures."""
    return _figures(await gateway.graph.metrics(caller))


@router.get("/path", name="find_path", responses=documented(404))
async def find_path(
    gateway: Gateway,
    caller: Caller,
    start: Annotated[AskedTool, Query(alias="from")],
    goal: Annotated[AskedTool, Query(alias="to")],
) -> WaysOut:
    """The likeliest and the shortest way from one tool to another, hop by hop."""
    ways = await gateway.graph.ways(caller, ToolRef.parse(start), ToolRef.parse(goal))
    return WaysOut(likeliest=_path(ways.likeliest), shortest=_path(ways.shortest))


@router.get("/communities", name="list_communities", responses=documented())
async def list_communities(gateway: Gateway, caller: Caller) -> list[CommunityOut]:
    """Tools that are used together more than with others, the largest groups first."""
    return [
        CommunityOut(number=group.number, tools=[*map(str, group.tools)])
        for group in await gateway.graph.communities(caller)
    ]


@router.get("/neighbours/{tool}", name="list_neighbours", responses=documented(404))
async def list_neighbours(
    gateway: Gateway,
    caller: Caller,
    tool: ToolName,
    *,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> NeighboursOut:
    """What came after a tool, what it came after, and what belongs with it."""
    found = await gateway.graph.neighbours(caller, ToolRef.parse(tool), limit)
    return NeighboursOut(
        tool=tool,
        after=[*map(_hop, found.after)],
        before=[*map(_hop, found.before)],
        beside=[*map(str, found.beside)],
    )


def _hop(hop: Hop) -> HopOut:
    return HopOut(
        earlier=str(hop.earlier),
        later=str(hop.later),
        confidence=round(hop.confidence, 4),
        at_least=round(hop.at_least, 4),
        needed=round(hop.needed, 4),
        followed=hop.followed,
        took=hop.took,
        tasks=hop.tasks,
        last_seen=hop.last_seen,
        fed=[FedOut(path=it.path, parameter=it.parameter, times=it.times) for it in hop.fed],
    )


def _path(path: Path | None) -> PathOut | None:
    if path is None:
        return None
    return PathOut(
        tools=[*map(str, path.tools)],
        direct=path.direct,
        confidence=round(path.confidence, 4),
        at_least=round(path.at_least, 4),
        words=str(path),
        hops=[*map(_hop, path.hops)],
    )


def _figures(figures: GraphMetrics) -> GraphFiguresOut:
    return GraphFiguresOut(
        tools=figures.tools,
        offered=figures.offered,
        edges=figures.edges,
        feeding=figures.feeding,
        density=round(figures.density, 6),
        communities=figures.communities,
        central=[RankedOut(tool=str(it), rank=round(rank, 6)) for it, rank in figures.central],
        surest=[*map(_hop, figures.surest)],
    )
