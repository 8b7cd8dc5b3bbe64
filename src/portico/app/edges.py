"""What is learnt from results, and what it is good for, put on their doors."""

from dataclasses import dataclass

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.postgres.learning.counts import (
    PostgresEdgeBook,
    PostgresSeenFlows,
    PostgresShapes,
)
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.catalog import Catalogues
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Embedder, Shapes
from portico.gateway.search import LookUp
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock, Entropy
from portico.learning.dataflow.find_producers import FindProducers
from portico.learning.dataflow.propose_edges import ProposeEdges
from portico.learning.graph_ports import EdgeBook
from portico.learning.lessons import Lessons
from portico.learning.ports import EdgeNotes, Learns, SeenFlows


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningDoors:
    shapes: Shapes
    flows: SeenFlows
    edges: EdgeBook

    def lessons(
        self, contexts: Contexts, clock: Clock, entropy: Entropy, edges: EdgeNotes, learns: Learns
    ) -> Lessons:
        return Lessons(
            shapes=self.shapes,
            flows=self.flows,
            edges=edges,
            contexts=contexts,
            clock=clock,
            key=entropy(32),
            learns=learns,
        )

    def propose_edges(self, catalogues: Catalogues, embedder: Embedder) -> ProposeEdges:
        """`embedder`: the one that goes with every installation, which the weights are for."""
        known_shapes = KnownShapes(shapes=self.shapes)
        return ProposeEdges(
            catalogues=catalogues,
            known_shapes=known_shapes,
            find_producers=FindProducers(
                catalogues=catalogues,
                look_up=LookUp(static=embedder, encode=None),
                known_shapes=known_shapes,
                embedder=embedder,
            ),
            flows=self.flows,
            embedder=embedder,
            expressions=JmespathExpressions(),
        )


def open_learning(transactions: Transactions) -> LearningDoors:
    return LearningDoors(
        shapes=PostgresShapes(transactions),
        flows=PostgresSeenFlows(transactions),
        edges=PostgresEdgeBook(transactions),
    )
