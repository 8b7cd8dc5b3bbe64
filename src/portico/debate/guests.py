"""Guests: join a debate, wait, answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from portico.debate.activation import Activation, as_read, at_debate
from portico.debate.core.canonical_answers import canonical
from portico.debate.core.conduct import AwaitGuests, Table, said_name
from portico.debate.core.debaters import Debater, DebaterKind, DebaterReply, DebaterRequest
from portico.debate.core.debates import (
    DebateId,
    GuestAnswer,
    Note,
    NoteKind,
    RemainingBudget,
    Seat,
    guests_topic,
)
from portico.debate.core.errors import DebateOver, InvalidDebate, NoAnswerExpected, NotSeated
from portico.debate.core.events import DebateEvent, DebaterAsked, GuestsInvited
from portico.debate.core.prompts import Unusable, cleaned, reading_said
from portico.debate.core.questions import Question, QuestionKind
from portico.debate.debaters import AskDebater, DebaterQuestion, failed_note
from portico.debate.ports import Blackboard, DebateContexts, DebateEventSink, Seats
from portico.engine.core.errors import AlreadyAnswered, RunNotFound, RunOver
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Bus, RunQueue, Runs
from portico.engine.runs import control_topic
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.budget import NOTHING
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDebate:
    """Tell a run that waits for guests that one of them has done something."""

    runs: Runs
    queue: RunQueue
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
                await self.queue.join(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinDebate:
    blackboard: Blackboard
    seats: Seats
    tasks: DebateContexts
    wake: WakeDebate
    audit: Audit

    async def __call__(self, caller: Principal, which: DebateId) -> Seat:
        """The same seat the second time, with what is asked now. Raises `NotPermitted`,
        `DebateNotFound`, `DebateOver`, `NoSeatLeft`."""
        require_scope(caller, Scope.DEBATES_JOIN)
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


def guest_voice(guest: Principal) -> Debater:
    """Nobody knows what is behind a key: guests are one family, and agree for less."""
    return Debater(
        name=f"guest:{guest.name}",
        kind=DebaterKind.GUEST,
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
    tasks: DebateContexts
    wake: WakeDebate

    async def __call__(self, caller: Principal, which: DebateId, answer: GuestAnswer) -> Seat:
        """The seat as it is then. The first answer counts. Raises `NotPermitted`,
        `DebateNotFound`, `NotSeated`, `DebateOver`, `NoAnswerExpected`, `InvalidDebate`."""
        require_scope(caller, Scope.DEBATES_JOIN)
        caller = at_debate(caller, which)
        label = await self.seats.secrecy(caller, which)
        await self.tasks.read(caller, label, untrusted=True)
        seat = await self.seats.seat(caller, which)
        if seat.over:
            raise DebateOver(str(which))
        if seat.key is None:
            raise NoAnswerExpected(str(which))
        _check(answer, seat)
        reply = DebaterReply(text=_as_text(answer), prompt_tokens=0, output_tokens=0)
        await self.seats.answer(caller, which, seat.key, reply)
        after = await self.seats.seat(caller, which)
        await self.wake(caller, after)
        return replace(after, taken=True)


def _check(answer: GuestAnswer, seat: Seat) -> None:
    """What could not be counted is told now, while it can be said otherwise. Raises
    `InvalidDebate`."""
    if not cleaned(answer.answer).strip():
        raise InvalidDebate("The answer is empty.", "Say what you think is right.")
    if answer.confidence is not None and not 0 <= answer.confidence <= 1:
        raise InvalidDebate(
            "A confidence is between 0 and 1.", "Leave it out, or give one like 0.7."
        )
    choices = _choices(seat)
    if choices and not _is_one(answer.answer, choices):
        said = " ".join(answer.answer.split())[:80]
        raise InvalidDebate(
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
class CollectGuestAnswers:
    seats: Seats
    blackboard: Blackboard
    ask_voice: AskDebater
    event_sink: DebateEventSink
    clock: Clock

    async def asked(
        self, leg: Activation, table: Table, voices: Sequence[Debater], round_: int
    ) -> None:
        """It stands there for them. Nothing is paid for it."""
        for voice in voices:
            asked = guest_asked(table, voice, round_)
            ask = DebaterRequest(
                debater=voice,
                system=asked.sheet.system,
                prompt=asked.sheet.prompt,
                schema=asked.sheet.schema,
                prompt_tokens=0,
                max_output_tokens=voice.max_output_tokens,
                timeout=max(leg.debate.deadline - self.clock.now(), _NO_TIME),
                label=leg.label,
                ceiling=leg.debate.label,
                key=asked.name,
            )
            await retry_while_unavailable(partial(self.seats.ask, leg.caller, leg.debate.id, ask))
            leg.posted.add(asked.name)
        told = [
            DebaterAsked(voice=voice.name, round=round_, reserved_tokens=0, why="a guest")
            for voice in voices
        ]
        await self._tell(leg, *told)

    async def awaited(self, leg: Activation, move: AwaitGuests) -> None:
        """Until somebody joins or answers, or it is too late; or for a while, since whoever did so
        may be gone before they have called."""
        if not leg.wanted_told and move.free:
            leg.wanted_told = True
            await self._tell(leg, GuestsInvited(seats=move.free))
        guests = {voice.name for voice in _guests(leg)}
        heard = [note for note in leg.notes if note.voice in guests]
        turn = len(guests) + len(heard)
        topic = guests_topic(move.round, turn)
        leg.waits[topic] += 1
        await leg.durable.wait_for_signal(
            topic, patience=self._patience(leg, move), name=f"{topic}:{leg.waits[topic]}"
        )

    def _patience(self, leg: Activation, move: AwaitGuests) -> timedelta:
        left = max(move.until - self.clock.now(), _NO_TIME)
        whole = leg.debate.deadline - leg.debate.started_at
        return min(left, max(whole / _LOOKS, _SELDOM))

    async def taken(self, leg: Activation) -> bool:
        """Whether any has answered whose answer was not written down yet: now it is."""
        if not _guests(leg):
            return False
        written = {note.name for note in leg.notes}
        table = leg.table(RemainingBudget(), self.clock.now())
        new = [(key, reply) for key, reply in await self._replies(leg) if key not in written]
        for key, reply in new:
            await self._write(leg, table, key, reply)
        return bool(new)

    async def _replies(self, leg: Activation) -> Sequence[tuple[str, DebaterReply]]:
        keys = [said_name(round_, voice.name) for voice in _guests(leg) for round_ in (1, 2)]
        return await retry_while_unavailable(
            lambda: self.seats.answered(leg.caller, leg.debate.id, keys)
        )

    async def _tell(self, leg: Activation, *happenings: DebateEvent) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.ask_voice.tasks,
            lambda label: self.event_sink.publish(leg.caller, debate, *happenings, label=label),
        )

    async def _write(self, leg: Activation, table: Table, key: str, reply: DebaterReply) -> None:
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


def guest_asked(table: Table, voice: Debater, round_: int) -> DebaterQuestion:
    said = table.said(1)
    first = next((each for each in said if each.voice == voice.name), None)
    again = round_ == 2 and first is not None
    return DebaterQuestion(
        name=said_name(round_, voice.name),
        kind=NoteKind.SAID,
        debater=voice,
        sheet=table.prompt_inputs.critique(voice, said)
        if again
        else table.prompt_inputs.first(voice),
        read=reading_said(table.debate.question, voice.name, round_, first if again else None),
        why="a guest",
        round=round_,
    )


def _guests(leg: Activation) -> Sequence[Debater]:
    return [voice for voice in leg.debate.debaters if voice.kind is DebaterKind.GUEST]
