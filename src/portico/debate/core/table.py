"""A debate as it stands: what was asked of whom, and what came of it, out of its notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from portico.debate.core.debate import Debate
from portico.debate.core.decision import Why
from portico.debate.core.merging import matched
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.panel import Panel
from portico.debate.core.persona import Persona
from portico.debate.core.said import Said
from portico.debate.core.sheets import Desk, Sheet
from portico.debate.core.spending import Count, Left, Reserve
from portico.debate.core.voice import Voice, VoiceKind, narrowest
from portico.kernel.budget import Cost

BUDGET = "budget"
"""Why something was skipped that would have passed a cap."""


def said_name(round_: int, voice: str) -> str:
    """Of the note of an answer, its step and its reservation."""
    return f"said:{round_}:{voice}"


def skipped_name(what: str) -> str:
    return f"skipped:{what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    debate: Debate
    notes: tuple[Note, ...]
    panel: Panel
    personas: Mapping[str, Persona]
    left: Left
    count: Count
    now: datetime
    posted: frozenset[str] = frozenset()
    """Names of what guests were asked, as far as whoever carries it on knows."""

    @property
    def desk(self) -> Desk:
        its = self.debate
        return Desk(
            question=its.question,
            rules=its.rules,
            personas=self.personas,
            seed=its.seed,
            count=self.count,
            narrowest=narrowest(self.house),
        )

    @property
    def names(self) -> frozenset[str]:
        return frozenset(note.name for note in self.notes)

    @property
    def ended_by(self) -> Why | None:
        """Whether somebody or the clock has ended it."""
        kinds = {note.kind for note in self.notes}
        if NoteKind.STOPPED in kinds:
            return Why.STOPPED
        return Why.DEADLINE if NoteKind.OVERDUE in kinds else None

    def said(self, *rounds: int) -> tuple[Said, ...]:
        """Of these rounds, by round and in the order of the voices, whoever was quicker; answers
        that mean the same have one key."""
        order = {voice.name: place for place, voice in enumerate(self.debate.voices)}
        notes = [note for note in self.notes if note.kind is NoteKind.SAID]
        every = [Said.from_json(note.body) for note in notes if note.round in rounds]
        every.sort(key=lambda each: (each.round, order.get(each.voice, len(order))))
        return matched(self.debate, every, self.notes)

    @property
    def house(self) -> tuple[Voice, ...]:
        """Whom we ask, and pay for."""
        return tuple(each for each in self.debate.voices if each.kind is not VoiceKind.GUEST)

    @property
    def guests(self) -> tuple[Voice, ...]:
        return tuple(each for each in self.debate.voices if each.kind is VoiceKind.GUEST)

    def done(self, name: str) -> bool:
        """Whether it was done, or given up."""
        return name in self.names or skipped_name(name) in self.names

    def hears(self, voice: Voice) -> bool:
        """Whether it may be told what is in it."""
        return voice.clearance.covers(self.debate.label)

    def unasked(self) -> tuple[Voice, ...]:
        """In the first round. Who may not be told this is not asked."""
        return tuple(
            voice
            for voice in self.house
            if not self.done(said_name(1, voice.name)) and self.hears(voice)
        )

    def answered(self) -> int:
        """How many that we pay for have."""
        house = {voice.name for voice in self.house}
        return sum(each.voice in house for each in self.said(1))

    @property
    def short_of_budget(self) -> bool:
        return any(
            note.kind is NoteKind.SKIPPED and note.body.get("why") == BUDGET for note in self.notes
        )

    def reserve(self, voice: Voice, sheet: Sheet) -> Reserve:
        return sheet.reserve(voice, self.count)

    def cost(self, voice: Voice, sheet: Sheet) -> Cost:
        return self.reserve(voice, sheet).cost

    def affords(self, voice: Voice, sheet: Sheet) -> bool:
        return self.left.fits(self.cost(voice, sheet))
