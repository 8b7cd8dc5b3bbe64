"""Saved workflows put on their doors: what is done with them, and the server whose tools they
are."""

from dataclasses import dataclass

from portico.adapters.cross_domain.tool_servers import WorkflowRunning
from portico.engine.ports import Bus
from portico.gateway.catalog import Catalogues
from portico.gateway.ports import Servers, Tools, house
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, Together
from portico.interfaces.http.use_cases import SavedUseCases, WorkflowUseCases
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.learning.dataflow.propose_edges import ProposeEdges
from portico.learning.suggest.take_suggestion import TakeSuggestion
from portico.workflows.core.plan import Expressions
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.saved import tool_definition
from portico.workflows.plan_checks import CheckPlan
from portico.workflows.runs import RunWorkflow, StartSaved
from portico.workflows.saved import (
    InnerWorkflows,
    ListSaved,
    RemoveSaved,
    SavedWorkflows,
    SaveWorkflow,
    ShowSaved,
)
from portico.workflows.step_calls import OneCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedDoors:
    saved: SavedWorkflows
    servers: Servers
    tools: Tools
    tokenizer: Tokenizer
    together: Together
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    def use_cases(self, catalogues: Catalogues, check_plan: CheckPlan) -> SavedUseCases:
        list_saved = ListSaved(saved=self.saved, servers=self.servers, catalogues=catalogues)
        return SavedUseCases(
            save_workflow=SaveWorkflow(
                saved=self.saved,
                servers=self.servers,
                tools=self.tools,
                catalogues=catalogues,
                check_plan=check_plan,
                tokenizer=self.tokenizer,
                together=self.together,
                audit=self.audit,
                bus=self.bus,
                clock=self.clock,
                entropy=self.entropy,
            ),
            list_saved=list_saved,
            show_saved=ShowSaved(list_saved=list_saved),
            remove_saved=RemoveSaved(
                saved=self.saved,
                servers=self.servers,
                tools=self.tools,
                audit=self.audit,
                bus=self.bus,
                clock=self.clock,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRunning:
    """What runs them, by name or as tools, once there is something to call through."""

    kept: SavedWorkflows
    saved: SavedUseCases
    workflows: WorkflowUseCases
    check_plan: CheckPlan
    catalogues: Catalogues
    gate: Gate
    expressions: Expressions

    def run_workflow(
        self, propose_edges: ProposeEdges, take_suggestion: TakeSuggestion
    ) -> RunWorkflow:
        return RunWorkflow(
            check_plan=self.check_plan,
            propose_edges=propose_edges,
            start_workflow=self.workflows.start_workflow,
            start_saved=self.start_saved(),
            take_suggestion=take_suggestion,
            expressions=self.expressions,
        )

    def as_tools(self) -> WorkflowRunning:
        start_saved = self.start_saved()
        return WorkflowRunning(
            start=start_saved,
            admit=start_saved.admit,
            wait=self.workflows.wait_for_workflow,
            offered=self._offered,
            patience=self.workflows.wait,
        )

    def inner(self, one_call: OneCall) -> InnerWorkflows:
        return InnerWorkflows(
            one_call=one_call,
            expressions=self.expressions,
        )

    def start_saved(self) -> StartSaved:
        return StartSaved(
            show_saved=self.saved.show_saved,
            check_plan=self.check_plan,
            start_workflow=self.workflows.start_workflow,
            catalogues=self.catalogues,
            gate=self.gate,
        )

    async def _offered(self, space: SpaceId) -> list[JsonObject]:
        every = await self.kept.all(house(space))
        return [tool_definition(each, read_plan(each.plan, self.expressions)) for each in every]
