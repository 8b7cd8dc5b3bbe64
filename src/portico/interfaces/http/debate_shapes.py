"""Shapes of debates: what is asked, and what is told."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, JsonValue, StringConstraints

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debaters import Debater, DebaterKind, Tariff
from portico.debate.core.debates import (
    Debate,
    DebateSpec,
    DebateStatus,
    Decision,
    Estimate,
    GuestAnswer,
    Note,
    NoteKind,
    Option,
    Outcome,
    OutcomeSpec,
    Replayed,
    ReplaySpec,
    Seat,
    Source,
    Verdict,
    WholeDebate,
    Why,
)
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.http.agents import amount
from portico.interfaces.http.shapes import Body, LabelText, Name, Switch, Text, wire_object
from portico.kernel.budget import Cost
from portico.kernel.label import Label


class QuestionOut(BaseModel, title="QuestionOut"):
    text: str
    kind: QuestionKind
    choices: list[str]
    topic: str


class TariffOut(BaseModel, title="TariffOut"):
    """US dollars of a million tokens."""

    input: str
    output: str


class DebaterOut(BaseModel, title="VoiceOut"):
    name: str
    kind: DebaterKind
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
    voices: list[DebaterOut]
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
        voices=[voice_out(each) for each in debate.debaters],
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


def voice_out(voice: Debater) -> DebaterOut:
    return DebaterOut(**voice_facts(voice))


def voice_facts(voice: Debater) -> dict[str, Any]:
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
        "most_output": voice.max_output_tokens,
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
        voices=[*option.debaters],
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


_MOST_VOICES: Final = 32
_YEAR: Final = 31_536_000

_Words = Annotated[Text, StringConstraints(min_length=1, max_length=100_000)]
_Short = Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
_Target = Annotated[Name, StringConstraints(max_length=200)]
_Targets = Annotated[list[_Target], Field(max_length=_MOST_VOICES)]
_Dollars = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]
_Tokens = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class CapIn(Body, title="CapIn"):
    tokens: _Tokens | None = None
    money: _Dollars | None = None
    """US dollars, as a text: no float is an exact amount."""

    @property
    def cap(self) -> Cap:
        return Cap(tokens=self.tokens, money=None if self.money is None else Decimal(self.money))

    def within(self, usual: Cap) -> Cap:
        """What was left away is as usual."""
        given = self.model_fields_set
        return Cap(
            tokens=self.tokens if "tokens" in given else usual.tokens,
            money=self.cap.money if "money" in given else usual.money,
        )


class DebateIn(Body, title="DebateIn"):
    question: _Words
    kind: QuestionKind | None = None
    """Left away: by its words. `open` asks for a text, all others for something to be counted."""
    choices: Annotated[list[_Short], Field(max_length=50)] = Field(default_factory=list)
    topic: Name = "general"
    """What the voices' records are kept by."""
    voices: _Targets = Field(default_factory=list)
    """`openai:gpt-5`, `agent:reviewer`, `program:claude`; left away: those of the settings. `none`
    alone: nobody but guests."""
    roles: _Targets = Field(default_factory=list)
    """Personas, dealt to the voices in turn: `critic`, `security+architect` for both at once,
    `openai:gpt-5=critic` for that voice."""
    preset: Preset | None = None
    """Left away: by the kind of the question."""
    thoroughness: _Share | None = None
    """0 is quick, 1 asks up to nine voices until it is nearly certain. Left away: that of the
    settings."""
    cap: CapIn | None = None
    """What may be spent. Left away: that of the settings, also each of the two by itself; a `money`
    of null is no limit in money."""
    deadline_seconds: Annotated[int, Field(strict=True, ge=1, le=_YEAR)] | None = None
    guests: Annotated[int, Field(strict=True, ge=0, le=_MOST_VOICES)] = 0
    """Seats for those who join with keys of their own."""
    project: Name | None = None
    """Its id, or its name."""
    memory: Annotated[list[_Short], Field(max_length=50)] = Field(default_factory=list)
    """Keys of the project's memory that every voice is to read."""
    material: Annotated[Text, StringConstraints(max_length=900_000)] = ""
    """What it is about, read by every voice."""
    label: LabelText | None = None
    """How secret it is, if it is more than what your task has read."""
    shared: Switch = False
    """With its project; else only you can read it."""
    unbounded: Switch = False
    """Also ask voices that cannot be held to a maximum."""
    analyze: Switch = False
    """Cut it into sub-questions first, and debate each."""
    parts_most: Annotated[int, Field(strict=True, ge=1, le=20)] = 6

    def wish(self, usual: Cap, key: str | None = None) -> DebateSpec:
        """`usual` is what may be spent where nothing is said of it."""
        given = None if self.deadline_seconds is None else timedelta(seconds=self.deadline_seconds)
        return DebateSpec(
            question=self.question,
            kind=self.kind,
            choices=tuple(self.choices),
            topic=self.topic,
            debaters=tuple(self.voices),
            roles=tuple(self.roles),
            preset=self.preset,
            thoroughness=self.thoroughness,
            cap=None if self.cap is None else self.cap.within(usual),
            deadline=given,
            guests=self.guests,
            project=self.project,
            memory=tuple(self.memory),
            material=self.material,
            label=None if self.label is None else Label.parse(self.label),
            shared=self.shared,
            unbounded=self.unbounded,
            key=key,
            analyze=self.analyze,
            parts_most=self.parts_most,
        )


class OutcomeIn(Body, title="OutcomeIn"):
    """Say whether it was right, or what would have been."""

    right: Switch | None = None
    answer: _Short | None = None
    """What is right, in words that the question can be answered with."""
    source: Source = Source.PERSON
    note: Annotated[Text, StringConstraints(max_length=2_000)] = ""

    @property
    def wish(self) -> OutcomeSpec:
        return OutcomeSpec(right=self.right, answer=self.answer, source=self.source, note=self.note)


class ReplayIn(Body, title="ReplayIn"):
    preset: Preset | None = None
    thoroughness: _Share | None = None
    without: _Targets = Field(default_factory=list)
    """Voices as if they had not been there."""
    rounds: Annotated[int, Field(strict=True, ge=1, le=2)] | None = None

    @property
    def wish(self) -> ReplaySpec:
        return ReplaySpec(
            preset=self.preset,
            thoroughness=self.thoroughness,
            without=tuple(self.without),
            rounds=self.rounds,
        )


class GuestAnswerIn(Body, title="GuestAnswerIn"):
    answer: _Words
    rationale: Annotated[Text, StringConstraints(max_length=20_000)] = ""
    evidence: Annotated[list[_Short], Field(max_length=50)] = Field(default_factory=list)
    confidence: _Share | None = None
    veto: _Short | None = None
    """What you object to, with evidence, where you sit as a specialist."""
    changed_because: _Short | None = None
    """In the second round: the error in what you said before. Without it that counts."""

    @property
    def answered(self) -> GuestAnswer:
        return GuestAnswer(
            answer=self.answer,
            rationale=self.rationale,
            evidence=tuple(self.evidence),
            confidence=self.confidence,
            veto=self.veto,
            changed_because=self.changed_because,
        )


class PersonaIn(Body, title="PersonaIn"):
    instructions: Annotated[Text, StringConstraints(min_length=1, max_length=20_000)]
    specialist: Switch = False
    """Whether whoever speaks so may veto in a quorum, with evidence."""


class PromoteIn(Body, title="PromoteIn"):
    to: LabelText
    """How secret the copy is to be."""


class DebaterEstimateOut(BaseModel, title="VoiceEstimateOut"):
    voice: str
    calls: int
    tokens: int
    money: str
    bounded: bool


class EstimateOut(BaseModel, title="EstimateOut"):
    voices: list[DebaterEstimateOut]
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
            DebaterEstimateOut(
                voice=each.voice,
                calls=each.calls,
                tokens=each.tokens,
                money=amount(each.money),
                bounded=each.bounded,
            )
            for each in estimate.debaters
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
