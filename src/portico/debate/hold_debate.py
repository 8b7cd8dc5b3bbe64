"""Hold one debate to its end: whatever comes next, until nothing does. What was done is in its
notes; whoever carries it on after a crash reads them, and goes on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from portico.debate.alike_answers import CompareAnswers
from portico.debate.ask_voice import Asked, AskVoice
from portico.debate.core.alike import same_name
from portico.debate.core.conclusion import conclusion, noted, status_of
from portico.debate.core.debate import Debate
from portico.debate.core.decision import Decision, Why
from portico.debate.core.happening import DebateEnded, Happening, RoundBegan, Skipped
from portico.debate.core.moves import (
    AskBetter,
    AskGuests,
    AskSame,
    AskSynthesis,
    AskVoices,
    AwaitGuests,
    Compare,
    Conclude,
    Move,
    Skip,
)
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.open_session import SYNTHESIS, judged_name
from portico.debate.core.panel import Panel, panel_of
from portico.debate.core.question import QuestionKind
from portico.debate.core.readings import (
    reading_better,
    reading_said,
    reading_same,
    reading_synthesis,
)
from portico.debate.core.said import Said
from portico.debate.core.session import next_move
from portico.debate.core.spending import Left, left_of
from portico.debate.core.table import Table, said_name, skipped_name
from portico.debate.core.voice import Voice
from portico.debate.hear_guests import HearGuests
from portico.debate.leg import Leg
from portico.debate.ports import Blackboard, Outcomes, Purse, Talk
from portico.debate.write_as_read import as_read
from portico.engine.execution import patiently
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import join, meet

KNOWN_MOST = 500
"""Debates that turned out somehow from which weights are learnt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldDebate:
    ask_voice: AskVoice
    hear_guests: HearGuests
    compare: CompareAnswers
    blackboard: Blackboard
    purse: Purse
    outcomes: Outcomes
    talk: Talk
    clock: Clock

    async def __call__(self, leg: Leg) -> Debate:
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

    async def look(self, leg: Leg) -> None:
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

    async def _read(self, leg: Leg) -> None:
        whole = await patiently(lambda: self.blackboard.read(leg.caller, leg.debate.id))
        mark = await patiently(lambda: self.ask_voice.tasks.at(leg.caller))
        leg.risen(join([whole.debate.label, mark.label]))
        leg.debate, leg.notes = whole.debate, whole.notes
        if leg.panel.voices != leg.debate.voices:
            leg.panel = await self.panel(leg)

    async def panel(self, leg: Leg) -> Panel:
        """By what was known when it began, so that whoever carries it on decides the same; and by
        nothing that is more secret than it was then. Beside whatever else is going on: to learn
        takes a while."""
        its = leg.debate
        targets = [voice.target for voice in its.voices]
        within = replace(leg.caller, clearance=meet(leg.caller.clearance, its.learns_from))
        known = await patiently(
            lambda: self.outcomes.known(within, targets, limit=KNOWN_MOST, before=its.started_at)
        )
        return await asyncio.to_thread(panel_of, its.question, its.voices, known)

    async def _left(self, leg: Leg) -> Left:
        spent = await patiently(lambda: self.purse.committed(leg.caller, leg.debate.id))
        return left_of(leg.debate.cap, spent)

    async def _made(self, leg: Leg, table: Table, move: Move) -> None:
        match move:
            case AskVoices():
                await self._round(leg, table, move)
            case AskGuests(voices=voices, round=round_):
                await leg.starter.look()
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

    async def _round(self, leg: Leg, table: Table, move: AskVoices) -> None:
        names = tuple(voice.name for voice in move.voices)
        if len(names) > 1 or move.round > 1:
            await self.tell(leg, RoundBegan(round=move.round, voices=names))
        await self.asked(leg, [_voice_asked(table, move, voice) for voice in move.voices])

    async def asked(self, leg: Leg, asked: Sequence[Asked]) -> None:
        """All at once, each in a step of its own, if whoever started it still may. Raises
        `KeyEnded`, `NotPermitted`."""
        await leg.starter.look()
        begun = [
            leg.durable.begin(leg.step(each.name), partial(self._step, leg, each)) for each in asked
        ]
        for each in begun:
            await each.result()

    async def _step(self, leg: Leg, asked: Asked, _key: str) -> JsonValue:
        return await self.ask_voice(leg, asked)

    async def _compared(self, leg: Leg, pairs: Sequence[tuple[Said, Said]]) -> None:
        for name, body in await self.compare(leg.debate, pairs):
            await self.note(leg, name, NoteKind.SAME, body)

    async def _skip(self, leg: Leg, what: str, why: str, saved: int) -> None:
        body: JsonObject = {"what": what, "why": why, "saved": saved}
        await self.note(leg, skipped_name(what), NoteKind.SKIPPED, body)
        await self.tell(leg, Skipped(what=what, why=why, saved_tokens=saved))

    async def _decided(self, leg: Leg, table: Table, why: Why) -> Decision:
        decision = conclusion(table, why)
        if decision.saved_tokens:
            many = len(table.unasked())
            left = "one more voice" if many == 1 else f"{many} more voices"
            await self._skip(leg, left, str(why), decision.saved_tokens)
        note = await self.note(leg, "decision", NoteKind.DECISION, decision.as_json())
        return Decision.from_json(note.body)

    async def end(self, leg: Leg, decision: Decision) -> Debate:
        """By its notes as they are now: whoever takes it up from here ends it the same."""
        await self._read(leg)
        status, now = status_of(decision, leg.notes), self.clock.now()
        ended = await patiently(
            lambda: self.blackboard.end(leg.caller, leg.debate.id, status, decision, at=now)
        )
        await self.tell(leg, ended_of(ended))
        return ended

    async def note(self, leg: Leg, name: str, kind: NoteKind, body: JsonObject) -> Note:
        note, debate = Note(name=name, kind=kind, body=body, at=self.clock.now()), leg.debate.id
        return await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.blackboard.note(leg.caller, debate, note, label),
        )

    async def tell(self, leg: Leg, *happenings: Happening) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.talk.tell(leg.caller, debate, *happenings, label=label),
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


def _voice_asked(table: Table, move: AskVoices, voice: Voice) -> Asked:
    said = table.said(1)
    first = next((each for each in said if each.voice == voice.name), None)
    sheet = (
        table.desk.first(voice, short=move.short)
        if move.round == 1
        else table.desk.critique(voice, said)
    )
    return Asked(
        name=said_name(move.round, voice.name),
        kind=NoteKind.SAID,
        voice=voice,
        sheet=sheet,
        read=reading_said(table.debate.question, voice.name, move.round, first),
        why=move.why,
        round=move.round,
        last=last_asked(table, move),
    )


def last_asked(table: Table, move: AskVoices) -> bool:
    """Whether nobody could be asked anything after these: then nobody is waited for but them."""
    its, asked = table.debate, {voice.name for voice in move.voices}
    judged = its.question.kind in (QuestionKind.TEXT, QuestionKind.OPEN)
    left = any(voice.name not in asked for voice in table.unasked())
    again = its.rules.rounds > 1 and move.round == 1
    return not (judged or left or again or its.guests)


def _judging(table: Table, move: AskSame | AskBetter | AskSynthesis) -> Asked:
    match move:
        case AskSame(one=one, other=other, judge=judge):
            return Asked(
                name=same_name(table.debate, one, other),
                kind=NoteKind.SAME,
                voice=judge,
                sheet=table.desk.same(one.shown, other.shown),
                read=reading_same(one, other),
                why="whether two answers mean the same would change the outcome",
            )
        case AskBetter(one=one, other=other, judge=judge):
            return Asked(
                name=judged_name(one.voice, other.voice),
                kind=NoteKind.JUDGED,
                voice=judge,
                sheet=table.desk.better(one, other),
                read=reading_better(one, other),
                why="which of two answers is better",
            )
        case AskSynthesis(voice=voice, said=said):
            return Asked(
                name=SYNTHESIS,
                kind=NoteKind.SYNTHESIS,
                voice=voice,
                sheet=table.desk.synthesis(voice, said),
                read=reading_synthesis(voice.name, said),
                why="one answer out of all",
                last=True,
            )
