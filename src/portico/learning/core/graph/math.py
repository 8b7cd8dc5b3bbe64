"""What is computed over a graph by a library: over numbers, which know of no tools."""

from collections.abc import Iterable, Sequence
from typing import Protocol

Weighted = tuple[int, int, float]
"""From, to, and a weight or a cost that is not negative."""


class NumberedGraph(Protocol):
    """Directed, without two edges between the same two."""

    def grow(self) -> None:
        """By one node, whose number is how many there were."""
        ...

    def put(self, edges: Iterable[Weighted]) -> None:
        """In the place of what is known between the same two."""
        ...

    def cheapest(self, start: int, goal: int) -> Sequence[int]:
        """From one to another; nothing if there is no way."""
        ...

    def shortest(self, start: int, goal: int) -> Sequence[int]:
        """With the fewest edges."""
        ...


class GraphMath(Protocol):
    def graph(self, nodes: int) -> NumberedGraph: ...

    def ranks(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[float]:
        """PageRank of each node; together one."""
        ...

    def communities(self, nodes: int, edges: Sequence[Weighted]) -> Sequence[int]:
        """Of each node a number that is that of those it belongs to, always the same for the same
        graph; one that has no edge is alone."""
        ...
