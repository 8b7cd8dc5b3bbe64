"""Ask guests, wait for them without taking up a process, and count what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.debate.ask_voice import Asked, AskVoice, failed_note
from portico.debate.core.asking import VoiceAsk, VoiceReply
from portico.debate.core.guest import guests_topic
from portico.debate.core.happening import GuestsWanted, Happening, VoiceAsked
from portico.debate.core.moves import AwaitGuests
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.readings import reading_said
from portico.debate.core.reply_text import Unusable
from portico.debate.core.spending import Left
from portico.debate.core.table import Table, said_name
from portico.debate.core.voice import Voice, VoiceKind
from portico.debate.leg import Leg
from portico.debate.ports import Blackboard, Seats, Talk
from portico.debate.write_as_read import as_read
from portico.engine.execution import patiently
from portico.kernel.budget import NOTHING
from portico.kernel.clock import Clock

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
