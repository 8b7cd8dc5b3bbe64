"""Plans put on their doors: the two engines that they run on, and what is done with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from portico.app.assemble_approvals import ApprovalDoors
from portico.engine.core.runs import Cleaning, as_it_is
from portico.engine.execution import RunLeg
from portico.engine.ports import Journal
from portico.engine.runs import Kind, Kinds
from portico.gateway.calls import CallTool
from portico.gateway.catalog import Catalogues
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.ports import CallHistory, SchemaCheck
from portico.guard.authentication import AsTheyAre
from portico.guard.ports import Audit, Contexts, Together
from portico.interfaces.http.use_cases import WorkflowUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from portico.workflows.control import (
    CancelWorkflow,
    FindBegun,
    ForkWorkflow,
    ResolveStep,
    ResumeWorkflow,
)
from portico.workflows.core.plan import Expressions
from portico.workflows.core.plan_learning import PlanObserver
from portico.workflows.execution import WORKFLOW, Engines, EngineSide, RunPlan
from portico.workflows.plan_checks import AdmitPlan
from portico.workflows.run_context import ActFor, Turns
from portico.workflows.run_queries import ListWorkflows, ShowWorkflow
from portico.workflows.runs import StartWorkflow, WaitForWorkflow
from portico.workflows.step_calls import MakeCall, OneCall, ReadEnd, StepCall


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowLimits:
    calls_a_server: int = 256
    calls_at_once: int = 256
    wait: timedelta = timedelta(seconds=50)
    output_characters: int = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDoors:
    engines: Engines
    inline_journal: Journal
    approvals: ApprovalDoors
    history: CallHistory
    contexts: Contexts
    expressions: Expressions
    schemas: SchemaCheck
    audit: Audit
    together: Together
    clock: Clock
    entropy: Entropy
    clean: Cleaning = as_it_is
    limits: WorkflowLimits = WorkflowLimits()

    def act_for(self, side: EngineSide) -> ActFor:
        key_ring = self.approvals.key_ring
        return ActFor(
            as_they_are=AsTheyAre(key_ring=key_ring, clock=self.clock),
            new_outputs=side.outputs,
            clock=self.clock,
            waits=side is self.engines.durable,
        )

    def step_call(self, call_tool: CallTool, catalogues: Catalogues) -> StepCall:
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

    def inline_leg(self, kinds: Sequence[Kind]) -> RunLeg:
        """What carries out the runs of this process alone."""
        return RunLeg(
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

    def use_cases(self, catalogues: Catalogues) -> WorkflowUseCases:
        engines, audit, show = self.engines, self.audit, self.show()
        admit = AdmitPlan(
            catalogues=catalogues,
            contexts=self.contexts,
            expressions=self.expressions,
            schemas=self.schemas,
        )
        find_begun = FindBegun(
            approvals=self.approvals.approvals, history=self.history, clock=self.clock
        )
        return WorkflowUseCases(
            start_workflow=StartWorkflow(
                engines=engines, admit=admit, audit=audit, together=self.together
            ),
            show_workflow=show,
            wait_for_workflow=WaitForWorkflow(engines=engines, show=show),
            list_workflows=ListWorkflows(engines=engines),
            cancel_workflow=CancelWorkflow(
                engines=engines,
                approvals=self.approvals.approvals,
                withdraw=self.approvals.withdraw(),
                audit=audit,
                together=self.together,
            ),
            resume_workflow=ResumeWorkflow(
                engines=engines,
                find_begun=find_begun,
                withdraw=self.approvals.withdraw(),
                contexts=self.contexts,
                audit=audit,
                together=self.together,
            ),
            fork_workflow=ForkWorkflow(
                engines=engines,
                admit=admit,
                find_begun=find_begun,
                contexts=self.contexts,
                expressions=self.expressions,
                audit=audit,
                together=self.together,
                clock=self.clock,
                entropy=self.entropy,
            ),
            resolve_step=ResolveStep(
                engines=engines,
                resolve_approval=self.approvals.resolve(),
                audit=audit,
                together=self.together,
            ),
            wait=self.limits.wait,
        )
