"""The learnt graph, put on its doors."""

from portico.adapters.graph import RustGraphMath
from portico.gateway.catalog import Catalogues
from portico.interfaces.http.use_cases import GraphUseCases
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal
from portico.learning.graph.graphs import Graphs
from portico.learning.graph.look_at_graph import (
    ExportGraph,
    FindWays,
    ListCommunities,
    ListNeighbours,
    ShowGraphFigures,
)
from portico.learning.graph_ports import EdgeBook
from portico.learning.ports import Learns, SeenFlows
from portico.learning.prefetch.switchboard import Switchboard


def open_graphs(book: EdgeBook, flows: SeenFlows, catalogues: Catalogues, clock: Clock) -> Graphs:
    """One for a process."""
    return Graphs(book=book, flows=flows, catalogues=catalogues, math=RustGraphMath(), clock=clock)


def graph_use_cases(graphs: Graphs, catalogues: Catalogues) -> GraphUseCases:
    return GraphUseCases(
        figures=ShowGraphFigures(graphs=graphs, catalogues=catalogues),
        ways=FindWays(graphs=graphs, catalogues=catalogues),
        communities=ListCommunities(graphs=graphs),
        neighbours=ListNeighbours(graphs=graphs, catalogues=catalogues),
        export=ExportGraph(graphs=graphs),
    )


def learns_of(board: Switchboard) -> Learns:
    """What a space's switch says."""

    async def learns(caller: Principal, /) -> bool:
        return (await board.current(caller)).learning

    return learns
