"""Suggestions put on their doors: what makes them, runs them, and learns from what was run."""

from collections.abc import Callable
from dataclasses import dataclass

from portico.adapters.postgres.learning.suggestions import PostgresPastPlans, PostgresSuggestions
from portico.adapters.postgres.transaction import Transactions
from portico.gateway.catalog import Catalogues
from portico.gateway.ports import Embedder, Results
from portico.gateway.search import LookUp
from portico.guard.ports import Contexts, Together
from portico.interfaces.http.use_cases import SuggestUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.learning.graph.graphs import Graphs
from portico.learning.ports import Learns, SeenFlows
from portico.learning.suggest.gather_evidence import GatherEvidence
from portico.learning.suggest.give_feedback import GiveFeedback
from portico.learning.suggest.plan_lessons import PlanLessons
from portico.learning.suggest.read_first import ReadFirst
from portico.learning.suggest.settle import Settle
from portico.learning.suggest.suggest_workflow import SuggestWorkflow
from portico.learning.suggest.take_suggestion import TakeSuggestion
from portico.learning.suggest.these import These
from portico.learning.suggest_ports import PastPlanBook, Suggestions
from portico.workflows.core.plan import Expressions


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
