"""The learnt graph, put on its doors."""

from portico.adapters.graph.rust_math import RustGraphMath
from portico.gateway.ahead.switchboard import Switchboard
from portico.gateway.catalogue import Catalogues
from portico.gateway.graph.graphs import Graphs
from portico.gateway.graph.look_at_graph import (
    ExportGraph,
    FindWays,
    ListCommunities,
    ListNeighbours,
    ShowGraphFigures,
)
from portico.gateway.graph_ports import EdgeBook
from portico.gateway.learning_ports import Learns, SeenFlows
from portico.interfaces.http.graph_use_cases import GraphUseCases
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


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
