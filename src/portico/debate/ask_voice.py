"""Ask one voice one thing, and pay for it once: what it may cost is reserved before, what it said
is written down, and only then is it settled. Whatever it does, a note comes of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.debate.core.asking import VoiceAsk, VoiceReply
from portico.debate.core.errors import VoiceNotCleared, VoiceSilent
from portico.debate.core.happening import (
    Happening,
    Skipped,
    Standing,
    VoiceAnswered,
    VoiceAsked,
    VoiceFailed,
    VoiceSpoke,
)
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.panel import standing
from portico.debate.core.reply_text import Unusable, cleaned
from portico.debate.core.said import Said
from portico.debate.core.sheets import Sheet
from portico.debate.core.spending import Left, Reserve, charged, charged_at_most
from portico.debate.core.table import BUDGET, skipped_name
from portico.debate.core.voice import Voice, VoiceKind
from portico.debate.leg import Leg
from portico.debate.ports import Blackboard, Purse, Talk, Tasks, Voices
from portico.debate.write_as_read import as_read
from portico.engine.execution import patiently
from portico.kernel.budget import NOTHING, Cost
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue

_SHARE: Final = 0.5
"""Of the time that is left, for one answer: whoever stalls leaves as much to the others."""
_FOR_THE_END: Final = 0.05
"""Of it, that the last answers leave for the decision."""
_LEAST: Final = timedelta(seconds=20)
"""That an answer has at least, where as much is left."""

PAID: Final = "paid"
"""Under this a note says which reservation it was paid from."""

Reading = Callable[[str], JsonObject | Unusable]
"""From what was said to the body of its note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    name: str
    """Of the note, the step and the reservation: after what it is about."""
    kind: NoteKind
    voice: Voice
    sheet: Sheet
    read: Reading
    why: str
    round: int = 1
    last: bool = False
    """Nobody is asked after it: it has nearly all the time that is left."""

    def body(self, text: str) -> JsonObject | Unusable:
        """Whatever was said, a note comes of it."""
        try:
            return self.read(text)
        except Exception:  # noqa: BLE001 # what cannot even be read is no answer
            return Unusable("unreadable", "what it said could not be read.")

    @property
    def told_round(self) -> int:
        """0 of what is no answer to the question."""
        return self.round if self.kind is NoteKind.SAID else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskVoice:
    voices: Voices
    blackboard: Blackboard
    purse: Purse
    tasks: Tasks
    talk: Talk
    clock: Clock

    async def __call__(self, leg: Leg, asked: Asked) -> JsonValue:
        """Nothing of what came of it: that is in its note, for those who may read the debate."""
        reserve = asked.sheet.reserve(asked.voice, leg.count)
        name, debate = leg.reservation(asked.name), leg.debate.id
        passed = await patiently(lambda: self.purse.reserve(leg.caller, debate, name, reserve.cost))
        if passed:
            return await self._skipped(leg, asked, reserve, passed)
        await self._tell(
            leg,
            VoiceAsked(
                voice=asked.voice.name,
                round=asked.told_round,
                reserved_tokens=reserve.cost.tokens,
                why=asked.why,
            ),
        )
        began = self.clock.now()
        note = await self._heard(leg, asked, reserve)
        paid = replace(note, body={**note.body, PAID: name})
        written = await as_read(
            leg, self.tasks, lambda label: self.blackboard.note(leg.caller, debate, paid, label)
        )
        await patiently(lambda: self.purse.settle(leg.caller, debate, name, written.cost))
        await self.tell_note(leg, written, took=self.clock.now() - began)
        return None

    async def tell_note(self, leg: Leg, note: Note, *, took: timedelta) -> None:
        """And how it stands then."""
        happened = _happening(note, took)
        told = [] if happened is None else [happened]
        await self._tell(leg, *told, await self._standing(leg))

    async def _standing(self, leg: Leg) -> Standing:
        whole = await patiently(lambda: self.blackboard.read(leg.caller, leg.debate.id))
        open_ones = await patiently(lambda: self.purse.outstanding(leg.caller, leg.debate.id))
        reserved = sum(open_ones.values(), start=NOTHING)
        spent = sum((note.cost for note in whole.notes), start=NOTHING)
        leg.debate, leg.notes = whole.debate, whole.notes
        said = leg.table(Left(), self.clock.now()).said(1, 2)
        known = {voice.name for voice in leg.panel.voices}
        closed = leg.debate.question.kind.closed
        countable = [each for each in said if each.voice in known] if closed else []
        return Standing(
            options=standing(leg.panel, countable) if countable else (),
            spent_tokens=spent.tokens,
            reserved_tokens=reserved.tokens,
            cap_tokens=leg.debate.cap.tokens,
            spent_money=spent.money,
            cap_money=leg.debate.cap.money,
        )

    async def _skipped(
        self, leg: Leg, asked: Asked, reserve: Reserve, passed: tuple[str, ...]
    ) -> JsonValue:
        body: JsonObject = {
            "what": asked.name,
            "why": BUDGET,
            "passed": list(passed),
            "saved": reserve.cost.tokens,
        }
        note = Note(
            name=skipped_name(asked.name),
            kind=NoteKind.SKIPPED,
            voice=asked.voice.name,
            round=asked.round,
            body=body,
            at=self.clock.now(),
        )
        debate = leg.debate.id
        await as_read(
            leg, self.tasks, lambda label: self.blackboard.note(leg.caller, debate, note, label)
        )
        why = f"it would have passed {', '.join(passed)}"
        told = Skipped(what=asked.voice.name, why=why, saved_tokens=reserve.cost.tokens)
        await self._tell(leg, told)
        return None

    async def _heard(self, leg: Leg, asked: Asked, reserve: Reserve) -> Note:
        """Raises nothing that the voice is the cause of."""
        try:
            reply = await self._reply(leg, asked, reserve)
        except TimeoutError:
            code = "stopped" if leg.watch.asked else "voice_late"
            why = "it was stopped." if leg.watch.asked else "it gave no answer in time."
            return self._failed(asked, Unusable(code, why), charged_at_most(reserve, None))
        except VoiceSilent as error:
            cost = charged_at_most(reserve, error.cost, bounded=asked.voice.bounded)
            note = self._failed(asked, Unusable(error.code, error.why), cost)
            return replace(note, overrun=max(cost.tokens - reserve.cost.tokens, 0))
        except VoiceNotCleared as error:
            cost = charged_at_most(reserve, error.cost)
            return self._failed(asked, Unusable(error.code, str(error)), cost)
        except PorticoError as error:
            cost = charged_at_most(reserve, None)
            return self._failed(asked, Unusable(error.code, str(error)), cost)
        except Exception as error:  # noqa: BLE001 # a broken adapter is one voice less, no more
            broke = Unusable("voice_broke", f"it broke ({type(error).__name__}).")
            return self._failed(asked, broke, charged_at_most(reserve, None))
        await self._taken_in(leg, reply)
        return self._said(asked, reserve, reply)

    async def _reply(self, leg: Leg, asked: Asked, reserve: Reserve) -> VoiceReply:
        now, sheet, voice = self.clock.now(), asked.sheet, asked.voice
        patience = patience_for(leg.debate.deadline, now, last=asked.last)
        ask = VoiceAsk(
            voice=voice,
            system=sheet.system,
            prompt=sheet.prompt,
            schema=sheet.schema,
            prompt_tokens=reserve.counted,
            most_output=sheet.most_output,
            timeout=patience,
            label=leg.label,
            ceiling=leg.debate.label if leg.shared else None,
            key=f"{leg.debate.id}:{asked.name}",
        )

        def hear(piece: str) -> None:
            # An agent may have read more than the debate has: its words come with its answer.
            if voice.kind is not VoiceKind.AGENT:
                spoke = VoiceSpoke(voice=voice.name, round=asked.told_round, text=piece)
                self.talk.speak(leg.caller, leg.debate.id, spoke, label=leg.label)

        async with asyncio.timeout(patience.total_seconds()) as timeout:
            with leg.watch.over(timeout):
                return await self.voices.ask(leg.starter.now, ask, hear)

    async def _taken_in(self, leg: Leg, reply: VoiceReply) -> None:
        """What it has read besides what it was told is read in the debate, from now on."""
        if leg.label.covers(reply.label) and not reply.untrusted:
            return
        leg.risen(reply.label)
        await patiently(lambda: self.tasks.read(leg.caller, reply.label, untrusted=reply.untrusted))

    def _said(self, asked: Asked, reserve: Reserve, reply: VoiceReply) -> Note:
        charge = charged(asked.voice, reserve, reply)
        body = asked.body(reply.text)
        if isinstance(body, Unusable):
            why = "it was cut off before it had answered." if reply.cut else body.why
            failed = self._failed(asked, Unusable(body.code, why), charge.cost, reply.text)
            return replace(
                failed,
                prompt_tokens=charge.prompt,
                output_tokens=charge.output,
                overrun=charge.overrun,
            )
        return Note(
            name=asked.name,
            kind=asked.kind,
            voice=asked.voice.name,
            round=asked.round,
            body=body,
            cost=charge.cost,
            at=self.clock.now(),
            prompt_tokens=charge.prompt,
            output_tokens=charge.output,
            overrun=charge.overrun,
        )

    def _failed(self, asked: Asked, why: Unusable, cost: Cost, text: str = "") -> Note:
        return failed_note(asked, why, cost, self.clock.now(), text)

    async def _tell(self, leg: Leg, *happenings: Happening) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.tasks,
            lambda label: self.talk.tell(leg.caller, debate, *happenings, label=label),
        )


def failed_note(asked: Asked, why: Unusable, cost: Cost, at: datetime, text: str = "") -> Note:
    """What it said is kept where it could not be used: for whoever wants to see why."""
    body: JsonObject = {"code": why.code, "why": why.why, "text": cleaned(text)[:2_000]}
    return Note(
        name=asked.name,
        kind=NoteKind.FAILED,
        voice=asked.voice.name,
        round=asked.round,
        body=body,
        cost=cost,
        at=at,
    )


def patience_for(deadline: datetime, now: datetime, *, last: bool) -> timedelta:
    """Never beyond the deadline."""
    left = max(deadline - now, timedelta(0))
    if last:
        return left * (1 - _FOR_THE_END)
    return min(left, max(left * _SHARE, _LEAST))


def _happening(note: Note, took: timedelta) -> VoiceAnswered | VoiceFailed | None:
    if note.kind is NoteKind.FAILED:
        return VoiceFailed(
            voice=note.voice or "",
            round=note.round if note.name.startswith("said:") else 0,
            code=str(note.body["code"]),
            why=str(note.body["why"]),
        )
    if note.kind is not NoteKind.SAID:
        return None
    said = Said.from_json(note.body)
    return VoiceAnswered(
        voice=said.voice,
        round=said.round,
        answer=said.shown,
        rationale=said.rationale,
        confidence=said.confidence,
        tokens=note.cost.tokens,
        money=note.cost.money,
        seconds=took.total_seconds(),
    )
