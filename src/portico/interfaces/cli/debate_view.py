"""How a debate stands, as far as it was told: made of events alone, to be drawn at any time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from portico.debate.core.conduct import VOICE, skip_words
from portico.interfaces.cli.following import Told

Facts = Mapping[str, Any]

ENDED: Final = "debate.ended"
PART_BEGAN: Final = "part.began"
_ERRAND: Final = 0
"""As the round of what is no answer."""


class VoiceState(StrEnum):
    LEFT = "left"
    """Not asked, or not yet."""
    ASKED = "asked"
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(kw_only=True)
class VoiceView:
    name: str
    state: VoiceState = VoiceState.LEFT
    round: int = 1
    answer: str = ""
    confidence: float | None = None
    why: str = ""
    """Why it was asked, or what went wrong."""
    letters: int = 0
    """Of what it says now."""
    tokens: int = 0
    """Of all its answers so far."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """What was spent, and what is set aside for whoever is being asked."""

    spent: int
    reserved: int
    cap: int | None
    money: Decimal
    cap_money: Decimal | None


@dataclass(kw_only=True)
class PartView:
    """A part of an analysis: a debate of its own, of which a line is drawn."""

    id: str
    question: str
    asked: str = ""
    """Whom it asks now."""
    answers: int = 0
    options: Sequence[tuple[str, float]] = ()
    spent: int = 0
    reserved: int = 0
    money: Decimal = Decimal(0)
    ended: Facts | None = None

    def take(self, told: Told) -> None:
        facts = told.data
        match told.type:
            case "voice.asked":
                self.asked = str(facts["voice"])
            case "voice.answered":
                self.answers += 1
            case "standing":
                meter = meter_of(facts)
                self.options = _options_of(facts)
                self.spent, self.reserved, self.money = meter.spent, meter.reserved, meter.money
            case "debate.ended":
                self.ended = facts
                self.spent, self.reserved = int(facts["tokens"]), 0
                self.money = Decimal(str(facts["money"]))
            case _:
                pass


@dataclass
class DebateView:
    debate: Facts
    """As the server gave it when it was begun."""
    voices: dict[str, VoiceView] = field(default_factory=dict)
    options: Sequence[tuple[str, float]] = ()
    meter: Meter | None = None
    round: int = 1
    guests: int = 0
    """Seats that are free."""
    left_out: list[str] = field(default_factory=list)
    """Who takes no part, and why, in sentences."""
    parts: dict[str, PartView] = field(default_factory=dict)
    reserved: dict[tuple[str, int], int] = field(default_factory=dict)
    """Tokens that are set aside for each who is asked and has not answered yet."""
    errand: tuple[str, str] | None = None
    """Who is asked for something else than an answer, and for what: to judge, to sum up."""
    ended: Facts | None = None

    def __post_init__(self) -> None:
        for each in self.debate["voices"]:
            self.voices[each["name"]] = VoiceView(name=each["name"])
        self.guests = int(self.debate.get("guests") or 0)

    @property
    def id(self) -> str:
        return str(self.debate["id"])

    @property
    def asked(self) -> int:
        return sum(each.state is not VoiceState.LEFT for each in self.voices.values())

    @property
    def now(self) -> Meter | None:
        """With whoever is being asked, and with the parts of an analysis, which are told apart."""
        aside, parts = sum(self.reserved.values()), self.parts.values()
        if self.meter is None and not aside and not parts:
            return None
        meter = self.meter or _empty(self.debate)
        over = self.ended is not None
        return replace(
            meter,
            spent=meter.spent + sum(each.spent for each in parts),
            reserved=0 if over else max(meter.reserved, aside) + sum(x.reserved for x in parts),
            money=meter.money + sum((each.money for each in parts), Decimal(0)),
        )

    def take(self, told: Told, part: str | None = None) -> None:
        """`part`: of the analysis, in which it happened."""
        if part is not None:
            if part in self.parts:
                self.parts[part].take(told)
            return
        act = self._acts.get(told.type)
        if act is not None:
            act(told.data)

    @property
    def _acts(self) -> Mapping[str, Callable[[Facts], None]]:
        return {
            "round.began": self._round,
            "voice.asked": self._asked,
            "voice.spoke": self._spoke,
            "voice.answered": self._answered,
            "voice.failed": self._failed,
            "standing": self._stands,
            "skipped": self._skipped,
            "guests.wanted": self._wanted,
            PART_BEGAN: self._part,
            ENDED: self._over,
        }

    def _voice(self, name: str) -> VoiceView:
        """A guest is not known before."""
        return self.voices.setdefault(name, VoiceView(name=name))

    def _round(self, facts: Facts) -> None:
        self.round = int(facts["round"])

    def _asked(self, facts: Facts) -> None:
        voice = self._voice(facts["voice"])
        self.reserved[voice.name, int(facts["round"])] = int(facts.get("reserved_tokens") or 0)
        again = bool(voice.answer) and facts["round"] <= voice.round
        self.errand = None
        if facts["round"] == _ERRAND or again:
            self.errand = (voice.name, str(facts["why"]))
            return
        voice.state, voice.round = VoiceState.ASKED, int(facts["round"])
        voice.why, voice.letters = str(facts["why"]), 0

    def _spoke(self, facts: Facts) -> None:
        if facts["round"] != _ERRAND:
            self._voice(facts["voice"]).letters += len(facts["text"])

    def _answered(self, facts: Facts) -> None:
        voice = self._voice(facts["voice"])
        self.reserved.pop((voice.name, int(facts["round"])), None)
        voice.state, voice.round = VoiceState.ANSWERED, int(facts["round"])
        voice.answer, voice.confidence = str(facts["answer"]), facts["confidence"]
        voice.tokens += int(facts["tokens"])
        voice.seconds = float(facts["seconds"])

    def _failed(self, facts: Facts) -> None:
        self.reserved.pop((str(facts["voice"]), int(facts["round"])), None)
        if facts["round"] == _ERRAND:
            return
        voice = self._voice(facts["voice"])
        if not voice.answer:  # else what it had said before still counts
            voice.state = VoiceState.FAILED
        else:
            voice.state = VoiceState.ANSWERED
        voice.round, voice.why = int(facts["round"]), str(facts["why"])

    def _stands(self, facts: Facts) -> None:
        self.errand = None
        self.options = _options_of(facts)
        self.meter = meter_of(facts)
        for place in [each for each in self.reserved if each[1] == _ERRAND]:
            del self.reserved[place]  # nothing else is told of what is no answer

    def _skipped(self, facts: Facts) -> None:
        """What else is not done is told in words once it is over."""
        if str(facts["what"]).partition(":")[0] == VOICE:
            self.left_out.append(skip_words(facts["what"], facts["why"]))

    def _wanted(self, facts: Facts) -> None:
        self.guests = int(facts["seats"])

    def _part(self, facts: Facts) -> None:
        its = str(facts["debate"])
        self.parts.setdefault(its, PartView(id=its, question=str(facts["question"])))

    def _over(self, facts: Facts) -> None:
        self.ended = facts


def _options_of(facts: Facts) -> Sequence[tuple[str, float]]:
    return [(str(answer), float(share)) for answer, share in facts["options"]]


def _empty(debate: Facts) -> Meter:
    """Before anything was spent."""
    limit = debate["cap"]["money"]
    return Meter(
        spent=0,
        reserved=0,
        cap=debate["cap"]["tokens"],
        money=Decimal(0),
        cap_money=None if limit is None else Decimal(str(limit)),
    )


def meter_of(facts: Facts) -> Meter:
    """As the server tells it with each answer."""
    limit = facts["cap_money"]
    return Meter(
        spent=int(facts["spent_tokens"]),
        reserved=int(facts["reserved_tokens"]),
        cap=facts["cap_tokens"],
        money=Decimal(str(facts["spent_money"])),
        cap_money=None if limit is None else Decimal(str(limit)),
    )
