"""A debate as it is drawn: answers by round, decision, confidence, budget."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from portico.debate.core.conduct import LONGEST, VOICE, brief, percent, skipped_words, verdict_words
from portico.debate.core.debaters import Debater, DebaterKind
from portico.debate.core.debates import (
    Debate,
    DebaterAnswer,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Option,
    Outcome,
    Verdict,
    WholeDebate,
)
from portico.debate.core.vote_weights import merged
from portico.interfaces.console.formatting import NOTHING as DASH
from portico.kernel.budget import NOTHING
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

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
    received: int


def said_in(whole: WholeDebate) -> tuple[DebaterAnswer, ...]:
    """All answers, in their order; those that mean the same have one key."""
    every = [
        DebaterAnswer.from_json(note.body) for note in whole.notes if note.kind is NoteKind.SAID
    ]
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
        for place, voice in enumerate(its.debaters)
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
    said: Sequence[DebaterAnswer],
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
    return Round(number=number, name=name, live=live, cells=tuple(cells), received=len(here))


def _said(  # noqa: PLR0917 # one answer, and what it stands beside
    seat: Seat, mine: DebaterAnswer, was: DebaterAnswer | None, its: Debate, most: int, tokens: int
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


def counts_of(said: Sequence[DebaterAnswer]) -> Mapping[int, tuple[int, int]]:
    """By round, how many give the answer that most give, of how many who were heard by then."""
    counts: dict[int, tuple[int, int]] = {}
    for number in sorted({each.round for each in said}):
        last = {each.voice: each.key for each in said if each.round <= number}
        keys = [*last.values()]
        counts[number] = max(keys.count(key) for key in keys), len(keys)
    return counts


def short_name(voice: Debater) -> str:
    return voice.name.rpartition(":")[2] or voice.name


def _about(voice: Debater) -> str:
    return voice.name if voice.personas else f"{voice.kind}, {voice.family}"


def cut(text: str, most: int) -> tuple[str, bool]:
    whole = text.strip()
    return (whole, False) if len(whole) <= most else (f"{whole[: most - 1]}…", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    value: float | None
    text: str
    target: float
    """From which on nobody else is asked."""
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    tokens: int
    cap: int | None
    share: float | None
    money: Decimal
    money_cap: Decimal | None
    calls: int
    saved: int
    unpriced: int
    """Voices of which nobody knows a price, or which cost nothing."""


def consensus_of(whole: WholeDebate) -> Consensus:
    """The probability of the answer once it is weighed; before, how many of those who were heard
    give the one that most give."""
    its, counts = whole.debate, counts_of(said_in(whole))
    target, closed = its.rules.stop_at, its.question.kind.closed
    value: float | None = None
    if its.analysis:
        value = None if its.decision is None else its.decision.probability
        note = "of its sub-questions, on the average"
    elif its.decision is not None and its.decision.options:
        value, note = its.decision.probability, f"{percent(target)} is enough at once"
    elif closed and counts:
        most, heard = counts[max(counts)]
        value, note = most / heard, f"by count so far; once weighed, {percent(target)} is enough"
    else:
        note = "no answer yet" if closed else "open answers are compared in the end"
    if closed and counts and not its.analysis:
        told = [f"{most} of {heard} in round {each}" for each, (most, heard) in counts.items()]
        note += f" · {', '.join(told)}"
    words = DASH if value is None else percent(value)
    return Consensus(value=value, text=words, target=target, note=note)


def spending_of(whole: WholeDebate) -> Spending:
    its = whole.debate
    noted = sum((note.cost for note in whole.notes), start=NOTHING)
    spent = its.spent if its.status.over else noted
    tokens, cap = int(spent.tokens), its.cap.tokens
    shares = [tokens / cap] if cap else []
    if its.cap.money:
        shares.append(float(spent.money / its.cap.money))
    return Spending(
        tokens=tokens,
        cap=cap,
        share=max(shares, default=None),
        money=spent.money,
        money_cap=its.cap.money,
        calls=spent.calls,
        saved=0 if its.decision is None else its.decision.saved_tokens,
        unpriced=sum(v.tariff is None and v.kind is not DebaterKind.GUEST for v in its.debaters),
    )


STATES: Final[Mapping[DebateStatus, tuple[str, str]]] = {
    DebateStatus.RUNNING: ("in progress", "run"),
    DebateStatus.DECIDED: ("decided", "ok"),
    DebateStatus.NO_DECISION: ("no decision", "warn"),
    DebateStatus.ESCALATED: ("a person decides", "bad"),
    DebateStatus.STOPPED: ("stopped", ""),
    DebateStatus.FAILED: ("failed", "bad"),
}
"""The word and the tone of each."""
CHIPS: Final[Mapping[str, str]] = {
    "": "All",
    **{str(status): word.capitalize() for status, (word, _) in STATES.items()},
}
_QUESTION: Final = 220


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateRow:
    path: str
    question: str
    state: str
    tone: str
    answer: str | None
    """None without a decision."""
    told: str
    sure: float | None
    """How likely the answer is."""
    sure_words: str
    debater_count: int
    rounds: int
    preset: str
    analysis: bool
    tokens: int
    money: Decimal
    label: Label
    shared: bool
    started_at: datetime
    took: float | None
    """Seconds."""


def debate_rows(debates: Sequence[Debate]) -> tuple[DebateRow, ...]:
    return tuple(map(debate_row, debates))


def debate_row(its: Debate) -> DebateRow:
    state, tone = STATES[its.status]
    decision = its.decision
    answer = None if decision is None or decision.answer is None else brief(decision.answer)
    if its.analysis and answer is not None:
        answer = "answered, out of its sub-questions"
    sure = None if decision is None or answer is None else decision.probability
    return DebateRow(
        path=f"/debates/{its.id}",
        question=_short(its.question.text),
        state=state,
        tone=tone,
        answer=answer,
        told=verdict_words(decision, its.status),
        sure=sure,
        sure_words="" if sure is None else percent(sure),
        debater_count=len(its.debaters),
        rounds=its.rules.rounds,
        preset=str(its.rules.preset),
        analysis=its.analysis,
        tokens=int(its.spent.tokens),
        money=its.spent.money,
        label=its.label,
        shared=not its.private,
        started_at=its.started_at,
        took=None if its.ended_at is None else (its.ended_at - its.started_at).total_seconds(),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUESTION else f"{line[: _QUESTION - 1]}…"


_ANSWER: Final = 6_000
_TEXT: Final = 700
_JUDGED: Final = 12
_RULES: Final[Mapping[str, str]] = {
    "cold": "Nothing is known of these voices yet: each weighs the same",
    "fitted": "Each weighs what it got right before",
    "best_single": "The one that was right most often speaks for all",
    "majority": "Each counts the same",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dissent:
    answer: str
    sure: str
    debaters: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAnswer:
    """One that can be said to be right."""

    value: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class May:
    """What whoever looks can do now."""

    stop: bool
    share: bool
    promote: bool
    mark: bool
    say_right: bool
    replay: bool
    join: bool
    seated: bool
    remove: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    state: str
    tone: str
    over: bool
    headline: str
    """The answer, or that there is none."""
    decided: bool
    told: str
    sure: str
    synthesis: str
    consensus: Consensus
    spending: Spending
    took: float
    deadline: datetime
    seats: tuple[Seat, ...]
    rounds: tuple[Round, ...]
    dissent: tuple[Dissent, ...]
    veto: str
    weighed: str
    skipped: tuple[str, ...]
    judged: tuple[str, ...]
    answers: tuple[BoardAnswer, ...]
    free_seats: int
    parts: tuple[DebateRow, ...]
    plan: tuple[str, ...]


def board_of(whole: WholeDebate, parts: Sequence[Debate], now: datetime) -> Board:
    its = whole.debate
    state, tone = STATES[its.status]
    seats = seats_of(whole)
    decision = its.decision
    return Board(
        state=state,
        tone=tone,
        over=its.status.over,
        headline=_headline(its, parts),
        decided=decision is not None and decision.answer is not None,
        told="" if _long(decision) else verdict_words(decision, its.status),
        sure="" if decision is None or decision.answer is None else percent(decision.probability),
        synthesis=_synthesis(decision),
        consensus=consensus_of(whole),
        spending=spending_of(whole),
        took=((its.ended_at or now) - its.started_at).total_seconds(),
        deadline=its.deadline,
        seats=seats,
        rounds=() if its.analysis else rounds_of(whole, seats),
        dissent=() if its.analysis else _dissent(decision),
        veto="" if decision is None else decision.veto or "",
        weighed=_weighed(decision),
        skipped=tuple(skipped_words(n) for n in whole.notes if n.kind is NoteKind.SKIPPED)[:20],
        judged=_judged(whole),
        answers=_answers(its),
        free_seats=max(0, its.guests - sum(v.kind is DebaterKind.GUEST for v in its.debaters)),
        parts=debate_rows(parts),
        plan=_plan(whole) if not parts else (),
    )


def may_of(its: Debate, caller: Principal, board: Board) -> May:
    mine, over = its.started_by == caller.id, its.status.over
    runs = caller.may("debates:run")
    said = any(cell.state == "said" for each in board.rounds for cell in each.cells)
    seated = is_seated(its, caller.id)
    return May(
        stop=mine and runs and not over,
        share=mine and runs and its.private and its.project is not None,
        promote=mine and runs and over and its.label.level > 0,
        mark=runs and over and not its.analysis,
        say_right=board.decided,
        replay=over and not its.analysis and said,
        join=caller.may("debates:join") and not over and board.free_seats > 0 and not seated,
        seated=seated and not over,
        remove=mine and runs and over and its.part_of is None,
    )


def is_seated(its: Debate, who: PrincipalId) -> bool:
    return any(v.kind is DebaterKind.GUEST and v.target == str(who) for v in its.debaters)


def outcome_words(outcomes: Sequence[Outcome]) -> str:
    """Of the newest, which counts."""
    if not outcomes:
        return ""
    last = outcomes[0]
    if last.decided_right:
        return "It turned out right."
    if last.shown:
        return f"It turned out that {brief(last.shown)} is right."
    return "It turned out wrong."


def _headline(its: Debate, parts: Sequence[Debate]) -> str:
    decision = its.decision
    if its.analysis and its.status.over and parts:
        settled = sum(each.status is DebateStatus.DECIDED for each in parts)
        return f"{settled} of {len(parts)} sub-questions are decided"
    if decision is not None and decision.answer is not None:
        return "Decided" if _long(decision) else brief(decision.answer)
    match its.status:
        case DebateStatus.RUNNING:
            return "Nothing is decided yet"
        case DebateStatus.ESCALATED:
            return "Not decided: a specialist objects"
        case _:
            return "No decision"


def _long(decision: Decision | None) -> bool:
    """Its answer is a text of its own, and stands below."""
    return decision is not None and bool(decision.synthesis or len(decision.answer or "") > LONGEST)


def _synthesis(decision: Decision | None) -> str:
    if decision is None or not _long(decision):
        return ""
    return cut(decision.synthesis or decision.answer or "", _ANSWER)[0]


def _dissent(decision: Decision | None) -> tuple[Dissent, ...]:
    if decision is None:
        return ()
    return tuple(
        Dissent(
            answer=cut(each.shown, 240)[0],
            sure=percent(each.probability),
            debaters=", ".join(each.debaters),
            why=cut(each.rationale, _TEXT)[0],
        )
        for each in _others(decision)
    )


def _others(decision: Decision) -> Sequence[Option]:
    """Without a decision, all of them."""
    return decision.dissent if decision.verdict is Verdict.DECIDED else decision.options


def _weighed(decision: Decision | None) -> str:
    if decision is None or not decision.weights:
        return ""
    how = _RULES.get(decision.rule, decision.rule)
    return f"{how}. They count as {decision.n_eff:.1f} independent voices."


def _judged(whole: WholeDebate) -> tuple[str, ...]:
    found = [note for note in whole.notes if note.kind is NoteKind.JUDGED][:_JUDGED]
    return tuple(
        f"{note.voice or 'a judge'} on {note.body.get('one')} or {note.body.get('other')}: "
        f"{note.body.get('better') or 'neither'} is better. "
        f"{cut(str(note.body.get('why') or ''), 240)[0]}"
        for note in found
    )


def _answers(its: Debate) -> tuple[BoardAnswer, ...]:
    """Those that could have been right: what was offered, or what was given."""
    options = () if its.decision is None else its.decision.options
    if not its.question.kind.closed:
        return tuple(BoardAnswer(value=each.key, shown=each.key) for each in options)[:26]
    given = its.question.choices or tuple(each.shown for each in options)
    if its.question.kind == "yes_no":
        given = ("yes", "no")
    return tuple(BoardAnswer(value=each, shown=brief(each)) for each in given)[:26]


def _plan(whole: WholeDebate) -> tuple[str, ...]:
    """Sub-questions of an analysis that were planned and not begun yet."""
    for note in whole.notes:
        parts = note.body.get("parts")
        if note.kind is NoteKind.PLAN and isinstance(parts, list):
            asked = [each.get("question") for each in parts if isinstance(each, dict)]
            return tuple(cut(str(each), 300)[0] for each in asked)
    return ()
