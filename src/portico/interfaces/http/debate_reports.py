"""What is told about debates: a whole one, estimates, outcomes, replays, seats."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, JsonValue

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    Estimate,
    Outcome,
    Replayed,
    Seat,
    Source,
    WholeDebate,
)
from portico.debate.core.questions import Preset, QuestionKind
from portico.interfaces.http.agent_words import amount
from portico.interfaces.http.debate_words import (
    CostOut,
    DebateOut,
    DecisionOut,
    NoteOut,
    debate_out,
    decision_out,
    note_out,
)
from portico.interfaces.http.words import wire_object


class VoiceEstimateOut(BaseModel, title="VoiceEstimateOut"):
    voice: str
    calls: int
    tokens: int
    money: str
    bounded: bool


class EstimateOut(BaseModel, title="EstimateOut"):
    voices: list[VoiceEstimateOut]
    most: CostOut
    """Never passed."""
    likely_tokens: int
    likely_calls: int
    seconds: int
    preset: Preset
    kind: QuestionKind
    notes: list[str]
    fits: bool
    """Whether it can begin within its cap."""


class OutcomeOut(BaseModel, title="OutcomeOut"):
    debate: str
    right: str | None
    """The right answer, as it is counted."""
    shown: str | None
    """The same, as it is given out."""
    decided_right: bool
    source: Source
    note: str
    by: str
    at: datetime


class WholeDebateOut(BaseModel, title="WholeDebateOut"):
    debate: DebateOut
    notes: list[NoteOut]
    """All that was said and done, in its order."""
    parts: list[DebateOut]
    """The debates of an analysis."""
    outcomes: list[OutcomeOut]
    """How it turned out, newest first: that one counts."""


class ReplayedOut(BaseModel, title="ReplayedOut"):
    was: DecisionOut | None
    now: DecisionOut
    told: str
    calls: int
    """That these rules would have made, of those that were."""
    calls_made: int
    tokens: int
    tokens_spent: int
    notes: list[str]


class SeatOut(BaseModel, title="SeatOut"):
    voice: str
    """Who you are at this table."""
    question: str
    asked: str | None
    """What waits for your answer, if anything."""
    form: dict[str, JsonValue] | None
    """Of the answer, as a JSON schema."""
    until: datetime
    label: str
    over: bool


def whole_out(
    whole: WholeDebate, parts: Sequence[Debate], outcomes: Sequence[Outcome]
) -> WholeDebateOut:
    return WholeDebateOut(
        debate=debate_out(whole.debate),
        notes=[note_out(each) for each in whole.notes],
        parts=[debate_out(each) for each in parts],
        outcomes=[outcome_out(each) for each in outcomes],
    )


def estimate_out(estimate: Estimate) -> EstimateOut:
    return EstimateOut(
        voices=[
            VoiceEstimateOut(
                voice=each.voice,
                calls=each.calls,
                tokens=each.tokens,
                money=amount(each.money),
                bounded=each.bounded,
            )
            for each in estimate.voices
        ],
        most=CostOut(
            tokens=estimate.most_tokens,
            money=amount(estimate.most_money),
            calls=estimate.most_calls,
        ),
        likely_tokens=estimate.likely_tokens,
        likely_calls=estimate.likely_calls,
        seconds=estimate.seconds,
        preset=estimate.preset,
        kind=estimate.kind,
        notes=[*estimate.notes],
        fits=estimate.fits,
    )


def outcome_out(outcome: Outcome) -> OutcomeOut:
    return OutcomeOut(
        debate=str(outcome.debate),
        right=outcome.right,
        shown=outcome.shown,
        decided_right=outcome.decided_right,
        source=outcome.source,
        note=outcome.note,
        by=str(outcome.by),
        at=outcome.at,
    )


def replayed_out(replayed: Replayed) -> ReplayedOut:
    return ReplayedOut(
        was=None if replayed.was is None else decision_out(replayed.was),
        now=decision_out(replayed.now),
        told=verdict_words(replayed.now, DebateStatus.RUNNING),
        calls=replayed.calls,
        calls_made=replayed.calls_made,
        tokens=replayed.tokens,
        tokens_spent=replayed.tokens_spent,
        notes=[*replayed.notes],
    )


def seat_out(seat: Seat) -> SeatOut:
    return SeatOut(
        voice=seat.voice,
        question=seat.question,
        asked=seat.asked,
        form=None if seat.schema is None else wire_object(seat.schema),
        until=seat.until,
        label=str(seat.label),
        over=seat.over,
    )
