"""What repeated work teaches: tool graph, dataflow, suggestions, prefetch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from portico.adapters.graph import RustGraphMath
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.postgres.gateway.calls import PostgresElsewhere
from portico.adapters.postgres.guard.spaces import PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import (
    PostgresEdgeBook,
    PostgresLearntCounts,
    PostgresSeenFlows,
    PostgresShapes,
)
from portico.adapters.postgres.learning.suggestions import PostgresPastPlans, PostgresSuggestions
from portico.adapters.postgres.transaction import BusAfterCommit, Transactions
from portico.adapters.telemetry.metrics import MeteredAhead, watch_lane
from portico.app.engine_room import event_log
from portico.app.run_workers import Lasting
from portico.app.shared_dependencies import Outside
from portico.engine.ports import Bus, EventLog
from portico.gateway.catalog import Catalogues
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.ports import Embedder, Results, SchemaCheck, Servers, Shapes, Upstreams
from portico.gateway.search import LookUp
from portico.guard.authentication import AsTheyAre
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, Contexts, KeyRing, SpaceSettings, Together
from portico.interfaces.http.use_cases import AheadUseCases, GraphUseCases, SuggestUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import AheadTerms
from portico.learning.core.prefetch_predictor import Course
from portico.learning.dataflow import FindProducers, ProposeEdges
from portico.learning.observation import (
    EdgeBook,
    EdgeNotes,
    Layers,
    Learns,
    LearntCounts,
    Lessons,
    SeenFlows,
    Tasks,
)
from portico.learning.past_plans import PlanLessons
from portico.learning.prefetch import (
    AheadFigures,
    AheadMeter,
    AheadNews,
    ListAheadEdges,
    RunAhead,
    ShowAhead,
    SwitchAhead,
    Watching,
)
from portico.learning.prefetch_cache import AskAhead, Lane
from portico.learning.prefetch_gates import StillSo
from portico.learning.prefetch_ports import Elsewhere
from portico.learning.prefetch_switches import Switchboard
from portico.learning.suggestions import (
    GatherEvidence,
    GiveFeedback,
    PastPlanBook,
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
    ShowGraphFigures,
)
from portico.settings.gateway import AheadSettings
from portico.workflows.core.plan import Expressions


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestDoors:
    past: PastPlanBook
    suggestions: Suggestions


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggesting:
    """`embedder`: the one that goes with every installation, so that what was learnt stays
    comparable."""

    doors: SuggestDoors
    catalogues: Catalogues
    look_up: LookUp
    graphs: Graphs
    flows: SeenFlows
    embedder: Embedder
    results: Results
    contexts: Contexts
    together: Together
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
                    past=self.doors.past,
                    graphs=self.graphs,
                    flows=self.flows,
                    embedder=self.embedder,
                ),
                read_first=ReadFirst(these=self.these, expressions=self.expressions),
                suggestions=self.doors.suggestions,
                results=self.results,
                contexts=self.contexts,
                say=self.say,
                clock=self.clock,
                entropy=self.entropy,
            ),
            give_feedback=GiveFeedback(suggestions=self.doors.suggestions, settle=self._settle()),
        )

    def take_suggestion(self) -> TakeSuggestion:
        return TakeSuggestion(
            suggestions=self.doors.suggestions,
            results=self.results,
            contexts=self.contexts,
            settle=self._settle(),
            expressions=self.expressions,
            clock=self.clock,
        )

    def lessons(self) -> PlanLessons:
        return PlanLessons(
            catalogues=self.catalogues,
            past=self.doors.past,
            graphs=self.graphs,
            embedder=self.embedder,
            expressions=self.expressions,
            learns=self.learns,
            clean=self.clean,
            clock=self.clock,
        )

    def _settle(self) -> Settle:
        return Settle(
            suggestions=self.doors.suggestions,
            past=self.doors.past,
            together=self.together,
            clock=self.clock,
        )


def open_suggestions(transactions: Transactions) -> SuggestDoors:
    return SuggestDoors(
        past=PostgresPastPlans(transactions), suggestions=PostgresSuggestions(transactions)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadDoors:
    """What is decided about calls ahead, and what is counted of them."""

    terms: AheadTerms
    settings: SpaceSettings
    counts: LearntCounts
    log: EventLog
    bus: Bus
    """One that waits for the end of a transaction."""
    meter: AheadMeter
    elsewhere: Elsewhere
    """What other processes are changing."""

    def open(self, servers: Servers, clock: Clock) -> "AheadSwitches":
        """`servers`: all of them, whoever may know of which."""
        news = AheadNews(log=self.log)
        return AheadSwitches(
            doors=self,
            board=Switchboard(settings=self.settings, bus=self.bus, terms=self.terms),
            figures=AheadFigures(
                counts=self.counts, servers=servers, news=news, meter=self.meter, clock=clock
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadSwitches:
    """One for a process."""

    doors: AheadDoors
    board: Switchboard
    figures: AheadFigures

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "switches of calls ahead": self.board.run,
            "figures of calls ahead": self.figures.run,
        }

    def use_cases(self, servers: Servers, catalogues: Catalogues, audit: Audit) -> AheadUseCases:
        """`servers`: those that a caller may know of."""
        doors = self.doors
        show = ShowAhead(board=self.board, servers=servers, counts=doors.counts)
        return AheadUseCases(
            show=show,
            switch=SwitchAhead(
                settings=doors.settings,
                servers=servers,
                audit=audit,
                bus=doors.bus,
                show=show,
                news=self.figures.news,
            ),
            list_edges=ListAheadEdges(
                counts=doors.counts, catalogues=catalogues, figures=self.figures
            ),
        )


def open_ahead(settings: AheadSettings, outside: Outside, incarnation: str) -> AheadDoors:
    """`incarnation`: what no other process is called in the record of calls."""
    transactions = outside.transactions
    return AheadDoors(
        terms=settings.terms,
        settings=PostgresSpaceSettings(transactions),
        counts=PostgresLearntCounts(transactions),
        log=event_log(outside),
        bus=BusAfterCommit(outside.bus, transactions),
        meter=MeteredAhead(),
        elsewhere=PostgresElsewhere(transactions, outside.clock, incarnation),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDoors:
    """What it shares with the calls that are asked for."""

    catalogues: Catalogues
    schemas: SchemaCheck
    upstreams: Upstreams
    gate: Gate
    key_ring: KeyRing
    clock: Clock
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAhead:
    """One for a process."""

    lane: Lane
    run_ahead: RunAhead
    layers: Layers
    watching: Watching

    def show_how_much(self) -> None:
        """Once in a process: how many calls are under way, and how many answers wait."""
        lane = self.lane
        watch_lane(lambda: lane.under_way, lambda: max(0, len(lane.buffer) - lane.under_way))

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "calls ahead": self.lane.run,
            "what comes next": self.watching.run,
            "what was learnt of it": self.layers.run,
        }


def open_running_ahead(switches: AheadSwitches, doors: LaneDoors) -> RunningAhead:
    ahead, board, tally = switches.doors, switches.board, switches.figures
    still_so = StillSo(catalogues=doors.catalogues, switches=board, elsewhere=ahead.elsewhere)
    ask = AskAhead(
        still_so=still_so,
        upstreams=doors.upstreams,
        tally=tally,
        clock=doors.clock,
        terms=ahead.terms,
        timeout=doors.timeout,
    )
    lane = Lane(ask=ask, tally=tally)
    board.obeyed_by(lane)
    run_ahead = RunAhead(
        catalogues=doors.catalogues,
        schemas=doors.schemas,
        guard=doors.gate,
        as_they_are=AsTheyAre(key_ring=doors.key_ring, clock=doors.clock),
        switches=board,
        upstreams=doors.upstreams,
        lane=lane,
        clock=doors.clock,
        turned_down=tally.turned_down,
    )
    layers = Layers(counts=ahead.counts, clock=doors.clock)
    watching = Watching(
        tasks=Tasks(begin=Course),
        run_ahead=run_ahead,
        layers=layers,
        catalogues=doors.catalogues,
        contexts=doors.gate.contexts,
        switches=board,
        tally=tally,
        clock=doors.clock,
    )
    return RunningAhead(lane=lane, run_ahead=run_ahead, layers=layers, watching=watching)
