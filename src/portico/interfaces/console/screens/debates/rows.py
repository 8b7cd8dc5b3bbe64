"""Debates as rows of a list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from portico.debate.core.conduct import brief, percent, verdict_words
from portico.debate.core.debates import Debate, DebateStatus
from portico.kernel.label import Label

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
    voices: int
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
        voices=len(its.voices),
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
