"""Debates as they are written on the wire."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, JsonValue

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debaters import Tariff, Voice, VoiceKind
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Option,
    Verdict,
    Why,
)
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.http.agent_words import amount
from portico.interfaces.http.words import wire_object
from portico.kernel.budget import Cost


class QuestionOut(BaseModel, title="QuestionOut"):
    text: str
    kind: QuestionKind
    choices: list[str]
    topic: str


class TariffOut(BaseModel, title="TariffOut"):
    """US dollars of a million tokens."""

    input: str
    output: str


class VoiceOut(BaseModel, title="VoiceOut"):
    name: str
    kind: VoiceKind
    target: str
    family: str
    """Whose errors it shares."""
    personas: list[str]
    specialist: bool
    """Whether it may veto in a quorum, with evidence."""
    bounded: bool
    """Whether it can be held to a maximum."""
    clearance: str
    most_output: int
    """Tokens of one answer."""
    tariff: TariffOut | None
    """Null if nobody knows, or if it costs nothing."""


class CapOut(BaseModel, title="CapOut"):
    tokens: int | None
    money: str | None
    """US dollars."""


class CostOut(BaseModel, title="CostOut"):
    tokens: int
    money: str
    """US dollars."""
    calls: int


class OptionOut(BaseModel, title="OptionOut"):
    answer: str
    probability: float
    voices: list[str]
    rationale: str


class DecisionOut(BaseModel, title="DecisionOut"):
    verdict: Verdict
    why: Why
    """Why it ended there."""
    answer: str | None
    probability: float
    """Of the answer, or of the likeliest one where nothing was decided."""
    options: list[OptionOut]
    """Likeliest first."""
    dissent: list[OptionOut]
    n_eff: float
    """As many voters that know nothing of each other would weigh as much."""
    rule: str
    """How they were weighed: `cold`, `fitted`, `best_single`, `majority`."""
    weights: dict[str, float]
    veto: str | None
    synthesis: str | None
    asked: int
    saved_tokens: int
    """By not asking whoever was left, at most."""


class DebateOut(BaseModel, title="DebateOut"):
    id: str
    question: QuestionOut
    preset: Preset
    thoroughness: float
    voices: list[VoiceOut]
    """Who may be asked."""
    guests: int
    """Seats for those who join."""
    cap: CapOut
    unbounded: bool
    deadline: datetime
    label: str
    untrusted: bool
    """Its voices have read strangers' words."""
    private: bool
    """For whoever started it alone; else for its project."""
    project: str | None
    part_of: str | None
    analysis: bool
    started_by: str
    run: str
    status: DebateStatus
    started_at: datetime
    ended_at: datetime | None
    spent: CostOut
    """Of one that is over; while it goes on, `standing` in its events has it."""
    decision: DecisionOut | None
    told: str
    """How it stands, in a sentence, and what to do next."""


class NoteOut(BaseModel, title="NoteOut"):
    name: str
    kind: NoteKind
    voice: str | None
    round: int
    body: dict[str, JsonValue]
    cost: CostOut
    prompt_tokens: int
    output_tokens: int
    overrun: int
    """Tokens beyond what was reserved, of a voice that cannot be held to a maximum."""
    at: datetime


def debate_out(debate: Debate) -> DebateOut:
    question = debate.question
    return DebateOut(
        id=str(debate.id),
        question=QuestionOut(
            text=question.text,
            kind=question.kind,
            choices=[*question.choices],
            topic=question.topic,
        ),
        preset=debate.rules.preset,
        thoroughness=debate.rules.thoroughness,
        voices=[voice_out(each) for each in debate.voices],
        guests=debate.guests,
        cap=cap_out(debate.cap),
        unbounded=debate.unbounded,
        deadline=debate.deadline,
        label=str(debate.label),
        untrusted=debate.untrusted,
        private=debate.private,
        project=debate.project,
        part_of=None if debate.part_of is None else str(debate.part_of),
        analysis=debate.analysis,
        started_by=str(debate.started_by),
        run=str(debate.run),
        status=debate.status,
        started_at=debate.started_at,
        ended_at=debate.ended_at,
        spent=cost_out(debate.spent),
        decision=None if debate.decision is None else decision_out(debate.decision),
        told=verdict_words(debate.decision, debate.status),
    )


def decision_out(decision: Decision) -> DecisionOut:
    return DecisionOut(
        verdict=decision.verdict,
        why=decision.why,
        answer=decision.answer,
        probability=decision.probability,
        options=[_option_out(each) for each in decision.options],
        dissent=[_option_out(each) for each in decision.dissent],
        n_eff=decision.n_eff,
        rule=decision.rule,
        weights=dict(decision.weights),
        veto=decision.veto,
        synthesis=decision.synthesis,
        asked=decision.asked,
        saved_tokens=decision.saved_tokens,
    )


def voice_out(voice: Voice) -> VoiceOut:
    return VoiceOut(**voice_facts(voice))


def voice_facts(voice: Voice) -> dict[str, Any]:
    tariff = voice.tariff
    return {
        "name": voice.name,
        "kind": voice.kind,
        "target": voice.target,
        "family": voice.family,
        "personas": [*voice.personas],
        "specialist": voice.specialist,
        "bounded": voice.bounded,
        "clearance": str(voice.clearance),
        "most_output": voice.most_output,
        "tariff": None if tariff is None else _tariff_out(tariff),
    }


def cap_out(cap: Cap) -> CapOut:
    return CapOut(tokens=cap.tokens, money=None if cap.money is None else amount(cap.money))


def cost_out(cost: Cost) -> CostOut:
    return CostOut(tokens=int(cost.tokens), money=amount(cost.money), calls=cost.calls)


def _tariff_out(tariff: Tariff) -> TariffOut:
    return TariffOut(input=amount(tariff.input), output=amount(tariff.output))


def _option_out(option: Option) -> OptionOut:
    return OptionOut(
        answer=option.shown,
        probability=option.probability,
        voices=[*option.voices],
        rationale=option.rationale,
    )


def note_out(note: Note) -> NoteOut:
    return NoteOut(
        name=note.name,
        kind=note.kind,
        voice=note.voice,
        round=note.round,
        body=wire_object(note.body),
        cost=cost_out(note.cost),
        prompt_tokens=note.prompt_tokens,
        output_tokens=note.output_tokens,
        overrun=note.overrun,
        at=note.at,
    )
