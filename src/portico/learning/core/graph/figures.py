"""What there is to say of a graph in a few figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.learning.core.graph.analysis import Analysis
from portico.learning.core.graph.known_graph import KnownGraph
from portico.learning.core.graph.path import Hop

_TOP: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFigures:
    tools: int
    """That any edge begins or ends at."""
    offered: int
    """That the caller could use, learnt of or not."""
    edges: int
    feeding: int
    """Edges by which something was handed on."""
    density: float
    """Of the edges that there could be between these tools."""
    communities: int
    """Of at least two tools."""
    central: Sequence[tuple[ToolRef, float]]
    """By PageRank. Search never looks at it."""
    surest: Sequence[Hop]


def graph_figures(graph: KnownGraph, analysis: Analysis, offered: int) -> GraphFigures:
    hops, tools = graph.hops, len(graph.tools)
    central = nlargest(_TOP, analysis.ranks.items(), key=lambda item: (item[1], str(item[0])))
    surest = nlargest(_TOP, hops, key=lambda hop: (hop.at_least, hop.earlier, hop.later))
    return GraphFigures(
        tools=tools,
        offered=offered,
        edges=len(hops),
        feeding=sum(1 for hop in hops if hop.took),
        density=len(hops) / (tools * tools) if tools else 0.0,
        communities=sum(1 for group in analysis.communities.groups if len(group.tools) > 1),
        central=central,
        surest=surest,
    )
