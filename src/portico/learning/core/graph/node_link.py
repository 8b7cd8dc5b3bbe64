"""A graph as JSON that other programs read: nodes, and edges between their ids."""

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.kernel.json import JsonObject
from portico.learning.core.graph.analysis import Analysis
from portico.learning.core.graph.known_graph import KnownGraph
from portico.learning.core.graph.path import Hop


def node_link(graph: KnownGraph, analysis: Analysis) -> JsonObject:
    """The node-link form that networkx, graphology and d3 take."""
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "portico tools", "as_of": graph.now.isoformat()},
        "nodes": [_node(tool, analysis) for tool in sorted(graph.tools)],
        "edges": [
            _edge(hop) for hop in sorted(graph.hops, key=lambda hop: (hop.earlier, hop.later))
        ],
    }


def _node(tool: ToolRef, analysis: Analysis) -> JsonObject:
    community = analysis.communities.of(tool)
    return {
        "id": str(tool),
        "server": tool.server,
        "tool": tool.name,
        "rank": round(analysis.ranks.get(tool, 0.0), 6),
        "community": None if community is None else community.number,
    }


def _edge(hop: Hop) -> JsonObject:
    return {
        "source": str(hop.earlier),
        "target": str(hop.later),
        "confidence": round(hop.confidence, 4),
        "at_least": round(hop.at_least, 4),
        "needed": round(hop.needed, 4),
        "followed": hop.followed,
        "took": hop.took,
        "tasks": hop.tasks,
        "last_seen": hop.last_seen.isoformat(),
        "fed": [
            {"path": fed.path, "parameter": fed.parameter, "times": fed.times} for fed in hop.fed
        ],
    }
