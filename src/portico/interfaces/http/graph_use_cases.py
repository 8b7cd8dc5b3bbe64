"""What the routes of the learnt graph can call."""

from dataclasses import dataclass

from portico.learning.graph.look_at_graph import (
    ExportGraph,
    FindWays,
    ListCommunities,
    ListNeighbours,
    ShowGraphFigures,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphUseCases:
    figures: ShowGraphFigures
    ways: FindWays
    communities: ListCommunities
    neighbours: ListNeighbours
    export: ExportGraph
