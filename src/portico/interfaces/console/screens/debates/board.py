"""A debate as it stands: what came of it, how sure that is, what it cost, who dissents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.debate.core.conduct import LONGEST, brief, percent, skipped_words, verdict_words
from portico.debate.core.debaters import VoiceKind
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    Decision,
    NoteKind,
    Option,
    Outcome,
    Verdict,
    WholeDebate,
)
from portico.interfaces.console.screens.debates.grid import (
    Round,
    Seat,
    cut,
    rounds_of,
    seats_of,
)
from portico.interfaces.console.screens.debates.meters import (
    Consensus,
    Spending,
    consensus_of,
    spending_of,
)
from portico.interfaces.console.screens.debates.rows import STATES, DebateRow, debate_rows
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal

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
    voices: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
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
    answers: tuple[Answer, ...]
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
        free_seats=max(0, its.guests - sum(v.kind is VoiceKind.GUEST for v in its.voices)),
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
    return any(v.kind is VoiceKind.GUEST and v.target == str(who) for v in its.voices)


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
            voices=", ".join(each.voices),
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


def _answers(its: Debate) -> tuple[Answer, ...]:
    """Those that could have been right: what was offered, or what was given."""
    options = () if its.decision is None else its.decision.options
    if not its.question.kind.closed:
        return tuple(Answer(value=each.key, shown=each.key) for each in options)[:26]
    given = its.question.choices or tuple(each.shown for each in options)
    if its.question.kind == "yes_no":
        given = ("yes", "no")
    return tuple(Answer(value=each, shown=brief(each)) for each in given)[:26]


def _plan(whole: WholeDebate) -> tuple[str, ...]:
    """Sub-questions of an analysis that were planned and not begun yet."""
    for note in whole.notes:
        parts = note.body.get("parts")
        if note.kind is NoteKind.PLAN and isinstance(parts, list):
            asked = [each.get("question") for each in parts if isinstance(each, dict)]
            return tuple(cut(str(each), 300)[0] for each in asked)
    return ()
