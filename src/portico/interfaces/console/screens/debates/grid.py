"""Who said what in which round: a row a round, a column a voice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from portico.debate.core.conduct import VOICE, skipped_words
from portico.debate.core.debaters import Voice
from portico.debate.core.debates import Debate, Note, NoteKind, Said, WholeDebate
from portico.debate.core.vote_weights import merged

HUES: Final = 8
_MOST: Final = 28_000
"""Letters of all that is shown of what was said; the log has the whole."""
_LEAST: Final = 160
_LONGEST: Final = 1_500
_NAMES: Final = {1: "blind: nobody knows what the others say", 2: "after reading the others"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A voice, as the head of its column."""

    voice: str
    name: str
    """As whom it speaks, or what it is called."""
    about: str
    letter: str
    hue: int
    guest: bool
    weight: float | None
    """Against the weightiest, 0 to 1."""
    tokens: int
    money: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    seat: Seat
    state: str
    """`said`, `failed`, `left_out` or `open`."""
    answer: str = ""
    why: str = ""
    """Its reasons; or why there is no answer."""
    cut: bool = False
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    was: str = ""
    """What it had said before, if that was something else."""
    because: str = ""
    veto: str = ""
    leads: bool = False
    """It is the answer that was decided."""
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    number: int
    name: str
    live: bool
    cells: tuple[Cell, ...]
    heard: int


def said_in(whole: WholeDebate) -> tuple[Said, ...]:
    """All answers, in their order; those that mean the same have one key."""
    every = [Said.from_json(note.body) for note in whole.notes if note.kind is NoteKind.SAID]
    return merged(every, whole.notes)


def seats_of(whole: WholeDebate) -> tuple[Seat, ...]:
    its = whole.debate
    weights = dict(its.decision.weights) if its.decision is not None else {}
    top = max(weights.values(), default=0.0)
    return tuple(
        Seat(
            voice=voice.name,
            name=" + ".join(voice.personas) or short_name(voice),
            about=_about(voice),
            letter=(" ".join(voice.personas) or short_name(voice))[:1].upper() or "?",
            hue=place % HUES,
            guest=voice.kind == "guest",
            weight=max(weights[voice.name], 0.0) / top if voice.name in weights and top else None,
            tokens=sum(int(n.cost.tokens) for n in whole.notes if n.voice == voice.name),
            money=sum((n.cost.money for n in whole.notes if n.voice == voice.name), Decimal(0)),
        )
        for place, voice in enumerate(its.voices)
    )


def rounds_of(whole: WholeDebate, seats: Sequence[Seat]) -> tuple[Round, ...]:
    """The newest first; a second one only if it was held."""
    its, said = whole.debate, said_in(whole)
    held = {note.round for note in whole.notes if note.kind in {NoteKind.SAID, NoteKind.FAILED}}
    numbers = sorted({1} | {number for number in held if number > 0}, reverse=True)
    most = max(_LEAST, min(_LONGEST, _MOST // max(1, len(numbers) * len(seats) * 2)))
    return tuple(
        _round(number, whole, seats, said, most, live=not its.status.over and number == numbers[0])
        for number in numbers
    )


def _round(  # one row, of what all rows are made of
    number: int,
    whole: WholeDebate,
    seats: Sequence[Seat],
    said: Sequence[Said],
    most: int,
    *,
    live: bool,
) -> Round:
    its = whole.debate
    here = {each.voice: each for each in said if each.round == number}
    before = {each.voice: each for each in said if each.round < number}
    failed = {n.voice: n for n in whole.notes if n.kind is NoteKind.FAILED and n.round == number}
    costs = {n.voice: n for n in whole.notes if n.kind is NoteKind.SAID and n.round == number}
    cells = []
    for seat in seats:
        if seat.voice in here:
            mine, was = here[seat.voice], before.get(seat.voice)
            tokens = int(costs[seat.voice].cost.tokens)
            cells.append(_said(seat, mine, was, its, most, tokens))
        elif seat.voice in failed:
            why = str(failed[seat.voice].body.get("why", ""))
            cells.append(Cell(seat=seat, state="failed", why=cut(why, most)[0]))
        else:
            why = _left_out(whole.notes, number, seat.voice)
            over = its.status.over or bool(why)
            cells.append(Cell(seat=seat, state="left_out" if over else "open", why=why))
    name = _NAMES.get(number, "")
    return Round(number=number, name=name, live=live, cells=tuple(cells), heard=len(here))


def _said(  # noqa: PLR0917 # one answer, and what it stands beside
    seat: Seat, mine: Said, was: Said | None, its: Debate, most: int, tokens: int
) -> Cell:
    closed = its.question.kind.closed
    answer, cut_answer = cut(mine.shown if closed else mine.answer, most)
    why, cut_why = cut(mine.rationale, most)
    decided = None if its.decision is None else its.decision.answer
    changed = was is not None and was.key != mine.key and closed
    return Cell(
        seat=seat,
        state="said",
        answer=answer,
        why=why,
        cut=cut_answer or cut_why,
        evidence=tuple(cut(each, 240)[0] for each in mine.evidence[:6]),
        confidence=mine.confidence,
        was=cut(was.shown, 80)[0] if changed and was is not None else "",
        because=cut(mine.changed_because or "", 300)[0],
        veto=cut(mine.veto or "", 400)[0],
        leads=closed and decided is not None and mine.shown == decided,
        tokens=tokens,
    )


def _left_out(notes: Iterable[Note], number: int, voice: str) -> str:
    """Why it was not asked, if that is noted."""
    names = {f"said:{number}:{voice}", f"{VOICE}:{voice}"}
    found = (n for n in notes if n.kind is NoteKind.SKIPPED and n.body.get("what") in names)
    note = next(found, None)
    return "" if note is None else skipped_words(note)


def counts_of(said: Sequence[Said]) -> Mapping[int, tuple[int, int]]:
    """By round, how many give the answer that most give, of how many who were heard by then."""
    counts: dict[int, tuple[int, int]] = {}
    for number in sorted({each.round for each in said}):
        last = {each.voice: each.key for each in said if each.round <= number}
        keys = [*last.values()]
        counts[number] = max(keys.count(key) for key in keys), len(keys)
    return counts


def short_name(voice: Voice) -> str:
    return voice.name.rpartition(":")[2] or voice.name


def _about(voice: Voice) -> str:
    return voice.name if voice.personas else f"{voice.kind}, {voice.family}"


def cut(text: str, most: int) -> tuple[str, bool]:
    whole = text.strip()
    return (whole, False) if len(whole) <= most else (f"{whole[: most - 1]}…", True)
