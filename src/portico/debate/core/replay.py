"""A debate decided again by other rules, out of what was said then: the same session asks, and the
notes answer. Whoever was not asked then gives no answer now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from portico.debate.core.alike import near_name, same_name
from portico.debate.core.conclusion import conclusion
from portico.debate.core.debate import Debate, WholeDebate
from portico.debate.core.decision import Decision
from portico.debate.core.moves import (
    AskBetter,
    AskGuests,
    AskSame,
    AskVoices,
    AwaitGuests,
    Compare,
    Conclude,
    Move,
    Skip,
)
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.open_session import SYNTHESIS, judged_name
from portico.debate.core.panel import Panel
from portico.debate.core.persona import Persona
from portico.debate.core.rules import Rules
from portico.debate.core.session import next_move
from portico.debate.core.spending import Left
from portico.debate.core.table import Table, said_name, skipped_name
from portico.debate.core.voice import VoiceKind
from portico.kernel.budget import NOTHING, Cost

_UNKNOWN = "nobody knows"
"""Why something is not done in a replay: it was not done then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    decision: Decision
    cost: Cost
    """Of the notes that it used."""
    missing: tuple[str, ...]
    """What these rules would have asked that nobody was asked then, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What is decided again: the debate without some voices, under other rules."""

    whole: WholeDebate
    rules: Rules
    panel: Panel
    """Of the voices that are still there."""
    personas: Mapping[str, Persona]
    count: Callable[[str], int]

    def __call__(self) -> Again:
        names = {voice.name for voice in self.panel.voices}
        then = {note.name: note for note in self.whole.notes}
        debate = replace(self.whole.debate, rules=self.rules, voices=self.panel.voices, guests=0)
        table = Table(
            debate=debate,
            notes=(),
            panel=self.panel,
            personas=self.personas,
            left=Left(),
            count=self.count,
            now=debate.started_at,
            posted=frozenset(said_name(1, name) for name in names),
        )
        table = replace(table, notes=_of_guests(self.whole, names))
        missing: list[str] = []
        while not isinstance(move := next_move(table), Conclude):
            notes = _answered(debate, move, then, missing)
            table = replace(table, notes=(*table.notes, *notes))
        used = sum((note.cost for note in table.notes), start=NOTHING)
        return Again(decision=conclusion(table, move.why), cost=used, missing=tuple(missing))


def _of_guests(whole: WholeDebate, names: set[str]) -> tuple[Note, ...]:
    """What they said in the first round is there from the beginning, as it cost nothing."""
    guests = {v.name for v in whole.debate.voices if v.kind is VoiceKind.GUEST} & names
    return tuple(note for note in whole.notes if note.voice in guests and note.round == 1)


def _answered(
    debate: Debate, move: Move, then: Mapping[str, Note], missing: list[str]
) -> Sequence[Note]:
    notes, at = [], debate.started_at
    for name, told in _wanted(debate, move):
        if name in then:
            notes.append(then[name])
        else:
            if told:
                missing.append(told)
            notes.append(_skipped(name, at))
    return notes


def _wanted(debate: Debate, move: Move) -> Sequence[tuple[str, str]]:
    """The notes that it would have led to, and what to say if they are not there."""
    match move:
        case AskVoices(voices=voices, round=round_):
            ways = {1: "would have been asked, and was not.", 2: "was asked for no critique."}
            return [(said_name(round_, v.name), f"{v.name} {ways[round_]}") for v in voices]
        case AskGuests(voices=voices, round=round_):
            return [(said_name(round_, voice.name), "") for voice in voices]
        case AwaitGuests(round=round_):
            return [(f"guests:{round_}", "")]
        case Compare(pairs):
            return [(near_name(debate, one, other), "") for one, other in pairs]
        case _:
            return [_judged(debate, move)]


def _judged(debate: Debate, move: Move) -> tuple[str, str]:
    match move:
        case AskSame(one=one, other=other):
            what = "Nobody was asked whether two of the answers mean the same."
            return same_name(debate, one, other), what
        case AskBetter(one=one, other=other):
            what = f"{one.voice} and {other.voice} were not compared."
            return judged_name(one.voice, other.voice), what
        case Skip(what=what):
            return skipped_name(what), ""
        case _:
            return SYNTHESIS, ""


def _skipped(name: str, at: datetime) -> Note:
    """In place of what was not done; an answer that was not given is none."""
    if name.startswith("near:"):
        return Note(name=name, kind=NoteKind.SAME, body={"same": None}, at=at)
    named = name if name.startswith("skipped:") else skipped_name(name)
    body = {"what": name, "why": _UNKNOWN}
    return Note(name=named, kind=NoteKind.SKIPPED, body=body, at=at)
