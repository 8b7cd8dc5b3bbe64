"""Guests: join a debate, wait, answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from portico.debate.activation import Leg, as_read, at_debate
from portico.debate.core.canonical_answers import canonical
from portico.debate.core.conduct import AwaitGuests, Table, said_name
from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind, VoiceReply
from portico.debate.core.debates import (
    DebateId,
    GuestAnswer,
    Left,
    Note,
    NoteKind,
    Seat,
    guests_topic,
)
from portico.debate.core.errors import BadDebate, DebateOver, NothingAsked, NotSeated
from portico.debate.core.events import GuestsWanted, Happening, VoiceAsked
from portico.debate.core.prompts import Unusable, cleaned, reading_said
from portico.debate.core.questions import Question, QuestionKind
from portico.debate.debaters import Asked, AskVoice, failed_note
from portico.debate.ports import Blackboard, Seats, Talk, Tasks
from portico.engine.core.errors import AlreadyAnswered, RunNotFound, RunOver
from portico.engine.execution import patiently
from portico.engine.ports import Bus, Line, Runs
from portico.engine.runs import control_topic
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import permit
from portico.kernel.budget import NOTHING
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDebate:
    """Tell a run that waits for guests that one of them has done something."""

    runs: Runs
    line: Line
    bus: Bus

    async def __call__(self, guest: Principal, seat: Seat) -> None:
        """It waits for what comes after all that it knows of: whatever that is, it is told."""
        with suppress(RunNotFound, RunOver):
            for round_ in (1, 2):
                for turn in range(seat.turn):
                    await self._signal(guest, seat, guests_topic(round_, turn))
        self.bus.wake(guest.space, control_topic(seat.run))

    async def _signal(self, guest: Principal, seat: Seat, topic: str) -> None:
        with suppress(AlreadyAnswered):
            turn = await self.runs.signal(guest, seat.run, topic, None)
            if turn is not None:
                await self.line.join(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinDebate:
    blackboard: Blackboard
    seats: Seats
    tasks: Tasks
    wake: WakeDebate
    audit: Audit

    async def __call__(self, caller: Principal, which: DebateId) -> Seat:
        """The same seat the second time, with what is asked now. Raises `NotPermitted`,
        `DebateNotFound`, `DebateOver`, `NoSeatLeft`."""
        permit(caller, Scope.DEBATES_JOIN)
        caller = at_debate(caller, which)
        # That it is over, or that no seat is left, is told of it as well.
        label = await self.seats.secrecy(caller, which)
        await self.tasks.read(caller, label, untrusted=False)
        new = False
        try:
            seat = await self.seats.seat(caller, which)
        except NotSeated:
            new = True
            await self.blackboard.join(caller, which, guest_voice(caller))
            await self.audit.note(caller, AuditEntry(action="debate.joined", subject=str(which)))
            seat = await self.seats.seat(caller, which)
            await self.wake(caller, seat)
        await self.tasks.read(caller, seat.label, untrusted=True)
        return replace(seat, new=new)


def guest_voice(guest: Principal) -> Voice:
    """Nobody knows what is behind a key: guests are one family, and agree for less."""
    return Voice(
        name=f"guest:{guest.name}",
        kind=VoiceKind.GUEST,
        target=str(guest.id),
        family="guest",
        clearance=guest.clearance,
    )


_LOOK: Final = 2.0
"""Seconds; the bus may say nothing, so it is looked so often anyway."""
AT_FIRST: Final = timedelta(seconds=5)
"""That whoever has just sat down waits at least: a debate that waits for guests asks them
as soon as it has woken."""
_BREATH: Final = 0.1
"""Seconds; a debate in which much happens is not looked at more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitAtSeat:
    join_debate: Callable[[Principal, DebateId], Awaitable[Seat]]
    bus: Bus
    at_first: timedelta = AT_FIRST

    async def __call__(self, caller: Principal, which: DebateId, *, patience: timedelta) -> Seat:
        """The seat, once an answer is waited for there or the debate is over, and else as it is
        then. Raises what joining a debate raises."""
        now = asyncio.get_running_loop().time
        until = now() + patience.total_seconds()
        seat = await self.join_debate(caller, which)
        if seat.new:
            until = max(until, now() + self.at_first.total_seconds())
        with self.bus.listen(caller.space, str(seat.run)) as wakeups:
            while True:
                left = until - now()
                if seat.asked is not None or seat.over or left <= 0:
                    return seat
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _LOOK)):
                        await asyncio.sleep(_BREATH)
                        await wakeups.wait()
                seat = await self.join_debate(caller, which)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAsGuest:
    seats: Seats
    tasks: Tasks
    wake: WakeDebate

    async def __call__(self, caller: Principal, which: DebateId, answer: GuestAnswer) -> Seat:
        """The seat as it is then. The first answer counts. Raises `NotPermitted`,
        `DebateNotFound`, `NotSeated`, `DebateOver`, `NothingAsked`, `BadDebate`."""
        permit(caller, Scope.DEBATES_JOIN)
        caller = at_debate(caller, which)
        label = await self.seats.secrecy(caller, which)
        await self.tasks.read(caller, label, untrusted=True)
        seat = await self.seats.seat(caller, which)
        if seat.over:
            raise DebateOver(str(which))
        if seat.key is None:
            raise NothingAsked(str(which))
        _check(answer, seat)
        reply = VoiceReply(text=_as_text(answer), prompt_tokens=0, output_tokens=0)
        await self.seats.answer(caller, which, seat.key, reply)
        after = await self.seats.seat(caller, which)
        await self.wake(caller, after)
        return replace(after, taken=True)


def _check(answer: GuestAnswer, seat: Seat) -> None:
    """What could not be counted is told now, while it can be said otherwise. Raises `BadDebate`."""
    if not cleaned(answer.answer).strip():
        raise BadDebate("The answer is empty.", "Say what you think is right.")
    if answer.confidence is not None and not 0 <= answer.confidence <= 1:
        raise BadDebate("A confidence is between 0 and 1.", "Leave it out, or give one like 0.7.")
    choices = _choices(seat)
    if choices and not _is_one(answer.answer, choices):
        said = " ".join(answer.answer.split())[:80]
        raise BadDebate(
            f"{said!r} is none of the choices.", f"Answer with one of: {', '.join(choices)}."
        )


def _choices(seat: Seat) -> list[str]:
    fields = (seat.schema or {}).get("properties")
    match fields:
        case {"answer": {"enum": [*choices]}}:
            return [str(each) for each in choices]
        case _:
            return []


def _is_one(answer: str, choices: Sequence[str]) -> bool:
    kind = QuestionKind.YES_NO if tuple(choices) == ("yes", "no") else QuestionKind.CHOICE
    question = Question(text="", kind=kind, choices=tuple(choices))
    return canonical(question, answer) is not None


def _as_text(answer: GuestAnswer) -> str:
    body: dict[str, JsonValue] = {
        "answer": cleaned(answer.answer),
        "rationale": cleaned(answer.rationale),
        "evidence": [cleaned(each) for each in answer.evidence],
        "confidence": answer.confidence,
        "veto": None if answer.veto is None else cleaned(answer.veto),
        "changed_because": None
        if answer.changed_because is None
        else cleaned(answer.changed_because),
    }
    said: JsonObject = {name: value for name, value in body.items() if value is not None}
    return json.dumps(said, ensure_ascii=False)


# Ask guests, wait for them without taking up a process, and count what they say.

_NO_TIME: Final = timedelta(0)
_LOOKS: Final = 60
"""In all the time of a debate it looks so often by itself whether a guest has done something."""
_SELDOM: Final = timedelta(seconds=15)
"""That is between two such looks at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HearGuests:
    seats: Seats
    blackboard: Blackboard
    ask_voice: AskVoice
    talk: Talk
    clock: Clock

    async def asked(self, leg: Leg, table: Table, voices: Sequence[Voice], round_: int) -> None:
        """It stands there for them. Nothing is paid for it."""
        for voice in voices:
            asked = guest_asked(table, voice, round_)
            ask = VoiceAsk(
                voice=voice,
                system=asked.sheet.system,
                prompt=asked.sheet.prompt,
                schema=asked.sheet.schema,
                prompt_tokens=0,
                most_output=voice.most_output,
                timeout=max(leg.debate.deadline - self.clock.now(), _NO_TIME),
                label=leg.label,
                ceiling=leg.debate.label,
                key=asked.name,
            )
            await patiently(lambda ask=ask: self.seats.ask(leg.caller, leg.debate.id, ask))  # type: ignore[misc] # bound now
            leg.posted.add(asked.name)
        told = [
            VoiceAsked(voice=voice.name, round=round_, reserved_tokens=0, why="a guest")
            for voice in voices
        ]
        await self._tell(leg, *told)

    async def awaited(self, leg: Leg, move: AwaitGuests) -> None:
        """Until somebody joins or answers, or it is too late; or for a while, since whoever did so
        may be gone before they have called."""
        if not leg.wanted_told and move.free:
            leg.wanted_told = True
            await self._tell(leg, GuestsWanted(seats=move.free))
        guests = {voice.name for voice in _guests(leg)}
        heard = [note for note in leg.notes if note.voice in guests]
        turn = len(guests) + len(heard)
        topic = guests_topic(move.round, turn)
        leg.waits[topic] += 1
        await leg.durable.wait_for_signal(
            topic, patience=self._patience(leg, move), name=f"{topic}:{leg.waits[topic]}"
        )

    def _patience(self, leg: Leg, move: AwaitGuests) -> timedelta:
        left = max(move.until - self.clock.now(), _NO_TIME)
        whole = leg.debate.deadline - leg.debate.started_at
        return min(left, max(whole / _LOOKS, _SELDOM))

    async def taken(self, leg: Leg) -> bool:
        """Whether any has answered whose answer was not written down yet: now it is."""
        if not _guests(leg):
            return False
        written = {note.name for note in leg.notes}
        table = leg.table(Left(), self.clock.now())
        new = [(key, reply) for key, reply in await self._replies(leg) if key not in written]
        for key, reply in new:
            await self._write(leg, table, key, reply)
        return bool(new)

    async def _replies(self, leg: Leg) -> Sequence[tuple[str, VoiceReply]]:
        keys = [said_name(round_, voice.name) for voice in _guests(leg) for round_ in (1, 2)]
        return await patiently(lambda: self.seats.answered(leg.caller, leg.debate.id, keys))

    async def _tell(self, leg: Leg, *happenings: Happening) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.talk.tell(leg.caller, debate, *happenings, label=label),
        )

    async def _write(self, leg: Leg, table: Table, key: str, reply: VoiceReply) -> None:
        voice = next(
            each
            for each in _guests(leg)
            if key in (said_name(1, each.name), said_name(2, each.name))
        )
        asked = guest_asked(table, voice, 1 if key == said_name(1, voice.name) else 2)
        body, now = asked.body(reply.text), self.clock.now()
        note = (
            failed_note(asked, body, NOTHING, now, reply.text)
            if isinstance(body, Unusable)
            else Note(
                name=key,
                kind=NoteKind.SAID,
                voice=voice.name,
                round=asked.round,
                body=body,
                at=now,
            )
        )
        debate = leg.debate.id
        written = await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.blackboard.note(leg.caller, debate, note, label),
        )
        await self.ask_voice.tell_note(leg, written, took=_NO_TIME)


def guest_asked(table: Table, voice: Voice, round_: int) -> Asked:
    said = table.said(1)
    first = next((each for each in said if each.voice == voice.name), None)
    again = round_ == 2 and first is not None
    return Asked(
        name=said_name(round_, voice.name),
        kind=NoteKind.SAID,
        voice=voice,
        sheet=table.desk.critique(voice, said) if again else table.desk.first(voice),
        read=reading_said(table.debate.question, voice.name, round_, first if again else None),
        why="a guest",
        round=round_,
    )


def _guests(leg: Leg) -> Sequence[Voice]:
    return [voice for voice in leg.debate.voices if voice.kind is VoiceKind.GUEST]
