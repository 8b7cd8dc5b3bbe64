"""Debates on their real doors: models, agents and programs that are reached from here, the store,
and the engine that carries them out."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from portico.adapters.cli_debaters.debaters import Availability, ProgramVoices
from portico.adapters.cli_debaters.programs import USUAL, programs_of
from portico.adapters.cross_domain.debaters import (
    AgentVoices,
    DebateMaterial,
    DebateVoices,
    ModelVoices,
)
from portico.adapters.cross_domain.embeddings import DebateMeaning
from portico.adapters.cross_domain.event_sinks import WORDING, DebateTalk
from portico.adapters.cross_domain.promotion import PROMOTION, CarryOutPromotion, DebatePromotion
from portico.adapters.cross_domain.run_contexts import DebateTasks
from portico.adapters.crypto import AesSivSeal
from portico.adapters.debate_logs import DebateLogs
from portico.adapters.postgres.bridge.conversations import PostgresProjects
from portico.adapters.postgres.bridge.memory import PostgresMemory
from portico.adapters.postgres.debate.budgets import PostgresPurse
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
from portico.app.assemble_bridge import ask_to_lower
from portico.app.assemble_debates import DebateDoors, assemble_debates, debate_kinds
from portico.app.background import Lasting, ended, kept_up
from portico.app.bridge import OpenedBridge
from portico.app.gateway import Opened
from portico.app.ground import Ground
from portico.app.outside import Outside
from portico.bridge.core.declassification import found
from portico.debate.core.debates import Usual
from portico.debate.core.questions import Cap
from portico.debate.ports import Logs
from portico.debate.replay import KeepLogs
from portico.engine.event_log import Tails
from portico.engine.runs import Kind
from portico.guard.authentication import AsTheyAre
from portico.interfaces.http.use_cases import DebateUseCases, UseCases
from portico.interfaces.mcp.debate.definitions import DebateUses
from portico.kernel.clock import Clock
from portico.settings.agents import DebateSettings
from portico.settings.load import process_environment

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
    ground: Ground,
    outside: Outside,
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


def _doors(ground: Ground, outside: Outside, opened: Opened, agents: OpenedAgents) -> DebateDoors:
    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    plans = opened.gateway.programs.workflows
    blackboard = PostgresBlackboard(transactions)
    settings = ground.loaded.settings.debate
    return DebateDoors(
        voices=_voices(settings, clock, agents),
        blackboard=blackboard,
        purse=PostgresPurse(transactions),
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
        talk=_talk(ground, outside, blackboard),
        logs=_logs(ground, settings),
        engine=plans.engines.durable,
        tokenizer=O200k(),
        together=transactions.begin,
        audit=outside.audit,
        as_they_are=AsTheyAre(key_ring=plans.approvals.key_ring, clock=clock),
        clock=clock,
        entropy=entropy,
        usual=usual_of(settings),
    )


def _carrying_out(doors: DebateDoors, outside: Outside, bridge: OpenedBridge) -> Kind:
    """Of a copy that is less secret, once somebody has said yes."""
    work = CarryOutPromotion.beside(
        bridge.lowering,
        blackboard=doors.blackboard,
        promotions=PostgresPromotions(outside.transactions),
    )
    return Kind(name=PROMOTION, work=work)


def usual_of(settings: DebateSettings) -> Usual:
    return Usual(
        voices=settings.voices,
        cap=Cap(tokens=settings.cap_tokens, money=Decimal(str(settings.cap_dollars))),
        deadline=timedelta(seconds=settings.deadline_seconds),
        thoroughness=settings.thoroughness,
    )


def _voices(settings: DebateSettings, clock: Clock, agents: OpenedAgents) -> DebateVoices:
    environment, doors, runs = process_environment(), agents.doors, agents.runs
    return DebateVoices(
        models=ModelVoices(
            book=agents.models, models=agents.models, tokenizer=O200k(), clock=clock
        ),
        agents=AgentVoices(
            agents=doors.agents,
            book=agents.models,
            traces=doors.traces,
            tasks=doors.tasks,
            start=runs.start_agent_run,
            follow=runs.follow_run,
            stop=runs.stop_run,
        ),
        programs=ProgramVoices(
            programs=programs_of({**USUAL, **settings.programs}),
            environment=environment,
            availability=Availability(environment),
            tokenizer=O200k(),
        ),
    )


def _talk(ground: Ground, outside: Outside, blackboard: PostgresBlackboard) -> DebateTalk:
    clock, seal = outside.clock, AesSivSeal.from_pepper(ground.pepper())
    log = PostgresEventLog(outside.transactions, outside.bus, clock, outside.entropy)
    tails = Tails(log=log, bus=outside.bus, seal=seal, wording=WORDING)
    return DebateTalk(log=log, tails=tails, seal=seal, blackboard=blackboard, clock=clock)


def _logs(ground: Ground, settings: DebateSettings) -> DebateLogs:
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
