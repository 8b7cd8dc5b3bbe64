"""Conduct a debate."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from portico.debate.activation import Activation, Initiator, Secrecy, StopWatch, as_read
from portico.debate.core.conduct import (
    SYNTHESIS,
    AskBetter,
    AskDebaters,
    AskGuests,
    AskSame,
    AskSynthesis,
    AwaitGuests,
    Compare,
    Conclude,
    Move,
    Skip,
    Table,
    conclusion,
    judged_name,
    near_name,
    next_move,
    noted,
    said_name,
    same_name,
    skipped_name,
    status_of,
)
from portico.debate.core.debaters import BUILT_IN, Debater, Persona
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    RemainingBudget,
    WholeDebate,
    Why,
    left_of,
)
from portico.debate.core.events import DebateEnded, DebateEvent, RoundStarted, Skipped
from portico.debate.core.panel import panel_of
from portico.debate.core.prompts import (
    reading_better,
    reading_said,
    reading_same,
    reading_synthesis,
)
from portico.debate.core.questions import QuestionKind
from portico.debate.core.vote_weights import nearness
from portico.debate.core.votes import Panel
from portico.debate.debaters import PAID, AskDebater, DebaterQuestion
from portico.debate.guests import CollectGuestAnswers
from portico.debate.ports import (
    Blackboard,
    BudgetLedger,
    DebateContexts,
    DebateEventSink,
    Logs,
    Meaning,
    Outcomes,
    Personas,
)
from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Discreet, Failure
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Bus
from portico.guard.authentication import RevalidatePrincipal
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import join, meet
from portico.kernel.principal import Principal

# Find out how near answers are to each other, without asking anybody.


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareAnswers:
    meaning: Meaning

    async def __call__(
        self, debate: Debate, pairs: Sequence[tuple[DebaterAnswer, DebaterAnswer]]
    ) -> Sequence[tuple[str, JsonObject]]:
        """The names and bodies of the notes on it. Where nothing here can tell, that is noted too:
        only a judge could say."""
        texts = list(dict.fromkeys(each.shown for pair in pairs for each in pair))
        near = await self.meaning.alike(texts)
        place = {text: number for number, text in enumerate(texts)}
        found = []
        for one, other in pairs:
            same: bool | None = None
            if near:
                how = near[place[one.shown]][place[other.shown]]
                same = nearness(one.shown, other.shown, how)
            body: JsonObject = {"one": one.key, "other": other.key, "same": same, "by": "meaning"}
            found.append((near_name(debate, one, other), body))
        return found


# Hold one debate to its end: whatever comes next, until nothing does. What was done is in its
# notes; whoever carries it on after a crash reads them, and goes on.

KNOWN_MOST = 500
"""Debates that turned out somehow from which weights are learnt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldDebate:
    ask_voice: AskDebater
    hear_guests: CollectGuestAnswers
    compare: CompareAnswers
    blackboard: Blackboard
    budget_ledger: BudgetLedger
    outcomes: Outcomes
    event_sink: DebateEventSink
    clock: Clock

    async def __call__(self, leg: Activation) -> Debate:
        """As it is when it is over."""
        while True:
            await self.look(leg)
            decision = noted(leg.notes)
            if decision is not None:
                return await self.end(leg, decision)
            table = leg.table(await self._left(leg), self.clock.now())
            move = next_move(table)
            if isinstance(move, Conclude):
                return await self.end(leg, await self._decided(leg, table, move.why))
            await self._made(leg, table, move)

    async def look(self, leg: Activation) -> None:
        """What there is by now: notes, guests, the clock, and whether it is to stop."""
        await self._read(leg)
        if await self.hear_guests.taken(leg):
            await self._read(leg)
        kinds = {note.kind for note in leg.notes}
        if leg.watch.asked and NoteKind.STOPPED not in kinds:
            await self.note(leg, "stopped", NoteKind.STOPPED, {})
            await self._read(leg)
        elif self.clock.now() >= leg.debate.deadline and NoteKind.OVERDUE not in kinds:
            await self.note(leg, "overdue", NoteKind.OVERDUE, {})
            await self._read(leg)

    async def _read(self, leg: Activation) -> None:
        whole = await retry_while_unavailable(
            lambda: self.blackboard.read(leg.caller, leg.debate.id)
        )
        mark = await retry_while_unavailable(lambda: self.ask_voice.tasks.at(leg.caller))
        leg.risen(join([whole.debate.label, mark.label]))
        leg.debate, leg.notes = whole.debate, whole.notes
        if leg.panel.debaters != leg.debate.debaters:
            leg.panel = await self.panel(leg)

    async def panel(self, leg: Activation) -> Panel:
        """By what was known when it began, so that whoever carries it on decides the same; and by
        nothing that is more secret than it was then. Beside whatever else is going on: to learn
        takes a while."""
        its = leg.debate
        targets = [voice.target for voice in its.debaters]
        within = replace(leg.caller, clearance=meet(leg.caller.clearance, its.learns_from))
        known = await retry_while_unavailable(
            lambda: self.outcomes.known(within, targets, limit=KNOWN_MOST, before=its.started_at)
        )
        return await asyncio.to_thread(panel_of, its.question, its.debaters, known)

    async def _left(self, leg: Activation) -> RemainingBudget:
        spent = await retry_while_unavailable(
            lambda: self.budget_ledger.committed(leg.caller, leg.debate.id)
        )
        return left_of(leg.debate.cap, spent)

    async def _made(self, leg: Activation, table: Table, move: Move) -> None:
        match move:
            case AskDebaters():
                await self._round(leg, table, move)
            case AskGuests(debaters=voices, round=round_):
                await leg.initiator.look()
                await self.hear_guests.asked(leg, table, voices, round_)
            case AwaitGuests():
                await self.hear_guests.awaited(leg, move)
            case Compare(pairs):
                await self._compared(leg, pairs)
            case AskSame() | AskBetter() | AskSynthesis():
                await self.asked(leg, [_judging(table, move)])
            case Skip(what=what, why=why, saved=saved):
                await self._skip(leg, what, why, saved)
            case Conclude():
                raise AssertionError(move)

    async def _round(self, leg: Activation, table: Table, move: AskDebaters) -> None:
        names = tuple(voice.name for voice in move.debaters)
        if len(names) > 1 or move.round > 1:
            await self.tell(leg, RoundStarted(round=move.round, voices=names))
        await self.asked(leg, [_voice_asked(table, move, voice) for voice in move.debaters])

    async def asked(self, leg: Activation, asked: Sequence[DebaterQuestion]) -> None:
        """All at once, each in a step of its own, if whoever started it still may. Raises
        `KeyEnded`, `NotPermitted`."""
        await leg.initiator.look()
        begun = [
            leg.durable.start(leg.step(each.name), partial(self._step, leg, each)) for each in asked
        ]
        for each in begun:
            await each.result()

    async def _step(self, leg: Activation, asked: DebaterQuestion, _key: str) -> JsonValue:
        return await self.ask_voice(leg, asked)

    async def _compared(
        self, leg: Activation, pairs: Sequence[tuple[DebaterAnswer, DebaterAnswer]]
    ) -> None:
        for name, body in await self.compare(leg.debate, pairs):
            await self.note(leg, name, NoteKind.SAME, body)

    async def _skip(self, leg: Activation, what: str, why: str, saved: int) -> None:
        body: JsonObject = {"what": what, "why": why, "saved": saved}
        await self.note(leg, skipped_name(what), NoteKind.SKIPPED, body)
        await self.tell(leg, Skipped(what=what, why=why, saved_tokens=saved))

    async def _decided(self, leg: Activation, table: Table, why: Why) -> Decision:
        decision = conclusion(table, why)
        if decision.saved_tokens:
            many = len(table.unasked())
            left = "one more voice" if many == 1 else f"{many} more voices"
            await self._skip(leg, left, str(why), decision.saved_tokens)
        note = await self.note(leg, "decision", NoteKind.DECISION, decision.as_json())
        return Decision.from_json(note.body)

    async def end(self, leg: Activation, decision: Decision) -> Debate:
        """By its notes as they are now: whoever takes it up from here ends it the same."""
        await self._read(leg)
        status, now = status_of(decision, leg.notes), self.clock.now()
        ended = await retry_while_unavailable(
            lambda: self.blackboard.end(leg.caller, leg.debate.id, status, decision, at=now)
        )
        await self.tell(leg, ended_of(ended))
        return ended

    async def note(self, leg: Activation, name: str, kind: NoteKind, body: JsonObject) -> Note:
        note, debate = Note(name=name, kind=kind, body=body, at=self.clock.now()), leg.debate.id
        return await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.blackboard.note(leg.caller, debate, note, label),
        )

    async def tell(self, leg: Activation, *happenings: DebateEvent) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.event_sink.publish(leg.caller, debate, *happenings, label=label),
        )


def ended_of(debate: Debate) -> DebateEnded:
    took = (debate.ended_at or debate.started_at) - debate.started_at
    return DebateEnded(
        decision=debate.decision,
        status=str(debate.status),
        tokens=debate.spent.tokens,
        money=debate.spent.money,
        seconds=max(took, timedelta(0)).total_seconds(),
    )


def _voice_asked(table: Table, move: AskDebaters, voice: Debater) -> DebaterQuestion:
    said = table.said(1)
    first = next((each for each in said if each.voice == voice.name), None)
    sheet = (
        table.prompt_inputs.first(voice, short=move.short)
        if move.round == 1
        else table.prompt_inputs.critique(voice, said)
    )
    return DebaterQuestion(
        name=said_name(move.round, voice.name),
        kind=NoteKind.SAID,
        debater=voice,
        sheet=sheet,
        read=reading_said(table.debate.question, voice.name, move.round, first),
        why=move.why,
        round=move.round,
        last=last_asked(table, move),
    )


def last_asked(table: Table, move: AskDebaters) -> bool:
    """Whether nobody could be asked anything after these: then nobody is waited for but them."""
    its, asked = table.debate, {voice.name for voice in move.debaters}
    judged = its.question.kind in (QuestionKind.TEXT, QuestionKind.OPEN)
    left = any(voice.name not in asked for voice in table.unasked())
    again = its.rules.rounds > 1 and move.round == 1
    return not (judged or left or again or its.guests)


def _judging(table: Table, move: AskSame | AskBetter | AskSynthesis) -> DebaterQuestion:
    match move:
        case AskSame(one=one, other=other, judge=judge):
            return DebaterQuestion(
                name=same_name(table.debate, one, other),
                kind=NoteKind.SAME,
                debater=judge,
                sheet=table.prompt_inputs.same(one.shown, other.shown),
                read=reading_same(one, other),
                why="whether two answers mean the same would change the outcome",
            )
        case AskBetter(one=one, other=other, judge=judge):
            return DebaterQuestion(
                name=judged_name(one.voice, other.voice),
                kind=NoteKind.JUDGED,
                debater=judge,
                sheet=table.prompt_inputs.better(one, other),
                read=reading_better(one, other),
                why="which of two answers is better",
            )
        case AskSynthesis(debater=voice, said=said):
            return DebaterQuestion(
                name=SYNTHESIS,
                kind=NoteKind.SYNTHESIS,
                debater=voice,
                sheet=table.prompt_inputs.synthesis(voice, said),
                read=reading_synthesis(voice.name, said),
                why="one answer out of all",
                last=True,
            )


# Carry out the run of a debate: from its notes to its end. It begins anew each time it is taken up,
# and asks nobody twice for what is written down.

DEBATE: Final = "debate"
"""The kind of run that the engine knows it as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp:
    """What a debate is carried on with, in this process."""

    blackboard: Blackboard
    budget_ledger: BudgetLedger
    personas: Personas
    tasks: DebateContexts
    event_sink: DebateEventSink
    logs: Logs
    bus: Bus
    as_they_are: RevalidatePrincipal
    clock: Clock
    tokenizer: Tokenizer

    async def whole(self, durable: Durable, given: JsonObject) -> tuple[Initiator, WholeDebate]:
        """As whoever started it, at the debate's own task: what they read elsewhere meanwhile is
        none of its business."""
        which = DebateId.parse(str(given["debate"]))
        found = await retry_while_unavailable(lambda: self.blackboard.read(durable.caller, which))
        asker = given.get("asker")
        starter = Initiator(
            worker=replace(durable.caller, context=found.debate.context),
            requester=asker if isinstance(asker, dict) else {},
            as_they_are=self.as_they_are,
        )
        return starter, found

    async def leg(
        self,
        durable: Durable,
        starter: Initiator,
        whole: WholeDebate,
        watch: StopWatch,
        secrecy: Secrecy | None = None,
    ) -> Activation:
        """`secrecy` is that of the analysis that it is a part of."""
        its, caller = whole.debate, starter.worker
        lost = await self._lost(caller, whole) if durable.again else frozenset()
        return Activation(
            durable=durable,
            initiator=starter,
            debate=its,
            notes=whole.notes,
            panel=panel_of(its.question, (), ()),
            personas=await self.known_personas(caller),
            secrecy=secrecy or Secrecy(its.label),
            lost=lost,
            watch=watch,
            tokenizer=self.tokenizer,
        )

    async def known_personas(self, caller: Principal) -> Mapping[str, Persona]:
        own = await retry_while_unavailable(lambda: self.personas.all(caller))
        return {**{each.name: each for each in own}, **BUILT_IN}

    def watch(self, caller: Principal, debate: DebateId) -> StopWatch:
        async def stopped() -> bool:
            whole = await self.blackboard.read(caller, debate)
            return any(note.kind is NoteKind.STOPPED for note in whole.notes)

        return StopWatch(stopped=stopped)

    async def _lost(self, caller: Principal, whole: WholeDebate) -> frozenset[str]:
        """What was reserved by somebody who is gone. Of what they had written down only the
        settling was left to do; of the rest nobody knows what it cost, and it stays charged."""
        debate = whole.debate.id
        names = await retry_while_unavailable(
            lambda: self.budget_ledger.outstanding(caller, debate)
        )
        costs = {note.body.get(PAID): note.cost for note in whole.notes}
        lost = set()
        for name in names:
            if name not in costs:
                lost.add(name)
            else:
                cost = costs[name]
                await retry_while_unavailable(
                    lambda name=name, cost=cost: self.budget_ledger.settle(
                        caller, debate, name, cost
                    )  # type: ignore[misc] # bound now
                )
        return frozenset(lost)

    async def written(self, caller: Principal, debate: DebateId) -> None:
        """Its log, which nothing hangs on."""
        whole = await retry_while_unavailable(lambda: self.blackboard.read(caller, debate))
        with suppress(OSError):
            await asyncio.to_thread(self.logs.write, caller.space, whole)

    async def failed(self, caller: Principal, debate: Debate, error: Exception) -> Discreet:
        """It ends, whatever it was; nothing here raises in its turn."""
        code = error.code if isinstance(error, PorticoError) else None
        step = error.failure.step if isinstance(error, StepFailed) else None
        with suppress(PorticoError):
            await self._ended(caller, debate, code)
        what = f"The debate could not go on ({code or type(error).__name__})."
        return Discreet(Failure("DebateFailed", what, code, step))

    async def _ended(self, caller: Principal, debate: Debate, code: str | None) -> None:
        """With a note that is as secret as all that was read in it by then: else it could not be
        ended by somebody who has read that."""
        now, mark = self.clock.now(), await retry_while_unavailable(lambda: self.tasks.at(caller))
        body: JsonObject = {"code": code, "why": "the debate could not go on."}
        note = Note(name="failed", kind=NoteKind.FAILED, body=body, at=now)
        label = join([debate.label, mark.label])
        with suppress(PorticoError):
            await retry_while_unavailable(
                lambda: self.blackboard.note(caller, debate.id, note, label)
            )
        ended = await retry_while_unavailable(
            lambda: self.blackboard.end(caller, debate.id, DebateStatus.FAILED, None, at=now)
        )
        await retry_while_unavailable(
            lambda: self.event_sink.publish(
                caller, debate.id, ended_of(ended), label=join([label, ended.label])
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDebate:
    resume: TakeUp
    hold: HoldDebate

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Which debate it was: what came of it is there. Raises `Discreet` where it failed."""
        starter, whole = await self.resume.whole(durable, given)
        caller, its = starter.worker, whole.debate
        if its.status.over:
            await retry_while_unavailable(
                lambda: self.resume.event_sink.publish(
                    caller, its.id, ended_of(its), label=its.label
                )
            )
            return result_of(its)
        watch = self.resume.watch(caller, its.id)
        async with watch.watching(self.resume.bus, caller.space, durable.run):
            try:
                leg = await self.resume.leg(durable, starter, whole, watch)
                ended = await self.hold(leg)
            except Exception as error:  # whatever it was, it ends
                raise await self.resume.failed(caller, its, error) from error
        await self.resume.written(caller, its.id)
        return result_of(ended)


def result_of(debate: Debate) -> JsonObject:
    """Nothing of how it ended: whoever may see the run may not read what came of the debate."""
    return {"debate": str(debate.id)}
