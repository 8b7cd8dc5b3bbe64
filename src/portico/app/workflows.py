"""Workflows and programs: their use cases, and the engines that they run on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from portico.adapters.cross_domain.tool_servers import WorkflowRunning
from portico.adapters.inline import BellLog, InlineBus, InlineRunQueue, InlineRuns
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.transaction import BusAfterCommit, EnqueueAfterCommit
from portico.app.guard_wiring import ApprovalDependencies
from portico.app.run_workers import CALLING, starting
from portico.app.shared_dependencies import SharedDependencies
from portico.engine.core.runs import Cleaning, QueueConfig, as_it_is
from portico.engine.execution import RunActivation
from portico.engine.ports import Bus, Journal
from portico.engine.runs import Kind, Kinds
from portico.gateway.calls import CallTool
from portico.gateway.catalog import Catalogs
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.ports import CallHistory, Results, SchemaCheck, Servers, Tools, house
from portico.gateway.results import StoreResult
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, Contexts, UnitOfWork
from portico.interfaces.http.use_cases import ProgramUseCases, SavedUseCases, WorkflowUseCases
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.learning.dataflow import ProposeEdges
from portico.learning.suggestions import TakeSuggestion
from portico.settings.gateway import WorkflowsSettings
from portico.workflows.control import (
    CancelWorkflow,
    FindInFlight,
    ForkWorkflow,
    ResolveStep,
    ResumeWorkflow,
)
from portico.workflows.core.plan import Expressions
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_learning import PlanObserver
from portico.workflows.core.plan_report import Mode
from portico.workflows.core.programs import PROGRAM, ProgramLimits
from portico.workflows.core.saved import tool_definition
from portico.workflows.execution import WORKFLOW, Engines, EngineSide, RunPlan
from portico.workflows.plan_checks import AdmitPlan, CheckPlan
from portico.workflows.programs import (
    FetchToolMetadata,
    OpenInterpreter,
    RunProgram,
    ShowProgram,
    StartProgram,
    TakeBack,
    WaitForProgram,
)
from portico.workflows.programs import Turns as ProgramTurns
from portico.workflows.run_context import ActFor, MemoryOutputs, SealedOutputs, Turns
from portico.workflows.run_queries import ListWorkflows, ShowWorkflow
from portico.workflows.runs import RunWorkflow, StartSaved, StartWorkflow, WaitForWorkflow
from portico.workflows.saved import (
    InnerWorkflows,
    ListSaved,
    RemoveSaved,
    SavedWorkflows,
    SaveWorkflow,
    ShowSaved,
)
from portico.workflows.step_calls import CalledWith, MakeCall, OneCall, ReadEnd, StepCall


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowLimits:
    calls_a_server: int = 256
    calls_at_once: int = 256
    wait: timedelta = timedelta(seconds=50)
    output_characters: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDependencies:
    engines: Engines
    inline_journal: Journal
    approvals: ApprovalDependencies
    history: CallHistory
    contexts: Contexts
    expressions: Expressions
    schemas: SchemaCheck
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy
    clean: Cleaning = as_it_is
    limits: WorkflowLimits = WorkflowLimits()

    def act_for(self, side: EngineSide) -> ActFor:
        key_ring = self.approvals.key_ring
        return ActFor(
            as_they_are=RevalidatePrincipal(key_ring=key_ring, clock=self.clock),
            new_outputs=side.outputs,
            clock=self.clock,
            waits=side is self.engines.durable,
        )

    def step_call(self, call_tool: CallTool, catalogues: Catalogs) -> StepCall:
        """For every run of this process: they share its turns."""

        async def effect_of(caller: Principal, ref: ToolRef) -> Effect:
            try:
                return (await catalogues.current(caller)).find(ref).effect
            except PorticoError:  # the call itself is refused for it, and that is in the audit
                return Effect.UNKNOWN

        return StepCall(
            make=MakeCall(
                call_tool=call_tool,
                effect_of=effect_of,
                history=self.history,
                servers=Turns(self.limits.calls_a_server),
                runs=Turns(self.limits.calls_at_once),
                clock=self.clock,
            ),
            read_end=ReadEnd(
                approvals=self.approvals.approvals,
                read_outcome=self.approvals.read_outcome(),
                clock=self.clock,
            ),
        )

    def kind(self, calls: OneCall, side: EngineSide, observer: PlanObserver) -> Kind:
        """Nobody starts one by its name: it begins with a plan."""
        work = RunPlan(
            act_for=self.act_for(side),
            step_call=calls,
            expressions=self.expressions,
            history=self.history,
            book=side.book,
            observer=observer,
        )
        return Kind(name=WORKFLOW, work=work)

    def inline_leg(self, kinds: Sequence[Kind]) -> RunActivation:
        """What carries out the runs of this process alone."""
        return RunActivation(
            journal=self.inline_journal,
            bus=self.engines.inline.bus,
            kinds=Kinds(kinds),
            clock=self.clock,
            clean=self.clean,
        )

    def show(self) -> ShowWorkflow:
        return ShowWorkflow(
            engines=self.engines,
            approvals=self.approvals.approvals,
            contexts=self.contexts,
            history=self.history,
            output_characters=self.limits.output_characters,
        )

    def use_cases(self, catalogues: Catalogs) -> WorkflowUseCases:
        engines, audit, show = self.engines, self.audit, self.show()
        admit = AdmitPlan(
            catalogues=catalogues,
            contexts=self.contexts,
            expressions=self.expressions,
            schemas=self.schemas,
        )
        find_begun = FindInFlight(
            approvals=self.approvals.approvals, history=self.history, clock=self.clock
        )
        return WorkflowUseCases(
            start_workflow=StartWorkflow(
                engines=engines, admit=admit, audit=audit, unit_of_work=self.unit_of_work
            ),
            show_workflow=show,
            wait_for_workflow=WaitForWorkflow(engines=engines, show=show),
            list_workflows=ListWorkflows(engines=engines),
            cancel_workflow=CancelWorkflow(
                engines=engines,
                approvals=self.approvals.approvals,
                withdraw=self.approvals.withdraw(),
                audit=audit,
                unit_of_work=self.unit_of_work,
            ),
            resume_workflow=ResumeWorkflow(
                engines=engines,
                find_begun=find_begun,
                withdraw=self.approvals.withdraw(),
                contexts=self.contexts,
                audit=audit,
                unit_of_work=self.unit_of_work,
            ),
            fork_workflow=ForkWorkflow(
                engines=engines,
                admit=admit,
                find_begun=find_begun,
                contexts=self.contexts,
                expressions=self.expressions,
                audit=audit,
                unit_of_work=self.unit_of_work,
                clock=self.clock,
                entropy=self.entropy,
            ),
            resolve_step=ResolveStep(
                engines=engines,
                resolve_approval=self.approvals.resolve(),
                audit=audit,
                unit_of_work=self.unit_of_work,
            ),
            wait=self.limits.wait,
        )


_REMEMBERED = 2_000
"""Runs of this process that are over."""
_SELDOM = 60.0
"""Seconds; what runs here waits for no time and for nobody."""


@dataclass(frozen=True, slots=True)
class InlineEngine:
    runs: InlineRuns
    line: InlineRunQueue
    bus: InlineBus

    async def run(self, doors: WorkflowDependencies, kinds: Sequence[Kind]) -> None:
        """Carries out what is started here, until it is cancelled."""
        async with self.line.working(doors.inline_leg(kinds), self.runs.due):
            await asyncio.Event().wait()


def inline_engine(clock: Clock, entropy: Entropy) -> InlineEngine:
    bus = InlineBus()
    runs = InlineRuns(clock, entropy, bus, BellLog(bus), most=_REMEMBERED)
    line = InlineRunQueue([QueueConfig(name="runs")], clock, look=_SELDOM)
    return InlineEngine(runs, line, bus)


def inline_side(engine: InlineEngine, clock: Clock, entropy: Entropy) -> EngineSide:
    outputs = MemoryOutputs(clock, entropy)
    return EngineSide(
        mode=Mode.INLINE,
        book=engine.runs,
        runs=engine.runs,
        queue=engine.line,
        bus=engine.bus,
        start_run=starting(engine.runs, engine.line, clock, entropy, *CALLING),
        outputs=lambda: outputs,
    )


def open_workflows(
    settings: WorkflowsSettings,
    outside: SharedDependencies,
    line: EnqueueAfterCommit,
    side: "PlanGatewayDependencies",
    inline: InlineEngine,
) -> WorkflowDependencies:
    from portico.adapters.jmespath.expressions import JmespathExpressions

    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    log = PostgresEventLog(transactions, outside.bus, clock, entropy)
    runs = PostgresRuns(transactions, log, bus=outside.bus, clock=clock, entropy=entropy)
    durable = EngineSide(
        mode=Mode.DURABLE,
        book=PostgresRunQueries(transactions),
        runs=runs,
        queue=line,
        bus=BusAfterCommit(outside.bus, transactions),
        start_run=starting(runs, line, clock, entropy, *CALLING),
        outputs=lambda: SealedOutputs(
            side.results, clock, entropy, timedelta(days=settings.keep_days)
        ),
    )
    return WorkflowDependencies(
        engines=Engines(durable=durable, inline=inline_side(inline, clock, entropy)),
        inline_journal=inline.runs,
        approvals=side.approvals,
        history=side.history,
        contexts=side.contexts,
        expressions=JmespathExpressions(),
        schemas=side.schemas,
        audit=outside.audit,
        unit_of_work=transactions.begin,
        clock=clock,
        entropy=entropy,
        clean=outside.clean,
        limits=WorkflowLimits(
            calls_a_server=settings.calls_a_server,
            calls_at_once=settings.calls_at_once,
            wait=timedelta(seconds=settings.wait_seconds),
            output_characters=settings.output_characters,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGatewayDependencies:
    """What plans need of the gateway, and it has before it is put together."""

    approvals: ApprovalDependencies
    history: CallHistory
    contexts: Contexts
    results: Results
    schemas: SchemaCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDependencies:
    workflows: WorkflowDependencies
    open_interpreter: OpenInterpreter
    catalogues: Catalogs
    keep_result: StoreResult
    limits: ProgramLimits = field(default_factory=ProgramLimits)

    def kind(self, step_call: OneCall, side: EngineSide) -> Kind:
        """Nobody starts one by its name: it begins with a program."""
        work = RunProgram(
            act_for=self.workflows.act_for(side),
            look_ahead=FetchToolMetadata(catalogues=self.catalogues),
            step_call=step_call,
            turns=ProgramTurns(
                open_interpreter=self.open_interpreter,
                clock=self.workflows.clock,
                limits=self.limits,
            ),
            take_back=TakeBack(
                book=side.book,
                approvals=self.workflows.approvals.approvals,
                withdraw=self.workflows.approvals.withdraw(),
            ),
        )
        return Kind(name=PROGRAM, work=work)

    def use_cases(self, show_workflow: ShowWorkflow) -> ProgramUseCases:
        show = ShowProgram(
            engines=self.workflows.engines,
            uncertain=show_workflow.uncertain,
            called_with=CalledWith(history=self.workflows.history),
            contexts=self.workflows.contexts,
            keep_result=self.keep_result,
        )
        return ProgramUseCases(
            start_program=StartProgram(
                engines=self.workflows.engines,
                catalogues=self.catalogues,
                contexts=self.workflows.contexts,
                audit=self.workflows.audit,
                unit_of_work=self.workflows.unit_of_work,
            ),
            show_program=show,
            wait_for_program=WaitForProgram(show=show),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWorkflowDependencies:
    saved: SavedWorkflows
    servers: Servers
    tools: Tools
    tokenizer: Tokenizer
    unit_of_work: UnitOfWork
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    def use_cases(self, catalogues: Catalogs, check_plan: CheckPlan) -> SavedUseCases:
        list_saved = ListSaved(saved=self.saved, servers=self.servers, catalogues=catalogues)
        return SavedUseCases(
            save_workflow=SaveWorkflow(
                saved=self.saved,
                servers=self.servers,
                tools=self.tools,
                catalogues=catalogues,
                check_plan=check_plan,
                tokenizer=self.tokenizer,
                unit_of_work=self.unit_of_work,
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

    stored: SavedWorkflows
    saved: SavedUseCases
    workflows: WorkflowUseCases
    check_plan: CheckPlan
    catalogues: Catalogs
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
        every = await self.stored.all(house(space))
        return [tool_definition(each, read_plan(each.plan, self.expressions)) for each in every]
