"""Graphs for tests, drawn as text."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from portico.adapters.graph import RustGraphMath
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.learning.core.tool_graph import EdgeKind, EdgeSightings, KnownGraph, Sightings
from portico.testing.memory_store import BEGINNING

Drawing = Sequence[tuple[str, int]]
"""`a -> b` for what follows and `a => b` for what feeds, and how often, each in its own task."""


def ref(name: str) -> ToolRef:
    return ToolRef("s", name)


def drawn(*edges: tuple[str, int], days: int = 0) -> KnownGraph:
    graph = KnownGraph(RustGraphMath(), BEGINNING)
    add(graph, *edges, days=days)
    return graph


def add(graph: KnownGraph, *edges: tuple[str, int], days: int = 0) -> None:
    """`days` ago."""
    graph.seen(_read(graph, edges, days), BEGINNING)


def _read(graph: KnownGraph, edges: Drawing, days: int) -> Iterable[EdgeSightings]:
    for text, times in edges:
        earlier, arrow, later = text.split()
        kind = EdgeKind.FOLLOWS if arrow == "->" else EdgeKind.FEEDS
        seen = Sightings(times, times, BEGINNING - timedelta(days))
        yield graph.number(ref(earlier)), graph.number(ref(later)), kind, seen
