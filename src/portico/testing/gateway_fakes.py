"""Every port of the gateway in memory; what needs no outside is the real thing."""

from datetime import timedelta
from typing import Final

from portico.adapters.cross_domain.approval_runs import RunsThatWait
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.json_schema import JsonSchemaCheck
from portico.adapters.stemming import stem
from portico.adapters.system.shipped_lists import shipped_effects, shipped_profiles
from portico.adapters.tokens import O200k
from portico.app.gateway_wiring import GatewayDependencies, Limits
from portico.app.guard_wiring import ApprovalDependencies, LoginDependencies, PolicyDependencies
from portico.app.learning import LearningDependencies, PrefetchDependencies, SuggestDependencies
from portico.app.run_workers import CALLING, starting
from portico.app.workflows import InlineEngine, WorkflowDependencies, inline_engine, inline_side
from portico.engine.ports import Bus
from portico.gateway.calls import Asking
from portico.gateway.core.calls import Called
from portico.gateway.ports import ClientChannel, Embedder, SchemaCheck, ServerConfinement, Upstreams
from portico.gateway.results import StoreResult
from portico.guard.approvals import ApprovalRuns
from portico.guard.core.access_request import AccessRequest, NeedsApproval
from portico.guard.core.approvals import Waiter
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.oauth_logins import AuthorizationServers
from portico.guard.ports import Audit, Rules
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ApprovalId, SpaceId
from portico.kernel.label import Label, Level
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.sandbox.requests import Interpreter
from portico.testing.approvals import MemoryApprovals, RecordedApprovalEvents, ScriptedApprovalRuns
from portico.testing.engine import MemoryEventLog
from portico.testing.gateway import (
    MemoryCallHistory,
    MemoryElsewhere,
    MemoryResults,
    MemorySavedWorkflows,
    MemoryServers,
    MemoryTools,
    MemoryToolUsageStore,
    MemoryVectors,
)
from portico.testing.guard import (
    MemoryAudit,
    MemoryKeyRing,
    MemoryKeys,
    MemoryPrincipals,
    MemoryRules,
    MemorySpaceSettings,
    MemoryTaskContexts,
    MemoryTrustedClients,
    NoLimits,
)
from portico.testing.learning import (
    MemoryEdgeStore,
    MemoryLearnedCounts,
    MemoryObservedFlows,
    MemoryPastPlans,
    MemoryShapes,
    MemorySuggestions,
)
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, together
from portico.testing.sandbox import ScriptedInterpreter, ScriptedServerConfinement
from portico.testing.secrets import (
    MemoryLoginClients,
    MemoryLogins,
    MemorySecrets,
    MemoryVault,
    ScriptedSignIn,
)
from portico.workflows.core.plan_report import Mode
from portico.workflows.execution import Engines, EngineSide
from portico.workflows.run_context import SealedOutputs


class MemoryPrefetchMeter:
    """An `PrefetchMeter` whose counts a test can look at."""

    def __init__(self) -> None:
        self.calls = self.predictions = self.tries = self.hits = 0
        self.saved = timedelta()
        self.waste: list[WasteReason] = []
        self.refusals: list[str] = []

    def called(self) -> None:
        self.calls += 1

    def predicted(self, *, live: bool) -> None:  # noqa: ARG002 # both are predictions
        self.predictions += 1

    def tried(self) -> None:
        self.tries += 1

    def served(self, saved: timedelta) -> None:
        self.hits += 1
        self.saved += saved

    def wasted(self, why: WasteReason) -> None:
        self.waste.append(why)

    def refused(self, gate: str) -> None:
        self.refusals.append(gate)


def memory_ahead(
    world: InMemoryStore, bus: Bus, clock: Clock, terms: PrefetchLimits | None = None
) -> PrefetchDependencies:
    return PrefetchDependencies(
        terms=terms or PrefetchLimits(),
        settings=MemorySpaceSettings(world),
        counts=MemoryLearnedCounts(world),
        log=MemoryEventLog(world, bus, clock),
        bus=bus,
        meter=MemoryPrefetchMeter(),
        elsewhere=MemoryElsewhere(world, clock),
    )


# Plans in memory: both engines in this process, what is kept sealed in the same world.


def memory_workflows(
    approvals: ApprovalDependencies, durable: InlineEngine, schemas: SchemaCheck
) -> WorkflowDependencies:
    """`durable` stands in for the engine that survives; its runs may wait for people."""
    clock, entropy = approvals.clock, approvals.entropy
    if isinstance(approvals.history, MemoryCallHistory):
        approvals.history.look_at(durable.runs)
    quick = inline_engine(clock, entropy)
    side = EngineSide(
        mode=Mode.DURABLE,
        book=durable.runs,
        runs=durable.runs,
        queue=durable.line,
        bus=durable.bus,
        start_run=starting(durable.runs, durable.line, clock, entropy, *CALLING),
        outputs=lambda: SealedOutputs(approvals.results, clock, entropy, timedelta(days=7)),
    )
    return WorkflowDependencies(
        engines=Engines(durable=side, inline=inline_side(quick, clock, entropy)),
        inline_journal=quick.runs,
        approvals=approvals,
        history=approvals.history,
        contexts=approvals.contexts,
        expressions=JmespathExpressions(),
        schemas=schemas,
        audit=approvals.audit,
        unit_of_work=approvals.unit_of_work,
        clock=clock,
        entropy=entropy,
    )


_SHIPPED: Final = shipped_effects()
_PROFILES: Final = shipped_profiles()
"""Read here, not where a loop is running."""


ANYTHING: Final = Rule(
    name="anything",
    ruling=Ruling.ALLOW,
    tools=("*",),
    tainted=True,
    max_label=Label(Level.RESTRICTED, frozenset({"finance", "hr", "legal"})),
    source=RuleSource.FILE,
)
"""Nobody is asked for anything: for a test of what comes after the decision, which says so."""


class NobodyAnswers:
    """Whoever has to ask first is told to come back later."""

    def __init__(self) -> None:
        self.asked: list[tuple[AccessRequest, NeedsApproval]] = []

    async def __call__(
        self,
        act: AccessRequest,
        decision: NeedsApproval,
        *,
        line: ClientChannel | None,  # noqa: ARG002 # there is nothing to tell
        whole: bool,  # noqa: ARG002 # nor to give
        waiter: Waiter | None = None,  # noqa: ARG002 # nor to be told later
    ) -> Called:
        self.asked.append((act, decision))
        approval = ApprovalId.mint(BEGINNING, SeededEntropy(act.hash))
        raise ApprovalPending(act.target.tool, str(approval), BEGINNING)

    async def in_place(
        self,
        act: AccessRequest,  # noqa: ARG002 # nothing waits for any
        *,
        line: ClientChannel | None,  # noqa: ARG002 # there is nothing to tell
        whole: bool,  # noqa: ARG002 # nor to give
        waiter: Waiter | None = None,  # noqa: ARG002 # nor to be told later
    ) -> Called | None:
        return None


def memory_gateway(  # noqa: PLR0913 # a double each
    world: InMemoryStore,
    upstreams: Upstreams,
    *,
    bus: Bus,
    clock: Clock,
    entropy: Entropy,
    encoder: Embedder | None = None,
    limits: Limits | None = None,
    walls: ServerConfinement | None = None,
    rules: Rules | None = None,
    ask_first: Asking | None = None,
    audit: Audit | None = None,
    errands: ApprovalRuns | None = None,
    sign_in: AuthorizationServers | None = None,
    interpreter: Interpreter | None = None,
    engine: InlineEngine | None = None,
    ahead: PrefetchLimits | None = None,
) -> GatewayDependencies:
    """Without `rules` there are none, and what Portico decides by itself counts."""
    contexts, journal = MemoryTaskContexts(world), audit or MemoryAudit()
    policy = PolicyDependencies(
        rules=rules or MemoryRules(world=world),
        contexts=contexts,
        limits=NoLimits(),
        journal=journal,
        principals=MemoryPrincipals(world),
        keys=MemoryKeys(world),
        unit_of_work=together,
        clock=clock,
        entropy=entropy,
    )
    history, results = MemoryCallHistory(world, clock), MemoryResults(world)
    limits = limits or Limits()

    async def open_interpreter() -> Interpreter:
        return interpreter or ScriptedInterpreter()

    engine = engine or inline_engine(clock, entropy)
    approvals = ApprovalDependencies(
        waiters=RunsThatWait(engine.runs),
        approvals=MemoryApprovals(world),
        approval_runs=errands or ScriptedApprovalRuns(),
        news=RecordedApprovalEvents(),
        rules=policy.rules,
        contexts=contexts,
        key_ring=MemoryKeyRing(world),
        vault=MemoryVault(),
        audit=journal,
        unit_of_work=together,
        history=history,
        results=results,
        keep_result=StoreResult(
            results=results, clock=clock, entropy=entropy, page_size=limits.page_size
        ),
        keys=MemoryKeys(world),
        principals=MemoryPrincipals(world),
        trusted=MemoryTrustedClients(world),
        bus=bus,
        clock=clock,
        entropy=entropy,
        hide=lambda value: value,
        wait=timedelta(0),
    )
    logins = LoginDependencies(
        authorization=sign_in or ScriptedSignIn(),
        clients=MemoryLoginClients(world),
        logins=MemoryLogins(world),
        principals=MemoryPrincipals(world),
        audit=journal,
        reveal=_nothing,
        clock=clock,
        entropy=entropy,
        base_url="http://127.0.0.1:3100",
    )
    return GatewayDependencies(
        servers=MemoryServers(world),
        tools=MemoryTools(world),
        vectors=MemoryVectors(world),
        history=history,
        results=results,
        tool_usage=MemoryToolUsageStore(world),
        learning=LearningDependencies(
            shapes=MemoryShapes(world),
            flows=MemoryObservedFlows(world),
            edges=MemoryEdgeStore(world),
        ),
        ahead=memory_ahead(world, bus, clock, ahead),
        suggest=SuggestDependencies(
            past=MemoryPastPlans(world), suggestions=MemorySuggestions(world)
        ),
        saved=MemorySavedWorkflows(world),
        upstreams=logins.upstreams(upstreams),
        confinement=walls or ScriptedServerConfinement(),
        schemas=JsonSchemaCheck(),
        open_interpreter=open_interpreter,
        workflows=memory_workflows(approvals, engine, JsonSchemaCheck()),
        static=StaticTable(),
        encoder=encoder,
        stem=stem,
        tokenizer=O200k(),
        shipped=_SHIPPED,
        profiles=_PROFILES,
        gate=policy.gate(),
        policy=policy,
        ask_first=ask_first or NobodyAnswers(),
        approvals=approvals,
        logins=logins,
        secrets=MemorySecrets(),
        contexts=contexts,
        audit=journal,
        unit_of_work=together,
        bus=bus,
        clock=clock,
        entropy=entropy,
        clean=lambda value: value,
        limits=limits,
    )


async def _nothing(_space: SpaceId, _reference: str) -> str | None:
    """No secrets are kept here."""
    return None
