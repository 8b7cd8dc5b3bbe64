"""The bridge's house with the room of debates in it, upon the same database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from portico.adapters.cross_domain.approval_runs import EngineApprovalRuns
from portico.adapters.cross_domain.debaters import DebateMaterial
from portico.adapters.cross_domain.event_sinks import WORDING, DebateEventLog
from portico.adapters.cross_domain.promotion import PROMOTION, CarryOutPromotion, DebatePromotion
from portico.adapters.cross_domain.run_contexts import DebateTasks
from portico.adapters.inline import InlineRunQueue
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.debate.budgets import PostgresBudgetLedger
from portico.adapters.postgres.debate.debates import PostgresBlackboard
from portico.adapters.postgres.debate.outcomes import (
    PostgresOutcomes,
    PostgresPersonas,
    PostgresPromotions,
)
from portico.adapters.postgres.debate.seats import PostgresSeats
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.guard.approvals import PostgresApprovals
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.app.debates import DebateDependencies, assemble_debates, debate_kinds
from portico.app.run_workers import starting
from portico.bridge.core.declassification import found
from portico.debate.core.debates import Debate
from portico.engine.core.runs import QueueConfig
from portico.engine.event_log import Tails
from portico.engine.runs import Kind
from portico.guard.approvals import Approvals
from portico.guard.ports import Spaces
from portico.interfaces.http.use_cases import DebateUseCases
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal
from portico.testing.agents import Words
from portico.testing.debate_fakes import (
    MemoryDebateLogs,
    ScriptedDebater,
    ScriptedDebaters,
    SpellingMeaning,
)
from portico.workflows.core.plan_report import Mode
from portico.workflows.execution import EngineSide
from portico.workflows.run_context import Outputs
from tests.storm.walled_house import WalledHouse, walled_house


@dataclass
class DebateHouse:
    house: WalledHouse
    doors: DebateDependencies
    spaces: Spaces
    approvals: Approvals
    promotions: PostgresPromotions
    use_cases: DebateUseCases = field(init=False)

    def __post_init__(self) -> None:
        self.use_cases = assemble_debates(self.doors)

    async def carried_out(self, debate: Debate) -> None:
        """Its run, here and now, to its end or to where it waits."""
        await self.house.carried_out(debate.run, *debate_kinds(self.doors))

    async def allowed(self, approval: ApprovalId, by: Principal) -> None:
        """Said yes to by somebody, and carried out."""
        run, lowering = await self.house.said_yes(approval, by)
        lowering = replace(lowering, approvals=self.approvals, unit_of_work=self.doors.unit_of_work)
        work = CarryOutPromotion.beside(
            lowering, blackboard=self.doors.blackboard, promotions=self.promotions
        )
        await self.house.carried_out(run, Kind(name=PROMOTION, work=work))


@asynccontextmanager
async def debate_house(
    addresses: Addresses, *voices: ScriptedDebater, space: str = "home", connections: int = 6
) -> AsyncIterator[DebateHouse]:
    async with (
        walled_house(addresses, space=space, connections=connections) as house,
        open_pool(addresses.app, connections) as pool,
    ):
        transactions = Transactions(pool)
        yield DebateHouse(
            house=house,
            doors=_doors(house, transactions, ScriptedDebaters(*voices)),
            spaces=PostgresSpaces(transactions),
            approvals=PostgresApprovals(transactions),
            promotions=PostgresPromotions(transactions),
        )


def _no_outputs() -> Outputs:
    """Debates give none."""
    raise NotImplementedError


def _doors(
    house: WalledHouse, transactions: Transactions, voices: ScriptedDebaters
) -> DebateDependencies:
    bridge, clock, entropy = house.doors, house.doors.clock, house.doors.entropy
    line, bus = InlineRunQueue([QueueConfig(name="runs")], clock), house.errands.bus
    blackboard = PostgresBlackboard(transactions)
    log = PostgresEventLog(transactions, bus, clock, entropy)
    tails = Tails(log=log, bus=bus, seal=bridge.seal, wording=WORDING)
    errands = EngineApprovalRuns(
        start_run=starting(house.runs, line, clock, entropy, PROMOTION),
        runs=house.runs,
        queue=line,
        bus=bus,
        kind=PROMOTION,
    )
    return DebateDependencies(
        debaters=voices,
        blackboard=blackboard,
        budget_ledger=PostgresBudgetLedger(transactions),
        seats=PostgresSeats(transactions),
        outcomes=PostgresOutcomes(transactions),
        personas=PostgresPersonas(transactions),
        meaning=SpellingMeaning(),
        tasks=DebateTasks(
            book=PostgresTaskContexts(transactions, clock),
            contexts=bridge.contexts,
            clock=clock,
            entropy=entropy,
        ),
        material=DebateMaterial(projects=bridge.projects, memory=bridge.memory),
        promotion=DebatePromotion(
            projects=bridge.projects,
            contexts=bridge.contexts,
            scan=found,
            ask=replace(bridge.ask, approval_runs=errands),
        ),
        event_sink=DebateEventLog(
            log=log, tails=tails, encrypt=bridge.seal, blackboard=blackboard, clock=clock
        ),
        logs=MemoryDebateLogs(),
        engine=EngineSide(
            mode=Mode.DURABLE,
            book=house.runs,
            runs=house.runs,
            queue=line,
            bus=bus,
            start_run=starting(house.runs, line, clock, entropy),
            outputs=_no_outputs,
        ),
        tokenizer=Words(),
        unit_of_work=transactions.begin,
        audit=bridge.audit,
        as_they_are=bridge.as_they_are,
        clock=clock,
        entropy=entropy,
    )
