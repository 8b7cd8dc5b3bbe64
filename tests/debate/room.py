"""The room of debates with everything in memory: voices that say what they are told to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.debate.analysis import RunAnalysis
from portico.debate.conduct import DEBATE, CompareAnswers, HoldDebate, RunDebate, TakeUp
from portico.debate.core.debates import Debate, DebateId, DebateSpec, Decision, Usual, WholeDebate
from portico.debate.core.events import DebateEvent
from portico.debate.core.questions import Cap
from portico.debate.debaters import AskDebater, ChooseDebaters, ManagePersonas
from portico.debate.debates import (
    ANALYSIS,
    PrepareDebate,
    QueryDebates,
    RemoveDebate,
    ShareDebate,
    StartDebate,
    StopDebate,
)
from portico.debate.estimates import EstimateDebate, ProjectBudget
from portico.debate.events import FollowDebate
from portico.debate.guests import AnswerAsGuest, CollectGuestAnswers, JoinDebate, WakeDebate
from portico.debate.outcomes import MarkOutcome, PromoteDebate
from portico.debate.replay import ReplayDebate
from portico.engine.core.runs import Activation, QueueConfig, Run, Step
from portico.engine.execution import RunActivation
from portico.engine.ports import Journal
from portico.engine.runs import Kind, Kinds, StartRun
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Identity, Role
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agents import Words
from portico.testing.debate_fakes import (
    MemoryDebateEvents,
    MemoryDebateLogs,
    MemoryDebateTasks,
    MemoryMaterial,
    MemoryPromotion,
    ScriptedDebater,
    ScriptedDebaters,
    SpellingMeaning,
)
from portico.testing.debates import (
    MemoryBlackboard,
    MemoryBudgetLedger,
    MemoryOutcomes,
    MemoryPersonas,
    MemorySeats,
)
from portico.testing.guard import MemoryAudit, MemoryKeyRing, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together

CLEARED = Label(Level.CONFIDENTIAL)


def _identity(name: str, role: Role = Role.OPERATOR) -> Identity:
    return replace(an_identity(name, roles=[role]), clearance=CLEARED)


ANA_THERE = _identity("ana")
BEN_THERE = _identity("ben")
VERA_THERE = _identity("vera", Role.VIEWER)
ANA, BEN, VERA = (as_principal(each) for each in (ANA_THERE, BEN_THERE, VERA_THERE))
USUAL = Usual(cap=Cap(tokens=100_000), deadline=timedelta(minutes=5))


class Room:
    def __init__(
        self, *voices: ScriptedDebater, clock: Clock | None = None, usual: Usual = USUAL
    ) -> None:
        self.clock = clock or TickingClock(step=timedelta(0))
        self.entropy = SeededEntropy("debates")
        self.bus, self.world = InlineBus(), InMemoryStore()
        self.world.spaces[ANA.space] = a_space()
        for each in (ANA_THERE, BEN_THERE, VERA_THERE):
            self.world.identities[each.space, each.id] = each
        self.runs = InlineRuns(self.clock, self.entropy, self.bus)
        self.line = InlineRunQueue((QueueConfig(name="runs"),), self.clock)
        self.voices = ScriptedDebaters(*voices)
        self.blackboard = MemoryBlackboard(self.world)
        self.purse = MemoryBudgetLedger(self.world)
        self.seats = MemorySeats(self.world)
        self.outcomes = MemoryOutcomes(self.world)
        self.own_personas = MemoryPersonas(self.world)
        self.tasks = MemoryDebateTasks(self.world, self.clock, self.entropy)
        self.talk, self.logs = MemoryDebateEvents(), MemoryDebateLogs()
        self.material, self.promotion = MemoryMaterial(), MemoryPromotion()
        self.meaning = SpellingMeaning()
        self.audit = MemoryAudit(self.world, self.clock)
        self.tokenizer = Words()
        self.usual = usual
        self.assemble()

    def assemble(self) -> None:
        """Again, after a door was put in another's place."""
        seen: dict[str, Any] = {"blackboard": self.blackboard, "tasks": self.tasks}
        self.prepare = PrepareDebate(
            choose_voices=ChooseDebaters(debaters=self.voices, usual=self.usual),
            personas=self.own_personas,
            material=self.material,
            tasks=self.tasks,
            budget_ledger=self.purse,
            usual=self.usual,
        )
        self.kinds = Kinds(
            [
                Kind(name=DEBATE, work=RunDebate(resume=self._take_up(), hold=self.hold())),
                Kind(name=ANALYSIS, work=self._analysis()),
            ]
        )
        self.start = StartDebate(
            prepare=self.prepare,
            event_sink=self.talk,
            book=self.runs,
            start_run=StartRun(
                runs=self.runs,
                queue=self.line,
                kinds=self.kinds,
                clock=self.clock,
                entropy=self.entropy,
            ),
            audit=self.audit,
            unit_of_work=together,
            tokenizer=self.tokenizer,
            clock=self.clock,
            entropy=self.entropy,
            **seen,
        )
        self.estimate = EstimateDebate(prepare=self.prepare, tokenizer=self.tokenizer)
        self._assemble_for_readers(seen)

    def _assemble_for_readers(self, seen: dict[str, Any]) -> None:
        led: dict[str, Any] = {**seen, "audit": self.audit, "unit_of_work": together}
        self.look = QueryDebates(outcomes=self.outcomes, material=self.material, **seen)
        self.follow = FollowDebate(event_sink=self.talk, book=self.runs, clock=self.clock, **seen)
        self.stop = StopDebate(
            book=self.runs,
            runs=self.runs,
            queue=self.line,
            bus=self.bus,
            clock=self.clock,
            **led,
        )
        wake = WakeDebate(runs=self.runs, queue=self.line, bus=self.bus)
        self.join = JoinDebate(seats=self.seats, wake=wake, audit=self.audit, **seen)
        self.answer = AnswerAsGuest(seats=self.seats, tasks=self.tasks, wake=wake)
        self.mark = MarkOutcome(outcomes=self.outcomes, audit=self.audit, clock=self.clock, **seen)
        self.replay = ReplayDebate(outcomes=self.outcomes, tokenizer=self.tokenizer, **seen)
        self.share = ShareDebate(**led)
        self.promote = PromoteDebate(promotion=self.promotion, **seen)
        self.remove = RemoveDebate(logs=self.logs, **led)
        self.personas = ManagePersonas(
            personas=self.own_personas, audit=self.audit, clock=self.clock
        )
        self.budget = ProjectBudget(
            budget_ledger=self.purse, material=self.material, tasks=self.tasks, audit=self.audit
        )

    def _take_up(self) -> TakeUp:
        return TakeUp(
            blackboard=self.blackboard,
            budget_ledger=self.purse,
            personas=self.own_personas,
            tasks=self.tasks,
            event_sink=self.talk,
            logs=self.logs,
            bus=self.bus,
            as_they_are=RevalidatePrincipal(key_ring=MemoryKeyRing(self.world), clock=self.clock),
            clock=self.clock,
            tokenizer=self.tokenizer,
        )

    def ask_voice(self) -> AskDebater:
        return AskDebater(
            debaters=self.voices,
            blackboard=self.blackboard,
            budget_ledger=self.purse,
            tasks=self.tasks,
            event_sink=self.talk,
            clock=self.clock,
        )

    def hold(self) -> HoldDebate:
        ask = self.ask_voice()
        shared: dict[str, Any] = {"blackboard": self.blackboard, "clock": self.clock}
        return HoldDebate(
            ask_voice=ask,
            hear_guests=CollectGuestAnswers(
                seats=self.seats, ask_voice=ask, event_sink=self.talk, **shared
            ),
            compare=CompareAnswers(meaning=self.meaning),
            budget_ledger=self.purse,
            outcomes=self.outcomes,
            event_sink=self.talk,
            **shared,
        )

    def _analysis(self) -> RunAnalysis:
        return RunAnalysis(resume=self._take_up(), hold=self.hold())

    async def begin(
        self, question: str = "Is it so?", *, by: Principal = ANA, **wish: Any
    ) -> Debate:
        return (await self.start(by, DebateSpec(question=question, **wish))).debate

    def run_leg(self, journal: Journal | None = None) -> RunActivation:
        return RunActivation(
            journal=journal or self.runs, bus=self.bus, kinds=self.kinds, clock=self.clock
        )

    async def leg(self, debate: Debate, journal: Journal | None = None) -> Run:
        """Carry it on, here and now, to its end or to where it waits."""
        run = await self.seen(debate.run)
        await self.run_leg(journal)(Activation(run.id, run.leg))
        return await self.seen(debate.run)

    async def held(self, question: str = "Is it so?", **wish: Any) -> WholeDebate:
        """To its end."""
        debate = await self.begin(question, **wish)
        await self.leg(debate)
        return await self.whole(debate.id)

    async def seen(self, run: RunId) -> Run:
        return await self.runs.get(ANA, run)

    async def whole(self, debate: DebateId, by: Principal = ANA) -> WholeDebate:
        return await self.blackboard.read(by, debate)

    async def steps(self, debate: Debate) -> Sequence[Step]:
        return await self.runs.steps(ANA, debate.run)

    def told(self, debate: DebateId) -> Sequence[DebateEvent]:
        return self.talk.told.get(debate, [])


def decision_of(whole: WholeDebate) -> Decision:
    assert whole.debate.decision is not None
    return whole.debate.decision


def put(door: object, name: str, other: Any) -> None:
    """In the place of one of its methods, for this test."""
    setattr(door, name, other)


def later(room: Room, by: timedelta) -> None:
    clock = room.clock
    assert isinstance(clock, TickingClock)
    clock.turn(by)


def some(*names: str, answer: Any = "yes") -> list[ScriptedDebater]:
    """Voices of different families that say the same."""
    return [ScriptedDebater(name=name, answer=answer) for name in names]
