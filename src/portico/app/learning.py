"""What repeated work teaches: tool graph, dataflow, suggestions, prefetch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from portico.adapters.graph import RustGraphMath
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.postgres.gateway.calls import PostgresElsewhere
from portico.adapters.postgres.guard.spaces import PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import (
    PostgresEdgeStore,
    PostgresLearnedCounts,
    PostgresObservedFlows,
    PostgresShapes,
)
from portico.adapters.postgres.learning.suggestions import PostgresPastPlans, PostgresSuggestions
from portico.adapters.postgres.transaction import BusAfterCommit, Transactions
from portico.adapters.telemetry.metrics import OtelPrefetchMeter, watch_lane
from portico.app.engine import event_log
from portico.app.run_workers import Lasting
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.ports import Bus, EventLog
from portico.gateway.catalog import Catalogs
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Embedder, Results, SchemaCheck, Servers, Shapes, Upstreams
from portico.gateway.search import RankTools
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, Contexts, KeyRing, SpaceSettings, UnitOfWork
from portico.interfaces.http.use_cases import GraphUseCases, PrefetchUseCases, SuggestUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.learning.core.prefetch_predictor import ContextHistory
from portico.learning.dataflow import FindProducers, ProposeEdges
from portico.learning.observation import (
    CallObservations,
    EdgeNotes,
    EdgeStore,
    LabelModels,
    LearnedCounts,
    Learns,
    ObservedFlows,
    TrackedContexts,
)
from portico.learning.past_plans import PlanObservations
from portico.learning.prefetch import (
    ListPrefetchEdges,
    PrefetchCalls,
    PrefetchEvents,
    PrefetchMeter,
    PrefetchRecorder,
    ShowPrefetch,
    SwitchPrefetch,
    Watching,
)
from portico.learning.prefetch_cache import PrefetchExecutor, PrefetchOne
from portico.learning.prefetch_gates import StillSo
from portico.learning.prefetch_ports import Elsewhere
from portico.learning.prefetch_switches import Switchboard
from portico.learning.suggestions import (
    GatherEvidence,
    GiveFeedback,
    PastPlanStore,
    ReadFirst,
    Settle,
    Suggestions,
    SuggestWorkflow,
    TakeSuggestion,
    These,
)
from portico.learning.tool_graph import (
    ExportGraph,
    FindWays,
    Graphs,
    ListCommunities,
    ListNeighbours,
    ShowGraphMetrics,
)
from portico.settings.gateway import PrefetchSettings
from portico.workflows.core.plan import Expressions


def open_graphs(
    book: EdgeStore, flows: ObservedFlows, catalogues: Catalogs, clock: Clock
) -> Graphs:
    """One for a process."""
    return Graphs(book=book, flows=flows, catalogues=catalogues, math=RustGraphMath(), clock=clock)


def graph_use_cases(graphs: Graphs, catalogues: Catalogs) -> GraphUseCases:
    return GraphUseCases(
        metrics=ShowGraphMetrics(graphs=graphs, catalogues=catalogues),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningDependencies:
    shapes: Shapes
    flows: ObservedFlows
    edges: EdgeStore

    def observations(
        self, contexts: Contexts, clock: Clock, entropy: Entropy, edges: EdgeNotes, learns: Learns
    ) -> CallObservations:
        return CallObservations(
            shapes=self.shapes,
            flows=self.flows,
            edges=edges,
            contexts=contexts,
            clock=clock,
            key=entropy(32),
            learns=learns,
        )

    def propose_edges(self, catalogues: Catalogs, embedder: Embedder) -> ProposeEdges:
        """`embedder`: the one that goes with every installation, which the weights are for."""
        known_shapes = KnownShapes(shapes=self.shapes)
        return ProposeEdges(
            catalogues=catalogues,
            known_shapes=known_shapes,
            find_producers=FindProducers(
                catalogues=catalogues,
                look_up=RankTools(static=embedder, encode=None),
                known_shapes=known_shapes,
                embedder=embedder,
            ),
            flows=self.flows,
            embedder=embedder,
            expressions=JmespathExpressions(),
        )


def open_learning(transactions: Transactions) -> LearningDependencies:
    return LearningDependencies(
        shapes=PostgresShapes(transactions),
        flows=PostgresObservedFlows(transactions),
        edges=PostgresEdgeStore(transactions),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestDependencies:
    past: PastPlanStore
    suggestions: Suggestions


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggesting:
    """`embedder`: the one that goes with every installation, so that what was learnt stays
    comparable."""

    dependencies: SuggestDependencies
    catalogues: Catalogs
    look_up: RankTools
    graphs: Graphs
    flows: ObservedFlows
    embedder: Embedder
    results: Results
    contexts: Contexts
    unit_of_work: UnitOfWork
    expressions: Expressions
    these: These
    say: Callable[[Principal, str], None]
    learns: Learns
    clean: Callable[[JsonValue], JsonValue]
    clock: Clock
    entropy: Entropy

    def use_cases(self) -> SuggestUseCases:
        return SuggestUseCases(
            suggest_workflow=SuggestWorkflow(
                gather=GatherEvidence(
                    catalogues=self.catalogues,
                    look_up=self.look_up,
                    past=self.dependencies.past,
                    graphs=self.graphs,
                    flows=self.flows,
                    embedder=self.embedder,
                ),
                read_first=ReadFirst(these=self.these, expressions=self.expressions),
                suggestions=self.dependencies.suggestions,
                results=self.results,
                contexts=self.contexts,
                say=self.say,
                clock=self.clock,
                entropy=self.entropy,
            ),
            give_feedback=GiveFeedback(
                suggestions=self.dependencies.suggestions, settle=self._settle()
            ),
        )

    def take_suggestion(self) -> TakeSuggestion:
        return TakeSuggestion(
            suggestions=self.dependencies.suggestions,
            results=self.results,
            contexts=self.contexts,
            settle=self._settle(),
            expressions=self.expressions,
            clock=self.clock,
        )

    def observations(self) -> PlanObservations:
        return PlanObservations(
            catalogues=self.catalogues,
            past=self.dependencies.past,
            graphs=self.graphs,
            embedder=self.embedder,
            expressions=self.expressions,
            learns=self.learns,
            clean=self.clean,
            clock=self.clock,
        )

    def _settle(self) -> Settle:
        return Settle(
            suggestions=self.dependencies.suggestions,
            past=self.dependencies.past,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
        )


def open_suggestions(transactions: Transactions) -> SuggestDependencies:
    return SuggestDependencies(
        past=PostgresPastPlans(transactions), suggestions=PostgresSuggestions(transactions)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchDependencies:
    """What is decided about calls ahead, and what is counted of them."""

    terms: PrefetchLimits
    settings: SpaceSettings
    counts: LearnedCounts
    log: EventLog
    bus: Bus
    """One that waits for the end of a transaction."""
    meter: PrefetchMeter
    elsewhere: Elsewhere
    """What other processes are changing."""

    def open(self, servers: Servers, clock: Clock) -> "PrefetchSwitches":
        """`servers`: all of them, whoever may know of which."""
        news = PrefetchEvents(log=self.log)
        return PrefetchSwitches(
            dependencies=self,
            board=Switchboard(settings=self.settings, bus=self.bus, terms=self.terms),
            metrics=PrefetchRecorder(
                counts=self.counts, servers=servers, news=news, meter=self.meter, clock=clock
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchSwitches:
    """One for a process."""

    dependencies: PrefetchDependencies
    board: Switchboard
    metrics: PrefetchRecorder

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "switches of calls ahead": self.board.run,
            "figures of calls ahead": self.metrics.run,
        }

    def use_cases(self, servers: Servers, catalogues: Catalogs, audit: Audit) -> PrefetchUseCases:
        """`servers`: those that a caller may know of."""
        doors = self.dependencies
        show = ShowPrefetch(board=self.board, servers=servers, counts=doors.counts)
        return PrefetchUseCases(
            show=show,
            switch=SwitchPrefetch(
                settings=doors.settings,
                servers=servers,
                audit=audit,
                bus=doors.bus,
                show=show,
                news=self.metrics.news,
            ),
            list_edges=ListPrefetchEdges(
                counts=doors.counts, catalogues=catalogues, metrics=self.metrics
            ),
        )


def open_ahead(
    settings: PrefetchSettings, outside: SharedDependencies, incarnation: str
) -> PrefetchDependencies:
    """`incarnation`: what no other process is called in the record of calls."""
    transactions = outside.transactions
    return PrefetchDependencies(
        terms=settings.terms,
        settings=PostgresSpaceSettings(transactions),
        counts=PostgresLearnedCounts(transactions),
        log=event_log(outside),
        bus=BusAfterCommit(outside.bus, transactions),
        meter=OtelPrefetchMeter(),
        elsewhere=PostgresElsewhere(transactions, outside.clock, incarnation),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorDependencies:
    """What it shares with the calls that are asked for."""

    catalogues: Catalogs
    schemas: SchemaCheck
    upstreams: Upstreams
    gate: Gate
    key_ring: KeyRing
    clock: Clock
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPrefetch:
    """One for a process."""

    executor: PrefetchExecutor
    run_ahead: PrefetchCalls
    layers: LabelModels
    watching: Watching

    def show_how_much(self) -> None:
        """Once in a process: how many calls are under way, and how many answers wait."""
        lane = self.executor
        watch_lane(lambda: lane.under_way, lambda: max(0, len(lane.buffer) - lane.under_way))

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "calls ahead": self.executor.run,
            "what comes next": self.watching.run,
            "what was learnt of it": self.layers.run,
        }


def open_running_ahead(switches: PrefetchSwitches, doors: ExecutorDependencies) -> RunningPrefetch:
    ahead, board, tally = switches.dependencies, switches.board, switches.metrics
    still_so = StillSo(catalogues=doors.catalogues, switches=board, elsewhere=ahead.elsewhere)
    ask = PrefetchOne(
        still_so=still_so,
        upstreams=doors.upstreams,
        tally=tally,
        clock=doors.clock,
        terms=ahead.terms,
        timeout=doors.timeout,
    )
    lane = PrefetchExecutor(ask=ask, tally=tally)
    board.obeyed_by(lane)
    run_ahead = PrefetchCalls(
        catalogues=doors.catalogues,
        schemas=doors.schemas,
        guard=doors.gate,
        as_they_are=RevalidatePrincipal(key_ring=doors.key_ring, clock=doors.clock),
        switches=board,
        upstreams=doors.upstreams,
        executor=lane,
        clock=doors.clock,
        turned_down=tally.turned_down,
    )
    layers = LabelModels(counts=ahead.counts, clock=doors.clock)
    watching = Watching(
        tasks=TrackedContexts(new_history=ContextHistory),
        run_ahead=run_ahead,
        layers=layers,
        catalogues=doors.catalogues,
        contexts=doors.gate.contexts,
        switches=board,
        tally=tally,
        clock=doors.clock,
    )
    return RunningPrefetch(executor=lane, run_ahead=run_ahead, layers=layers, watching=watching)
