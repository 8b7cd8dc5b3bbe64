"""Plans in memory: both engines in this process, what is kept sealed in the same world."""

from datetime import timedelta

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.app.assemble_approvals import ApprovalDoors
from portico.app.assemble_workflows import WorkflowDoors
from portico.app.starting import CALLING, starting
from portico.app.workflows import InlineEngine, inline_engine, inline_side
from portico.gateway.ports import SchemaCheck
from portico.testing.calls import MemoryCallHistory
from portico.workflows.core.plan_report import Mode
from portico.workflows.execution import Engines, EngineSide
from portico.workflows.run_context import SealedOutputs


def memory_workflows(
    approvals: ApprovalDoors, durable: InlineEngine, schemas: SchemaCheck
) -> WorkflowDoors:
    """`durable` stands in for the engine that survives; its runs may wait for people."""
    clock, entropy = approvals.clock, approvals.entropy
    if isinstance(approvals.history, MemoryCallHistory):
        approvals.history.look_at(durable.runs)
    quick = inline_engine(clock, entropy)
    side = EngineSide(
        mode=Mode.DURABLE,
        book=durable.runs,
        runs=durable.runs,
        line=durable.line,
        bus=durable.bus,
        start_run=starting(durable.runs, durable.line, clock, entropy, *CALLING),
        outputs=lambda: SealedOutputs(approvals.results, clock, entropy, timedelta(days=7)),
    )
    return WorkflowDoors(
        engines=Engines(durable=side, inline=inline_side(quick, clock, entropy)),
        inline_journal=quick.runs,
        approvals=approvals,
        history=approvals.history,
        contexts=approvals.contexts,
        expressions=JmespathExpressions(),
        schemas=schemas,
        audit=approvals.audit,
        together=approvals.together,
        clock=clock,
        entropy=entropy,
    )
