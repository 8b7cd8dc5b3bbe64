"""What is sent about debates: what to ask, of whom, and within what bounds."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from portico.debate.core.debates import DebateWish, GuestAnswer, OutcomeWish, ReplayWish, Source
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.http.words import Body, LabelText, Name, Switch, Text
from portico.kernel.label import Label

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

    def wish(self, usual: Cap, key: str | None = None) -> DebateWish:
        """`usual` is what may be spent where nothing is said of it."""
        given = None if self.deadline_seconds is None else timedelta(seconds=self.deadline_seconds)
        return DebateWish(
            question=self.question,
            kind=self.kind,
            choices=tuple(self.choices),
            topic=self.topic,
            voices=tuple(self.voices),
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
    def wish(self) -> OutcomeWish:
        return OutcomeWish(right=self.right, answer=self.answer, source=self.source, note=self.note)


class ReplayIn(Body, title="ReplayIn"):
    preset: Preset | None = None
    thoroughness: _Share | None = None
    without: _Targets = Field(default_factory=list)
    """Voices as if they had not been there."""
    rounds: Annotated[int, Field(strict=True, ge=1, le=2)] | None = None

    @property
    def wish(self) -> ReplayWish:
        return ReplayWish(
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
