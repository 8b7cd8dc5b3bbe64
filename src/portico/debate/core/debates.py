"""Debates: what was asked, said, decided and spent."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import Final, Self, TypeVar

from portico.debate.core.canonical_answers import folded
from portico.debate.core.debaters import Debater, DebaterKind, DebaterReply
from portico.debate.core.errors import InvalidDebate
from portico.debate.core.questions import (
    USUAL_DEADLINE,
    Cap,
    Preset,
    Question,
    QuestionKind,
    Rules,
    kind_of,
    rules_of,
)
from portico.kernel.budget import NOTHING, Cost, Tokens
from portico.kernel.ids import ContextId, Id, PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, meet


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterAnswer:
    voice: str
    round: int
    answer: str
    """In its own words."""
    key: str
    """What it is counted as: equal for equal answers. Of an open question, the voice's name."""
    shown: str
    """The answer in its plain form: what is given out if it wins."""
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    """As it said itself, 0 to 1; never used before it is calibrated."""
    veto: str | None = None
    """What a specialist objects to, with evidence."""
    changed_because: str | None = None
    """In the critique round: the error that it found in what it had said before."""

    def as_json(self) -> JsonObject:
        return {
            "voice": self.voice,
            "round": self.round,
            "answer": self.answer,
            "key": self.key,
            "shown": self.shown,
            "rationale": self.rationale,
            "evidence": list(self.evidence),
            "confidence": self.confidence,
            "veto": self.veto,
            "changed_because": self.changed_because,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        evidence, confidence = value.get("evidence"), value.get("confidence")
        veto, because = value.get("veto"), value.get("changed_because")
        return cls(
            voice=str(value["voice"]),
            round=int(str(value["round"])),
            answer=str(value["answer"]),
            key=str(value["key"]),
            shown=str(value["shown"]),
            rationale=str(value.get("rationale", "")),
            evidence=tuple(map(str, evidence)) if isinstance(evidence, list) else (),
            confidence=float(confidence) if isinstance(confidence, int | float) else None,
            veto=None if veto is None else str(veto),
            changed_because=None if because is None else str(because),
        )


# What was said and done in a debate, one note each, never changed. Everything about a debate is
# derived from its notes in their order: what comes next, what was decided, what it cost. A note's
# name says what it is about, not how many there were before it, so that whoever carries the debate
# on after a crash gives the same things the same names.


class NoteKind(StrEnum):
    SAID = "said"
    """A voice's answer: `DebaterAnswer` in its body."""
    FAILED = "failed"
    """A voice that gave none: `code`, `why`."""
    SAME = "same"
    """Whether two answers mean the same, by a judge: `one`, `other` (keys), `same`."""
    JUDGED = "judged"
    """Which of two open answers is better: `one`, `other` (voices, in that order), `better`."""
    SYNTHESIS = "synthesis"
    """`text`, `by`."""
    PLAN = "plan"
    """The sub-questions of an analysis."""
    SKIPPED = "skipped"
    """What was not done, and why: `what`, `why`, `saved` (tokens)."""
    OVERDUE = "overdue"
    """The deadline came."""
    STOPPED = "stopped"
    """Somebody stopped it."""
    DECISION = "decision"
    """The last one: `Decision` in its body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    name: str
    """Unique in its debate: `said:1:openai:gpt-5`, `judged:a:b`."""
    kind: NoteKind
    voice: str | None = None
    round: int = 1
    body: JsonObject = field(default_factory=dict)
    cost: Cost = NOTHING
    at: datetime
    prompt_tokens: int = 0
    output_tokens: int = 0
    """Of `cost`, by whoever says more: the server, or our own count."""
    overrun: int = 0
    """Tokens beyond what was reserved, of a voice that cannot be held to a maximum."""


ANALYSIS: Final = "analysis"
"""The rule of what is put together out of parts."""


class Verdict(StrEnum):
    DECIDED = "decided"
    NO_DECISION = "no_decision"
    ESCALATED = "escalated"


class Why(StrEnum):
    """Why it ended where it did."""

    CERTAIN = "certain"
    """Whoever is left could not change it."""
    LIKELY = "likely"
    """Its probability passed the threshold."""
    ALL_ASKED = "all_asked"
    TOO_SMALL_GAIN = "too_small_gain"
    """Another answer was not worth its tokens."""
    BUDGET = "budget"
    DEADLINE = "deadline"
    STOPPED = "stopped"
    NO_ANSWERS = "no_answers"
    ALONE = "alone"
    """One voice alone answered, or was left to ask."""
    TOO_UNSURE = "too_unsure"
    TIE = "tie"
    NO_QUORUM = "no_quorum"
    VETO = "veto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    key: str
    shown: str
    probability: float
    debaters: tuple[str, ...]
    """Who gave it, in either round."""
    rationale: str = ""
    """Of the weightiest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    verdict: Verdict
    why: Why
    answer: str | None
    """What is given out; None without a decision."""
    probability: float
    """Of the answer, or of the likeliest one where nothing was decided."""
    options: tuple[Option, ...]
    """Likeliest first. All but the answer are its dissent."""
    n_eff: float
    """As many voters that know nothing of each other would weigh as much."""
    rule: str
    """Which way of weighing was used: `cold`, `fitted`, `best_single`, `majority`."""
    weights: tuple[tuple[str, float], ...] = ()
    veto: str | None = None
    synthesis: str | None = None
    asked: int = 0
    saved_tokens: int = 0
    """By not asking whoever was left, at most."""
    version: str = "1"

    @property
    def dissent(self) -> tuple[Option, ...]:
        """Nobody dissents in an analysis: its options are its parts."""
        if self.rule == ANALYSIS:
            return ()
        given = self.given_out
        return tuple(each for each in self.options if each is not given)

    @property
    def given_out(self) -> Option | None:
        """What was decided, if anything was. A text out of several stands for the best of them."""
        if self.answer is None:
            return None
        named = (each for each in self.options if each.shown == self.answer)
        return next(named, self.options[0] if self.options else None)

    def as_json(self) -> JsonObject:
        return {
            "verdict": str(self.verdict),
            "why": str(self.why),
            "answer": self.answer,
            "probability": self.probability,
            "options": [
                {
                    "key": each.key,
                    "shown": each.shown,
                    "probability": each.probability,
                    "voices": list(each.debaters),
                    "rationale": each.rationale,
                }
                for each in self.options
            ],
            "n_eff": self.n_eff,
            "rule": self.rule,
            "weights": [[name, weight] for name, weight in self.weights],
            "veto": self.veto,
            "synthesis": self.synthesis,
            "asked": self.asked,
            "saved_tokens": self.saved_tokens,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """Of what `as_json` gave."""
        answer, veto, synthesis = (value.get(key) for key in ("answer", "veto", "synthesis"))
        return cls(
            verdict=Verdict(str(value["verdict"])),
            why=Why(str(value["why"])),
            answer=None if answer is None else str(answer),
            probability=float(str(value["probability"])),
            options=tuple(_option(each) for each in _listed(value["options"])),
            n_eff=float(str(value["n_eff"])),
            rule=str(value["rule"]),
            weights=tuple(_weight(each) for each in _listed(value["weights"])),
            veto=None if veto is None else str(veto),
            synthesis=None if synthesis is None else str(synthesis),
            asked=int(str(value["asked"])),
            saved_tokens=int(str(value["saved_tokens"])),
            version=str(value["version"]),
        )


def _option(value: JsonValue) -> Option:
    said: Mapping[str, JsonValue] = value if isinstance(value, Mapping) else {}
    return Option(
        key=str(said["key"]),
        shown=str(said["shown"]),
        probability=float(str(said["probability"])),
        debaters=tuple(map(str, _listed(said["voices"]))),
        rationale=str(said["rationale"]),
    )


def _weight(value: JsonValue) -> tuple[str, float]:
    name, weight = _listed(value)
    return str(name), float(str(weight))


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return [] if isinstance(value, str) or not isinstance(value, Sequence) else value


# A debate as it is kept: what was asked of whom, by whose wish, and within what bounds.


class DebateId(Id):
    __slots__ = ()
    prefix = "dbt"


class DebateStatus(StrEnum):
    RUNNING = "running"
    DECIDED = "decided"
    NO_DECISION = "no_decision"
    ESCALATED = "escalated"
    """A specialist's veto: a person decides, by `outcome`."""
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        return self is not DebateStatus.RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    id: DebateId
    question: Question
    rules: Rules
    debaters: tuple[Debater, ...]
    """Who may be asked, in the order they were given. Guests are added when they join."""
    guests: int = 0
    """Seats for whoever joins by MCP."""
    cap: Cap
    unbounded: bool = False
    """Whether voices that cannot be held to a maximum were allowed."""
    deadline: datetime
    label: Label
    """Of all that is in it; it rises with what its voices read, and never falls."""
    start_label: Label | None = None
    """How secret it was at first; None where nobody knows, and it counts as it is now."""
    untrusted: bool = False
    private: bool = True
    """For whoever started it alone; a promoted one is a copy under a lower label, or shared with
    its project."""
    project: str | None = None
    """`prj_…` on the bridge."""
    part_of: DebateId | None = None
    """The analysis that it answers a sub-question of."""
    analysis: bool = False
    """Whether it is one itself: its notes are a plan and a synthesis, its parts are debates."""
    parts_most: int = 6
    """Of an analysis."""
    seed: int
    """Shuffles what is shown in the critique round: the same each time it goes on."""
    started_by: PrincipalId
    run: RunId
    context: ContextId | None = None
    """The task that it happens in."""
    status: DebateStatus = DebateStatus.RUNNING
    started_at: datetime
    ended_at: datetime | None = None
    spent: Cost = NOTHING
    decision: Decision | None = None

    @property
    def learns_from(self) -> Label:
        """How secret debates may be of which its weights are learnt: as it was at first, whatever
        was read in it since, so that it is decided alike whenever it is."""
        return self.label if self.start_label is None else meet(self.start_label, self.label)


@dataclass(frozen=True, slots=True)
class WholeDebate:
    debate: Debate
    notes: tuple[Note, ...]
    """In the order in which they were written down."""


# What an answer may cost at most, and what it came to, held against servers that may not tell the
# truth.
#
# Before a voice is asked, its prompt as we count it, with a margin, and the longest answer that is
# read of it are reserved. Afterwards is charged what it says or what we counted, whichever is more,
# and never more than was reserved, since no more than that was read.

Count = Callable[[str], int]
"""Tokens of a text, by our count."""

_MARGIN: Final = 150
"""Percent of our own count of a prompt that are reserved, and as much again of those words in it
that are not plain ASCII: other vocabularies cut them into more pieces than ours."""
_SPACES: Final = re.compile(r"[\x00-\x20]+")
_HUNDRED: Final = 100
_WRAPPING: Final = 400
"""Tokens that vendors put around a prompt that comes with a form: what they tell their model of
it."""
Amount = TypeVar("Amount", int, Decimal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """For one question to one voice."""

    counted: int
    """Tokens of the prompt, by our count."""
    prompt: int
    """With the margin."""
    output: int
    cost: Cost


def reserve_for(
    voice: Debater, texts: tuple[str, ...], output: int, count: Count, *, form: str = ""
) -> Reserve:
    """What a guest says costs us nothing. Of the form of an answer nobody knows whether a server
    puts it before its model: there is room for it, and it is charged as far as the server says
    so."""
    counted = sum(count(text) for text in texts)
    if voice.kind is DebaterKind.GUEST:
        return Reserve(counted=counted, prompt=0, output=output, cost=NOTHING)
    whole = counted + (count(form) if form else 0)
    whole += sum(count(strange) for text in (*texts, form) if (strange := _not_plain(text)))
    prompt = -(-whole * _MARGIN // _HUNDRED) + (_WRAPPING if form else 0)
    cost = voice.cost(prompt=prompt, output=output)
    return Reserve(counted=counted, prompt=prompt, output=output, cost=cost)


def _not_plain(text: str) -> str:
    """The words of it that are not ASCII: one dash in a long text makes no foreign text of it."""
    if text.isascii():
        return ""
    return " ".join(word for word in _SPACES.split(text) if not word.isascii())


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    cost: Cost
    prompt: int
    output: int
    overrun: int = 0


def charged(voice: Debater, reserve: Reserve, reply: DebaterReply) -> Charge:
    """Of an answer that came. One that cannot be held to a maximum is charged with all of it."""
    prompt = max(reply.prompt_tokens, reserve.counted)
    output = max(reply.output_tokens, 0)
    if voice.kind is DebaterKind.GUEST:
        return Charge(cost=NOTHING, prompt=0, output=0)
    if voice.bounded:
        prompt, output = min(prompt, reserve.prompt), min(output, reserve.output)
    money = max(voice.cost(prompt=prompt, output=output).money, reply.cost.money)
    if voice.bounded:
        money = min(money, reserve.cost.money)
    over = max(prompt + output - reserve.cost.tokens, 0)
    cost = Cost(tokens=Tokens(prompt + output), money=money, calls=1)
    return Charge(cost=cost, prompt=prompt, output=output, overrun=over)


def charged_at_most(reserve: Reserve, known: Cost | None, *, bounded: bool = True) -> Cost:
    """Of one that came to nothing; where nobody knows what it cost, all that was reserved. One that
    cannot be held to a maximum is charged with all of it."""
    if known is None:
        return reserve.cost
    if not bounded:
        return known
    return Cost(
        tokens=Tokens(min(known.tokens, reserve.cost.tokens)),
        money=min(known.money, reserve.cost.money),
        calls=min(known.calls, 1),
    )


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """What may still be reserved; None is no limit."""

    tokens: int | None = None
    money: Decimal | None = None

    def fits(self, cost: Cost) -> bool:
        return (self.tokens is None or cost.tokens <= self.tokens) and (
            self.money is None or cost.money <= self.money
        )

    def least(self, other: "RemainingBudget") -> "RemainingBudget":
        return RemainingBudget(_least(self.tokens, other.tokens), _least(self.money, other.money))


def left_of(cap: Cap, committed: Cost) -> RemainingBudget:
    return RemainingBudget(
        None if cap.tokens is None else max(cap.tokens - committed.tokens, 0),
        None if cap.money is None else max(cap.money - committed.money, Decimal(0)),
    )


def share_of(left: RemainingBudget, parts: int) -> Cap:
    """Of what is left, for each of so many."""
    return Cap(
        tokens=None if left.tokens is None else left.tokens // parts,
        money=None if left.money is None else left.money / parts,
    )


def _least(one: Amount | None, other: Amount | None) -> Amount | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


class Source(StrEnum):
    PERSON = "person"
    TEST = "test"
    CORRECTION = "correction"
    """A later one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The newest one of a debate counts."""

    debate: DebateId
    right: str | None
    """The key of the right answer; None if only that the decision was wrong is known."""
    shown: str | None = None
    """That answer in its plain form: what people are shown."""
    decided_right: bool
    source: Source
    note: str = ""
    by: PrincipalId
    at: datetime


@dataclass(frozen=True, slots=True)
class Ballot:
    """One answer in something that is over and known."""

    voice: str
    """Its record's name: the target, without persona or number."""
    key: str
    confidence: float | None
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOutcome:
    """A debate whose right answer is known: what weights are learnt from."""

    topic: str
    ballots: tuple[Ballot, ...]
    right: str | None
    """None: nobody who answered was right."""
    choices: int | None = None
    at: datetime


# What somebody wants to have debated, analysed, marked or decided again.

USUAL_TOKENS: Final = 100_000
NOBODY: Final = ("none",)
"""In the place of voices: guests alone are heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateSpec:
    question: str
    kind: QuestionKind | None = None
    """None: by its words."""
    choices: tuple[str, ...] = ()
    topic: str = "general"
    debaters: tuple[str, ...] = ()
    """Their targets, as `Debaters.named` takes them; left empty, those of the settings;
    `NOBODY`."""
    roles: tuple[str, ...] = ()
    """Personas in place of the voices' own: each is dealt to the next voice; `a+b` are merged; and
    `openai:gpt-5=critic` is for that voice."""
    preset: Preset | None = None
    """None: by the kind of the question."""
    thoroughness: float | None = None
    """0 to 1; None: that of the settings."""
    cap: Cap | None = None
    """None: that of the settings."""
    deadline: timedelta | None = None
    guests: int = 0
    project: str | None = None
    memory: tuple[str, ...] = ()
    """Keys of the project's memory, read by every voice."""
    material: str = ""
    label: Label | None = None
    """How secret the question is, if it is more than what the caller's task has read."""
    shared: bool = False
    """With its project, from the beginning."""
    unbounded: bool = False
    key: str | None = None
    """The same key, the same debate."""
    analyze: bool = False
    """Cut into sub-questions first, each debated."""
    parts_most: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What holds where nothing else is wished."""

    debaters: tuple[str, ...] = ()
    """Their targets; none: whoever is there."""
    cap: Cap = field(default_factory=lambda: Cap(tokens=USUAL_TOKENS))
    deadline: timedelta = USUAL_DEADLINE
    thoroughness: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterEstimate:
    voice: str
    calls: int
    """At most."""
    tokens: int
    money: Decimal
    bounded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Before anything is spent. `most` is never passed; `likely` is what it usually comes to."""

    debaters: tuple[DebaterEstimate, ...]
    most_tokens: int
    most_money: Decimal
    most_calls: int
    likely_tokens: int
    likely_calls: int
    seconds: int
    """The deadline."""
    preset: Preset
    kind: QuestionKind
    notes: tuple[str, ...] = ()
    """What it could not afford, or had to guess, in sentences."""
    fits: bool = True
    """Whether its first pair fits into its cap."""

    def within(self, cap: Cap) -> Self:
        """At most what its cap lets through, where it can begin at all."""
        if not self.fits:
            return self
        tokens = self.most_tokens if cap.tokens is None else min(self.most_tokens, cap.tokens)
        return replace(
            self,
            most_tokens=tokens,
            likely_tokens=min(self.likely_tokens, tokens),
            most_money=self.most_money if cap.money is None else min(self.most_money, cap.money),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSpec:
    right: bool | None = None
    """Whether the decision was right; None where `answer` says what would have been."""
    answer: str | None = None
    source: Source = Source.PERSON
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySpec:
    preset: Preset | None = None
    thoroughness: float | None = None
    without: tuple[str, ...] = ()
    """Voices as if they had not been there."""
    rounds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    was: Decision | None
    now: Decision
    calls: int
    """That these rules would have used, of those that were made."""
    calls_made: int
    tokens: int
    tokens_spent: int
    notes: tuple[str, ...] = ()
    """What these rules would have asked that nobody answered then."""


# What makes no sense in a wish, told before anything is spent.

MOST: Final = 26
"""Choices, voices and guests of one debate: each has a letter."""
LEAST: Final = 2
"""Voices: one is no debate."""
LONGEST_DEADLINE: Final = timedelta(days=7)
_QUESTION: Final = 20_000
_MATERIAL: Final = 400_000
"""Characters."""


def checked(wish: DebateSpec) -> None:
    """Raises `InvalidDebate`."""
    _check_words(wish)
    _check_choices(wish)
    _check_numbers(wish)
    if wish.shared and wish.project is None:
        raise InvalidDebate(
            "Only a debate of a project can be shared with it.",
            "Name the project, or leave `shared`.",
        )
    if wish.analyze and wish.guests:
        raise InvalidDebate(
            "An analysis has no guests.", "Leave out `guests`, or ask one question."
        )
    if wish.memory and wish.project is None:
        raise InvalidDebate("Memory belongs to a project.", "Name the project that remembers this.")


def question_of(wish: DebateSpec, material: str) -> Question:
    kind = QuestionKind.OPEN if wish.analyze else wish.kind
    return Question(
        text=_clean(wish.question),
        kind=kind_of(wish.question, wish.choices) if kind is None else kind,
        choices=tuple(_clean(choice) for choice in wish.choices),
        topic=_clean(wish.topic) or "general",
        material=material,
    )


def rules_for(wish: DebateSpec, kind: QuestionKind, usual: Usual) -> Rules:
    """Closed questions are voted on, open ones debated, unless it is said otherwise."""
    preset = wish.preset or (Preset.VOTE if kind.closed else Preset.DEBATE)
    return rules_of(preset, thoroughness_of(wish.thoroughness, usual))


def thoroughness_of(wished: float | None, usual: Usual) -> float:
    """Raises `InvalidDebate`."""
    value = usual.thoroughness if wished is None else wished
    if not isfinite(value) or not 0 <= value <= 1:
        raise InvalidDebate(
            f"A thoroughness of {value:g} is not between 0 and 1.",
            "0 is quick and cheap, 1 asks everybody; 0.5 is usual.",
        )
    return value


def cap_of(wish: DebateSpec, usual: Usual) -> Cap:
    """Where only dollars are said, tokens stay as usual: not everybody's price is known."""
    if wish.cap is None:
        return usual.cap
    return wish.cap if wish.cap.tokens is not None else replace(wish.cap, tokens=usual.cap.tokens)


def deadline_of(wish: DebateSpec, usual: Usual) -> timedelta:
    return usual.deadline if wish.deadline is None else wish.deadline


def _check_words(wish: DebateSpec) -> None:
    if not _clean(wish.question):
        raise InvalidDebate("There is no question.", "Say what is to be debated.")
    if len(wish.question) > _QUESTION:
        raise InvalidDebate(
            f"A question has at most {_QUESTION:,} characters.", "Give the rest as material."
        )
    if len(wish.material) > _MATERIAL:
        raise InvalidDebate(
            f"Material has at most {_MATERIAL:,} characters.", "Give the part that matters."
        )


def _check_choices(wish: DebateSpec) -> None:
    if wish.choices and wish.kind not in (None, QuestionKind.CHOICE):
        raise InvalidDebate(
            f"A question of the kind {wish.kind} has no choices.",
            "Leave the choices out, or the kind.",
        )
    if wish.analyze and (wish.choices or wish.kind not in (None, QuestionKind.OPEN)):
        raise InvalidDebate(
            "What is analysed is cut into questions of its own.",
            "Leave out kind and choices, or ask it without `analyze`.",
        )
    if wish.kind is QuestionKind.CHOICE or wish.choices:
        _check_each_choice(wish.choices)


def _check_each_choice(choices: tuple[str, ...]) -> None:
    if not 2 <= len(choices) <= MOST:
        raise InvalidDebate(f"A choice is among 2 to {MOST}.", "Give each choice once.")
    if not all(map(_clean, choices)):
        raise InvalidDebate("One of the choices is empty.", "Give each choice a text.")
    seen: dict[str, str] = {}
    for choice in choices:
        alike = seen.setdefault(folded(choice), choice)
        if alike is not choice:
            raise InvalidDebate(
                f"The choices {alike[:80]!r} and {choice[:80]!r} are the same.",
                "Give each choice once; case and punctuation do not tell them apart.",
            )


def _check_numbers(wish: DebateSpec) -> None:
    if wish.deadline is not None and not timedelta(0) < wish.deadline <= LONGEST_DEADLINE:
        raise InvalidDebate(
            "A deadline is more than 0 seconds and at most 7 days away.",
            "Leave it out for the usual one, or give it a minute or more.",
        )
    if not 0 <= wish.guests <= MOST:
        raise InvalidDebate(f"A debate has 0 to {MOST} guests.", "Say how many may join.")
    if len(wish.debaters) > MOST or len(wish.roles) > MOST:
        raise InvalidDebate(f"A debate has at most {MOST} voices.", "Name fewer.")
    if not 1 <= wish.parts_most <= 12:
        raise InvalidDebate("An analysis has 1 to 12 parts.", "Leave it out for the usual number.")
    if wish.cap is not None:
        _check_cap(wish.cap)


def _check_cap(cap: Cap) -> None:
    if cap.tokens is not None and cap.tokens <= 0:
        raise InvalidDebate(
            "A budget is more than 0 tokens.", "Ask for an estimate to see how many."
        )
    if cap.money is not None and not (cap.money.is_finite() and cap.money > Decimal(0)):
        raise InvalidDebate(
            "A budget is more than 0 dollars.", "Ask for an estimate to see how much."
        )


def _clean(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    voice: str
    question: str
    asked: str | None
    """The prompt that waits for an answer, if any."""
    key: str | None
    schema: JsonObject | None
    until: datetime
    label: Label
    run: RunId
    turn: int
    """Guests that have joined, and questions that they have answered, all together: what the run
    waits for next is named after it."""
    over: bool = False
    new: bool = False
    """Whether it was taken just now: what is asked there may come in a moment."""
    taken: bool = False
    """Whether an answer was given there just now, and counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestAnswer:
    answer: str
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    veto: str | None = None
    changed_because: str | None = None


def guests_topic(round_: int, turn: int) -> str:
    """What a run waits for that knows of so many joins and answers: the next one. Rounds have
    their own, since a run waits for each of its topics once."""
    return f"~guests:{round_}:{turn}"
