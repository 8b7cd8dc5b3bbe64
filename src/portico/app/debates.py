"""Debates: their use cases, and the adapters that they run on."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from portico.adapters.cli_debaters.debaters import Availability, ProgramDebaters
from portico.adapters.cli_debaters.programs import USUAL, programs_of
from portico.adapters.cross_domain.debaters import (
    AgentDebaters,
    AllDebaters,
    DebateMaterial,
    ModelDebaters,
)
from portico.adapters.cross_domain.embeddings import DebateMeaning
from portico.adapters.cross_domain.event_sinks import WORDING, DebateEventLog
from portico.adapters.cross_domain.promotion import PROMOTION, CarryOutPromotion, DebatePromotion
from portico.adapters.cross_domain.run_contexts import DebateTasks
from portico.adapters.crypto import AesSivSeal
from portico.adapters.debate_logs import DebateLogs
from portico.adapters.postgres.bridge.conversations import PostgresProjects
from portico.adapters.postgres.bridge.memory import PostgresMemory
from portico.adapters.postgres.debate.budgets import PostgresBudgetLedger
from portico.adapters.postgres.debate.debates import PostgresBlackboard
from portico.adapters.postgres.debate.outcomes import (
    PostgresOutcomes,
    PostgresPersonas,
    PostgresPromotions,
)
from portico.adapters.postgres.debate.seats import PostgresSeats
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.tokens import O200k
from portico.app.agents import OpenedAgents
from portico.app.app_context import AppContext
from portico.app.bridge import OpenedBridge, ask_to_lower
from portico.app.gateway import Opened
from portico.app.run_workers import Lasting, ended, kept_up, starting
from portico.app.shared_dependencies import SharedDependencies
from portico.bridge.core.declassification import found
from portico.debate.analysis import RunAnalysis
from portico.debate.conduct import DEBATE, CompareAnswers, HoldDebate, RunDebate, TakeUp
from portico.debate.core.debates import Usual
from portico.debate.core.questions import Cap
from portico.debate.debaters import (
    AskDebater,
    ChooseDebaters,
    ListDebaters,
    ManagePersonas,
    ShortenAnswer,
)
from portico.debate.debates import (
    ANALYSIS,
    AskInChat,
    PrepareDebate,
    QueryDebates,
    RemoveDebate,
    ShareDebate,
    StartDebate,
    StopDebate,
    WaitForDebate,
)
from portico.debate.estimates import EstimateDebate, ProjectBudget
from portico.debate.events import FollowDebate
from portico.debate.guests import (
    AnswerAsGuest,
    CollectGuestAnswers,
    JoinDebate,
    WaitAtSeat,
    WakeDebate,
)
from portico.debate.outcomes import MarkOutcome, PromoteDebate
from portico.debate.ports import (
    Blackboard,
    BudgetLedger,
    DebateContexts,
    DebateEventSink,
    Debaters,
    Logs,
    Material,
    Meaning,
    Outcomes,
    Personas,
    Promotion,
    Seats,
)
from portico.debate.replay import KeepLogs, ReplayDebate
from portico.engine.event_log import Tails
from portico.engine.runs import Kind
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.ports import Audit, UnitOfWork
from portico.interfaces.http.use_cases import DebateUseCases, UseCases
from portico.interfaces.mcp.debate.definitions import DebateUses
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.settings.agents import DebateSettings
from portico.settings.load import process_environment
from portico.workflows.execution import EngineSide


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateDependencies:
    debaters: Debaters
    blackboard: Blackboard
    budget_ledger: BudgetLedger
    seats: Seats
    outcomes: Outcomes
    personas: Personas
    meaning: Meaning
    tasks: DebateContexts
    material: Material
    promotion: Promotion
    event_sink: DebateEventSink
    logs: Logs
    engine: EngineSide
    """That carries debates out."""
    tokenizer: Tokenizer
    unit_of_work: UnitOfWork
    audit: Audit
    as_they_are: RevalidatePrincipal
    clock: Clock
    entropy: Entropy
    usual: Usual = field(default_factory=Usual)

    @property
    def prepare(self) -> PrepareDebate:
        return PrepareDebate(
            choose_voices=ChooseDebaters(debaters=self.debaters, usual=self.usual),
            personas=self.personas,
            material=self.material,
            tasks=self.tasks,
            budget_ledger=self.budget_ledger,
            usual=self.usual,
        )

    @property
    def look(self) -> QueryDebates:
        return QueryDebates(
            blackboard=self.blackboard,
            outcomes=self.outcomes,
            material=self.material,
            tasks=self.tasks,
        )

    @property
    def wake(self) -> WakeDebate:
        return WakeDebate(runs=self.engine.runs, queue=self.engine.queue, bus=self.engine.bus)


def assemble_debates(doors: DebateDependencies) -> DebateUseCases:
    blackboard, tasks, audit = doors.blackboard, doors.tasks, doors.audit
    together, clock, engine = doors.unit_of_work, doors.clock, doors.engine
    start, look, wake = _start(doors), doors.look, doors.wake
    follow = FollowDebate(
        blackboard=blackboard,
        tasks=tasks,
        event_sink=doors.event_sink,
        book=engine.book,
        clock=clock,
    )
    join = JoinDebate(blackboard=blackboard, seats=doors.seats, tasks=tasks, wake=wake, audit=audit)
    return DebateUseCases(
        start_debate=start,
        ask_in_chat=AskInChat(start_debate=start),
        shorten_answer=ShortenAnswer(tokenizer=doors.tokenizer),
        estimate_debate=EstimateDebate(prepare=doors.prepare, tokenizer=doors.tokenizer),
        look=look,
        follow_debate=follow,
        wait_for_debate=WaitForDebate(look=look, follow_debate=follow),
        stop_debate=StopDebate(
            blackboard=blackboard,
            tasks=tasks,
            book=engine.book,
            runs=engine.runs,
            queue=engine.queue,
            bus=engine.bus,
            audit=audit,
            unit_of_work=together,
            clock=clock,
        ),
        join_debate=join,
        wait_at_seat=WaitAtSeat(join_debate=join, bus=engine.bus),
        answer_as_guest=AnswerAsGuest(seats=doors.seats, tasks=tasks, wake=wake),
        mark_outcome=MarkOutcome(
            blackboard=blackboard, outcomes=doors.outcomes, tasks=tasks, audit=audit, clock=clock
        ),
        replay_debate=ReplayDebate(
            blackboard=blackboard,
            outcomes=doors.outcomes,
            tasks=tasks,
            tokenizer=doors.tokenizer,
        ),
        share_debate=ShareDebate(
            blackboard=blackboard, tasks=tasks, audit=audit, unit_of_work=together
        ),
        promote_debate=PromoteDebate(blackboard=blackboard, tasks=tasks, promotion=doors.promotion),
        remove_debate=RemoveDebate(
            blackboard=blackboard, tasks=tasks, logs=doors.logs, audit=audit, unit_of_work=together
        ),
        list_voices=ListDebaters(debaters=doors.debaters),
        personas=ManagePersonas(personas=doors.personas, audit=audit, clock=clock),
        budget=ProjectBudget(
            budget_ledger=doors.budget_ledger, material=doors.material, tasks=tasks, audit=audit
        ),
    )


def _start(doors: DebateDependencies) -> StartDebate:
    engine = doors.engine
    return StartDebate(
        prepare=doors.prepare,
        blackboard=doors.blackboard,
        tasks=doors.tasks,
        event_sink=doors.event_sink,
        book=engine.book,
        start_run=starting(engine.runs, engine.queue, doors.clock, doors.entropy, DEBATE, ANALYSIS),
        audit=doors.audit,
        unit_of_work=doors.unit_of_work,
        tokenizer=doors.tokenizer,
        clock=doors.clock,
        entropy=doors.entropy,
    )


def debate_kinds(doors: DebateDependencies) -> Sequence[Kind]:
    """Nobody starts one by its name: it begins with a debate."""
    take_up, hold = _take_up(doors), _hold(doors)
    run_debate = RunDebate(resume=take_up, hold=hold)
    return [
        Kind(name=DEBATE, work=run_debate),
        Kind(name=ANALYSIS, work=RunAnalysis(resume=take_up, hold=hold)),
    ]


def _take_up(doors: DebateDependencies) -> TakeUp:
    return TakeUp(
        blackboard=doors.blackboard,
        budget_ledger=doors.budget_ledger,
        personas=doors.personas,
        tasks=doors.tasks,
        event_sink=doors.event_sink,
        logs=doors.logs,
        bus=doors.engine.bus,
        as_they_are=doors.as_they_are,
        clock=doors.clock,
        tokenizer=doors.tokenizer,
    )


def _hold(doors: DebateDependencies) -> HoldDebate:
    blackboard, talk, clock = doors.blackboard, doors.event_sink, doors.clock
    ask_voice = AskDebater(
        debaters=doors.debaters,
        blackboard=blackboard,
        budget_ledger=doors.budget_ledger,
        tasks=doors.tasks,
        event_sink=talk,
        clock=clock,
    )
    return HoldDebate(
        ask_voice=ask_voice,
        hear_guests=CollectGuestAnswers(
            seats=doors.seats,
            blackboard=blackboard,
            ask_voice=ask_voice,
            event_sink=talk,
            clock=clock,
        ),
        compare=CompareAnswers(meaning=doors.meaning),
        blackboard=blackboard,
        budget_ledger=doors.budget_ledger,
        outcomes=doors.outcomes,
        event_sink=talk,
        clock=clock,
    )


# Debates on their real doors: models, agents and programs that are reached from here, the store,
# and the engine that carries them out.

_PURGING: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDebates:
    """The debates of one process."""

    use_cases: DebateUseCases
    kinds: Sequence[Kind]
    lasting: Mapping[str, Lasting]

    @property
    def rooms(self) -> Mapping[str, object]:
        """What faces are given, by the names that they know it by."""
        return {"debates": self.use_cases}

    def over_mcp(self, came_in: UseCases, version: str) -> DebateUses:
        return DebateUses(
            authenticate=came_in.authenticate,
            enter_context=came_in.enter_context,
            debates=self.use_cases,
            version=version,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as background:
            tasks = [
                background.create_task(kept_up(each), name=name)
                for name, each in self.lasting.items()
            ]
            try:
                yield
            finally:
                await ended(tasks)


def open_debates(
    ground: AppContext,
    outside: SharedDependencies,
    opened: Opened,
    agents: OpenedAgents,
    bridge: OpenedBridge,
) -> OpenedDebates:
    doors = _doors(ground, outside, opened, agents)
    return OpenedDebates(
        use_cases=assemble_debates(doors),
        kinds=[*debate_kinds(doors), _carrying_out(doors, outside, bridge)],
        lasting={"logs of debates": _purging(doors.logs, outside.clock)},
    )


def _doors(
    ground: AppContext, outside: SharedDependencies, opened: Opened, agents: OpenedAgents
) -> DebateDependencies:
    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    plans = opened.gateway.programs.workflows
    blackboard = PostgresBlackboard(transactions)
    settings = ground.loaded.settings.debate
    return DebateDependencies(
        debaters=_voices(settings, clock, agents),
        blackboard=blackboard,
        budget_ledger=PostgresBudgetLedger(transactions),
        seats=PostgresSeats(transactions),
        outcomes=PostgresOutcomes(transactions),
        personas=PostgresPersonas(transactions),
        meaning=DebateMeaning(opened.gateway.over_http.find_tools.look_up.static),
        tasks=DebateTasks(
            book=PostgresTaskContexts(transactions, clock),
            contexts=plans.contexts,
            clock=clock,
            entropy=entropy,
        ),
        material=DebateMaterial(
            projects=PostgresProjects(transactions), memory=PostgresMemory(transactions, clock)
        ),
        promotion=DebatePromotion(
            projects=PostgresProjects(transactions),
            contexts=plans.contexts,
            scan=partial(found, known=ground.secrets.known_in),
            ask=ask_to_lower(plans.approvals, plans.engines.durable, PROMOTION),
        ),
        event_sink=_talk(ground, outside, blackboard),
        logs=_logs(ground, settings),
        engine=plans.engines.durable,
        tokenizer=O200k(),
        unit_of_work=transactions.begin,
        audit=outside.audit,
        as_they_are=RevalidatePrincipal(key_ring=plans.approvals.key_ring, clock=clock),
        clock=clock,
        entropy=entropy,
        usual=usual_of(settings),
    )


def _carrying_out(
    doors: DebateDependencies, outside: SharedDependencies, bridge: OpenedBridge
) -> Kind:
    """Of a copy that is less secret, once somebody has said yes."""
    work = CarryOutPromotion.beside(
        bridge.lowering,
        blackboard=doors.blackboard,
        promotions=PostgresPromotions(outside.transactions),
    )
    return Kind(name=PROMOTION, work=work)


def usual_of(settings: DebateSettings) -> Usual:
    return Usual(
        debaters=settings.voices,
        cap=Cap(tokens=settings.cap_tokens, money=Decimal(str(settings.cap_dollars))),
        deadline=timedelta(seconds=settings.deadline_seconds),
        thoroughness=settings.thoroughness,
    )


def _voices(settings: DebateSettings, clock: Clock, agents: OpenedAgents) -> AllDebaters:
    environment, doors, runs = process_environment(), agents.dependencies, agents.runs
    return AllDebaters(
        models=ModelDebaters(
            book=agents.models, models=agents.models, tokenizer=O200k(), clock=clock
        ),
        agents=AgentDebaters(
            agents=doors.agents,
            book=agents.models,
            traces=doors.traces,
            tasks=doors.tasks,
            start=runs.start_agent_run,
            follow=runs.follow_run,
            stop=runs.stop_run,
        ),
        programs=ProgramDebaters(
            programs=programs_of({**USUAL, **settings.programs}),
            environment=environment,
            availability=Availability(environment),
            tokenizer=O200k(),
        ),
    )


def _talk(
    ground: AppContext, outside: SharedDependencies, blackboard: PostgresBlackboard
) -> DebateEventLog:
    clock, seal = outside.clock, AesSivSeal.from_pepper(ground.pepper())
    log = PostgresEventLog(outside.transactions, outside.bus, clock, outside.entropy)
    tails = Tails(log=log, bus=outside.bus, seal=seal, wording=WORDING)
    return DebateEventLog(log=log, tails=tails, encrypt=seal, blackboard=blackboard, clock=clock)


def _logs(ground: AppContext, settings: DebateSettings) -> DebateLogs:
    return DebateLogs(
        folder=ground.loaded.paths.debate_logs,
        on=settings.logs,
        most_files=settings.logs_most,
        most_days=settings.logs_days,
        most_bytes=settings.logs_bytes,
    )


def _purging(logs: Logs, clock: Clock) -> Lasting:
    keep = KeepLogs(logs=logs, clock=clock)

    async def purging() -> None:
        """At once, and then once a day, until cancelled."""
        while True:
            await keep()
            await asyncio.sleep(_PURGING.total_seconds())

    return purging
