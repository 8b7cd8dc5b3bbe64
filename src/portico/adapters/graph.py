"""Ranks, paths and communities in the graph of tools, by rustworkx and graspologic-native."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final

from portico.learning.core.tool_graph import Weighted

# Ranks and paths by rustworkx, communities by graspologic-native: both are Rust, and are loaded
# when they are first asked for something.

_SEED: Final = 1
"""So that the same graph always has the same communities."""


class RustGraph:
    def __init__(self, nodes: int) -> None:
        from rustworkx import PyDiGraph  # noqa: PLC0415 # late, see above

        self._graph: PyDiGraph[int, float] = PyDiGraph(multigraph=False)
        self._graph.add_nodes_from(range(nodes))

    def grow(self) -> None:
        self._graph.add_node(self._graph.num_nodes())

    def put(self, edges: Iterable[Weighted]) -> None:
        self._graph.add_edges_from(list(edges))

    def cheapest(self, start: int, goal: int) -> Sequence[int]:
        from rustworkx import digraph_dijkstra_shortest_paths  # noqa: PLC0415 # late, see above

        found = digraph_dijkstra_shortest_paths(self._graph, start, goal, weight_fn=float)
        return list(found[goal]) if goal in found else []

    def shortest(self, start: int, goal: int) -> Sequence[int]:
        from rustworkx import digraph_dijkstra_shortest_paths  # noqa: PLC0415 # late, see above

        found = digraph_dijkstra_shortest_paths(self._graph, start, goal, default_weight=1.0)
        return list(found[goal]) if goal in found else []


class RustGraphMath:
    def graph(self, nodes: int) -> RustGraph:
        return RustGraph(nodes)

    def ranks(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[float]:
        from rustworkx import PyDiGraph, pagerank  # noqa: PLC0415 # late, see above

        graph: PyDiGraph[int, float] = PyDiGraph(multigraph=False)
        graph.add_nodes_from(range(nodes))
        graph.add_edges_from(list(edges))
        ranks = pagerank(graph, weight_fn=float)
        return [ranks[number] for number in range(nodes)]

    def communities(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[int]:
        """Leiden, over what is between two tools whichever came first."""
        named = [(str(one), str(other), weight) for one, other, weight in edges if weight > 0]
        found = _leiden(named)
        alone = count(max(found.values(), default=-1) + 1)
        return [
            found[name] if (name := str(number)) in found else next(alone)
            for number in range(nodes)
        ]


def _leiden(edges: list[tuple[str, str, float]]) -> Mapping[str, int]:
    from graspologic_native import leiden  # noqa: PLC0415 # late, see above

    if not edges:
        return {}
    _, found = leiden(
        edges=edges,
        starting_communities=None,
        resolution=1.0,
        randomness=0.001,
        iterations=1,
        use_modularity=True,
        seed=_SEED,
        trials=1,
    )
    return found
