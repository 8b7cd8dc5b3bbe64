"""From the doors of debates to what faces can do with them; also for in-memory doors."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from portico.app.starting import starting
from portico.debate.analysis import RunAnalysis
from portico.debate.conduct import DEBATE, CompareAnswers, HoldDebate, RunDebate, TakeUp
from portico.debate.core.debates import Usual
from portico.debate.debaters import (
    AskVoice,
    ChooseVoices,
    ListVoices,
    ManagePersonas,
    ShortenAnswer,
)
from portico.debate.debates import (
    ANALYSIS,
    AskInChat,
    LookAtDebates,
    PrepareDebate,
    RemoveDebate,
    ShareDebate,
    StartDebate,
    StopDebate,
    WaitForDebate,
)
from portico.debate.estimates import EstimateDebate, ProjectBudget
from portico.debate.events import FollowDebate
from portico.debate.guests import AnswerAsGuest, HearGuests, JoinDebate, WaitAtSeat, WakeDebate
from portico.debate.outcomes import MarkOutcome, PromoteDebate
from portico.debate.ports import (
    Blackboard,
    Logs,
    Material,
    Meaning,
    Outcomes,
    Personas,
    Promotion,
    Purse,
    Seats,
    Talk,
    Tasks,
    Voices,
)
from portico.debate.replay import ReplayDebate
from portico.engine.runs import Kind
from portico.guard.authentication import AsTheyAre
from portico.guard.ports import Audit, Together
from portico.interfaces.http.use_cases import DebateUseCases
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.workflows.execution import EngineSide


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateDoors:
    voices: Voices
    blackboard: Blackboard
    purse: Purse
    seats: Seats
    outcomes: Outcomes
    personas: Personas
    meaning: Meaning
    tasks: Tasks
    material: Material
    promotion: Promotion
    talk: Talk
    logs: Logs
    engine: EngineSide
    """That carries debates out."""
    tokenizer: Tokenizer
    together: Together
    audit: Audit
    as_they_are: AsTheyAre
    clock: Clock
    entropy: Entropy
    usual: Usual = field(default_factory=Usual)

    @property
    def prepare(self) -> PrepareDebate:
        return PrepareDebate(
            choose_voices=ChooseVoices(voices=self.voices, usual=self.usual),
            personas=self.personas,
            material=self.material,
            tasks=self.tasks,
            purse=self.purse,
            usual=self.usual,
        )

    @property
    def look(self) -> LookAtDebates:
        return LookAtDebates(
            blackboard=self.blackboard,
            outcomes=self.outcomes,
            material=self.material,
            tasks=self.tasks,
        )

    @property
    def wake(self) -> WakeDebate:
        return WakeDebate(runs=self.engine.runs, line=self.engine.line, bus=self.engine.bus)


def assemble_debates(doors: DebateDoors) -> DebateUseCases:
    blackboard, tasks, audit = doors.blackboard, doors.tasks, doors.audit
    together, clock, engine = doors.together, doors.clock, doors.engine
    start, look, wake = _start(doors), doors.look, doors.wake
    follow = FollowDebate(
        blackboard=blackboard, tasks=tasks, talk=doors.talk, book=engine.book, clock=clock
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
            line=engine.line,
            bus=engine.bus,
            audit=audit,
            together=together,
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
            blackboard=blackboard, tasks=tasks, audit=audit, together=together
        ),
        promote_debate=PromoteDebate(blackboard=blackboard, tasks=tasks, promotion=doors.promotion),
        remove_debate=RemoveDebate(
            blackboard=blackboard, tasks=tasks, logs=doors.logs, audit=audit, together=together
        ),
        list_voices=ListVoices(voices=doors.voices),
        personas=ManagePersonas(personas=doors.personas, audit=audit, clock=clock),
        budget=ProjectBudget(purse=doors.purse, material=doors.material, tasks=tasks, audit=audit),
    )


def _start(doors: DebateDoors) -> StartDebate:
    engine = doors.engine
    return StartDebate(
        prepare=doors.prepare,
        blackboard=doors.blackboard,
        tasks=doors.tasks,
        talk=doors.talk,
        book=engine.book,
        start_run=starting(engine.runs, engine.line, doors.clock, doors.entropy, DEBATE, ANALYSIS),
        audit=doors.audit,
        together=doors.together,
        tokenizer=doors.tokenizer,
        clock=doors.clock,
        entropy=doors.entropy,
    )


def debate_kinds(doors: DebateDoors) -> Sequence[Kind]:
    """Nobody starts one by its name: it begins with a debate."""
    take_up, hold = _take_up(doors), _hold(doors)
    run_debate = RunDebate(take_up=take_up, hold=hold)
    return [
        Kind(name=DEBATE, work=run_debate),
        Kind(name=ANALYSIS, work=RunAnalysis(take_up=take_up, hold=hold)),
    ]


def _take_up(doors: DebateDoors) -> TakeUp:
    return TakeUp(
        blackboard=doors.blackboard,
        purse=doors.purse,
        personas=doors.personas,
        tasks=doors.tasks,
        talk=doors.talk,
        logs=doors.logs,
        bus=doors.engine.bus,
        as_they_are=doors.as_they_are,
        clock=doors.clock,
        tokenizer=doors.tokenizer,
    )


def _hold(doors: DebateDoors) -> HoldDebate:
    blackboard, talk, clock = doors.blackboard, doors.talk, doors.clock
    ask_voice = AskVoice(
        voices=doors.voices,
        blackboard=blackboard,
        purse=doors.purse,
        tasks=doors.tasks,
        talk=talk,
        clock=clock,
    )
    return HoldDebate(
        ask_voice=ask_voice,
        hear_guests=HearGuests(
            seats=doors.seats, blackboard=blackboard, ask_voice=ask_voice, talk=talk, clock=clock
        ),
        compare=CompareAnswers(meaning=doors.meaning),
        blackboard=blackboard,
        purse=doors.purse,
        outcomes=doors.outcomes,
        talk=talk,
        clock=clock,
    )
