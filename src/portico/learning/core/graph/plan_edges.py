"""The edges of a plan that went well: what waited for what, and what took what it gave."""

from collections.abc import Callable, Collection, Iterator

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.learning.core.graph.edge import EdgeKind, ToolEdge
from portico.workflows.core.plan import Expressions, Plan, needs_of


def plan_edges(
    plan: Plan,
    done: Collection[str],
    place: Callable[[ToolRef], ToolPlace | None],
    expressions: Expressions,
) -> Iterator[ToolEdge]:
    """Between the steps that were done, each edge once."""
    places = {step.id: place(step.tool) for step in plan.steps if step.id in done}
    pairs = {
        (need.needs, step.id, need.given and need.place.startswith("/arguments"))
        for step in plan.steps
        for need in needs_of(step, expressions)
    }
    for before, after, fed in sorted(pairs):
        earlier, later = places.get(before), places.get(after)
        if earlier is not None and later is not None:
            yield ToolEdge(earlier, later, EdgeKind.FEEDS if fed else EdgeKind.FOLLOWS)
