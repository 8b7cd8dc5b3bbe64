"""Look at the learnt graph: its figures, ways through it, who belongs together. It is told to each
as far as they may know of it, and it ranks no search."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.catalog import Catalogues
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.learning.core.graph.analysis import Community
from portico.learning.core.graph.figures import GraphFigures, graph_figures
from portico.learning.core.graph.node_link import node_link
from portico.learning.core.graph.path import Hop, Path
from portico.learning.graph.graphs import Graphs


@dataclass(frozen=True, slots=True)
class Ways:
    """From one tool to another; None where none is known."""

    likeliest: Path | None
    shortest: Path | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    after: Sequence[Hop]
    before: Sequence[Hop]
    beside: Sequence[ToolRef]
    """Of its community, the most central first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowGraphFigures:
    graphs: Graphs
    catalogues: Catalogues

    async def __call__(self, caller: Principal) -> GraphFigures:
        permit(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        graph = await self.graphs.explained(caller)
        return graph_figures(graph, await self.graphs.analysis(caller), len(shelf.tools))


@dataclass(frozen=True, slots=True, kw_only=True)
class FindWays:
    graphs: Graphs
    catalogues: Catalogues

    async def __call__(self, caller: Principal, start: ToolRef, goal: ToolRef) -> Ways:
        """Raises what looking for either tool raises, also if it is none that is offered."""
        permit(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        shelf.find(start)
        shelf.find(goal)
        graph = await self.graphs.explained(caller)
        return Ways(graph.path(start, goal), graph.shortest(start, goal))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCommunities:
    graphs: Graphs

    async def __call__(self, caller: Principal) -> Sequence[Community]:
        """Of at least two tools, the largest first."""
        permit(caller, Scope.TOOLS_READ)
        communities = await self.graphs.communities(caller)
        return [group for group in communities.groups if len(group.tools) > 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNeighbours:
    graphs: Graphs
    catalogues: Catalogues

    async def __call__(self, caller: Principal, tool: ToolRef, most: int = 10) -> Neighbours:
        """Raises what looking for the tool raises."""
        permit(caller, Scope.TOOLS_READ)
        (await self.catalogues.offered(caller)).find(tool)
        graph = await self.graphs.explained(caller)
        communities = await self.graphs.communities(caller)
        return Neighbours(
            after=graph.after(tool, most),
            before=graph.before(tool, most),
            beside=communities.beside(tool, most),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportGraph:
    graphs: Graphs

    async def __call__(self, caller: Principal) -> JsonObject:
        permit(caller, Scope.TOOLS_READ)
        graph = await self.graphs.explained(caller)
        return node_link(graph, await self.graphs.analysis(caller))
