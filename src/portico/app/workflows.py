"""Plans on their real doors, and the engine of this process that quick ones run on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from portico.adapters.inline import BellLog, InlineBus, InlineLine, InlineRuns
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.runs import PostgresRunBook, PostgresRuns
from portico.adapters.postgres.transaction import BusAfterCommit, LineAfterCommit
from portico.app.assemble_approvals import ApprovalDoors
from portico.app.assemble_workflows import WorkflowDoors, WorkflowLimits
from portico.app.outside import Outside
from portico.app.starting import CALLING, starting
from portico.engine.core.runs import Queue
from portico.engine.runs import Kind
from portico.gateway.ports import CallHistory, Results, SchemaCheck
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock, Entropy
from portico.settings.gateway import WorkflowsSettings
from portico.workflows.core.plan_report import Mode
from portico.workflows.execution import Engines, EngineSide
from portico.workflows.run_context import MemoryOutputs, SealedOutputs

_REMEMBERED = 2_000
"""Runs of this process that are over."""
_SELDOM = 60.0
"""Seconds; what runs here waits for no time and for nobody."""


@dataclass(frozen=True, slots=True)
class InlineEngine:
    runs: InlineRuns
    line: InlineLine
    bus: InlineBus

    async def run(self, doors: WorkflowDoors, kinds: Sequence[Kind]) -> None:
        """Carries out what is started here, until it is cancelled."""
        async with self.line.working(doors.inline_leg(kinds), self.runs.due):
            await asyncio.Event().wait()


def inline_engine(clock: Clock, entropy: Entropy) -> InlineEngine:
    bus = InlineBus()
    runs = InlineRuns(clock, entropy, bus, BellLog(bus), most=_REMEMBERED)
    line = InlineLine([Queue(name="runs")], clock, look=_SELDOM)
    return InlineEngine(runs, line, bus)


def inline_side(engine: InlineEngine, clock: Clock, entropy: Entropy) -> EngineSide:
    outputs = MemoryOutputs(clock, entropy)
    return EngineSide(
        mode=Mode.INLINE,
        book=engine.runs,
        runs=engine.runs,
        line=engine.line,
        bus=engine.bus,
        start_run=starting(engine.runs, engine.line, clock, entropy, *CALLING),
        outputs=lambda: outputs,
    )


def open_workflows(
    settings: WorkflowsSettings,
    outside: Outside,
    line: LineAfterCommit,
    side: "GatewayDoorsOfPlans",
    inline: InlineEngine,
) -> WorkflowDoors:
    from portico.adapters.jmespath.expressions import JmespathExpressions

    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    log = PostgresEventLog(transactions, outside.bus, clock, entropy)
    runs = PostgresRuns(transactions, log, bus=outside.bus, clock=clock, entropy=entropy)
    durable = EngineSide(
        mode=Mode.DURABLE,
        book=PostgresRunBook(transactions),
        runs=runs,
        line=line,
        bus=BusAfterCommit(outside.bus, transactions),
        start_run=starting(runs, line, clock, entropy, *CALLING),
        outputs=lambda: SealedOutputs(
            side.results, clock, entropy, timedelta(days=settings.keep_days)
        ),
    )
    return WorkflowDoors(
        engines=Engines(durable=durable, inline=inline_side(inline, clock, entropy)),
        inline_journal=inline.runs,
        approvals=side.approvals,
        history=side.history,
        contexts=side.contexts,
        expressions=JmespathExpressions(),
        schemas=side.schemas,
        audit=outside.audit,
        together=transactions.begin,
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
class GatewayDoorsOfPlans:
    """What plans need of the gateway, and it has before it is put together."""

    approvals: ApprovalDoors
    history: CallHistory
    contexts: Contexts
    results: Results
    schemas: SchemaCheck
