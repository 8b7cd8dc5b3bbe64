"""Events of a debate, and their JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final, cast

from portico.debate.core.debates import Decision
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label

# What happens in a debate, as whoever follows it is told: one stream, for every face.


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    round: int
    voices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterAsked:
    voice: str
    round: int
    """0 where it is asked for something else than its answer: to judge, to plan, to write."""
    reserved_tokens: int
    why: str
    """In a sentence: why this one, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterSpoke:
    """A piece, while it speaks."""

    voice: str
    round: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterAnswered:
    voice: str
    round: int
    answer: str
    rationale: str
    confidence: float | None
    tokens: int
    money: Decimal
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterFailed:
    voice: str
    round: int
    code: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateProgress:
    """How it stands now: for confidence bars and the budget meter."""

    options: tuple[tuple[str, float], ...]
    """Answers and their probabilities, likeliest first."""
    spent_tokens: int
    reserved_tokens: int
    cap_tokens: int | None
    spent_money: Decimal
    cap_money: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    what: str
    why: str
    saved_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestsInvited:
    seats: int
    """Still free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStarted:
    """Of an analysis: a debate of its own."""

    debate: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateEnded:
    decision: Decision | None
    status: str
    tokens: int
    money: Decimal
    seconds: float


DebateEvent = (
    RoundStarted
    | DebaterAsked
    | DebaterSpoke
    | DebaterAnswered
    | DebaterFailed
    | DebateProgress
    | Skipped
    | GuestsInvited
    | PartStarted
    | DebateEnded
)


@dataclass(frozen=True, slots=True)
class DebateStreamItem:
    cursor: str
    event: DebateEvent
    label: Label = PUBLIC
    """How secret it is: whoever is told it has read that."""


TYPES: Final[Mapping[type[DebateEvent], str]] = {
    RoundStarted: "round.began",
    DebaterAsked: "voice.asked",
    DebaterSpoke: "voice.spoke",
    DebaterAnswered: "voice.answered",
    DebaterFailed: "voice.failed",
    DebateProgress: "standing",
    Skipped: "skipped",
    GuestsInvited: "guests.wanted",
    PartStarted: "part.began",
    DebateEnded: "debate.ended",
}


def happening_json(happening: DebateEvent) -> tuple[str, JsonObject]:
    facts = {each.name: getattr(happening, each.name) for each in fields(happening)}
    return TYPES[type(happening)], {name: _plain(value) for name, value in facts.items()}


def happening_of(type_: str, facts: JsonObject) -> DebateEvent | None:
    """None for what is no happening of a debate, or of a later version."""
    read = _READ.get(type_)
    return None if read is None else read(facts)


def _plain(value: object) -> JsonValue:
    match value:
        case Decision():
            return value.as_json()
        case Decimal():
            return str(value)
        case tuple():
            return [_plain(each) for each in value]
        case _:
            return cast("JsonValue", value)  # the rest is JSON already


def _round_began(facts: JsonObject) -> DebateEvent:
    voices = tuple(map(str, _list(facts["voices"])))
    return RoundStarted(round=_number(facts["round"]), voices=voices)


def _voice_asked(facts: JsonObject) -> DebateEvent:
    return DebaterAsked(
        voice=str(facts["voice"]),
        round=_number(facts["round"]),
        reserved_tokens=_number(facts["reserved_tokens"]),
        why=str(facts["why"]),
    )


def _voice_spoke(facts: JsonObject) -> DebateEvent:
    text = str(facts["text"])
    return DebaterSpoke(voice=str(facts["voice"]), round=_number(facts["round"]), text=text)


def _voice_answered(facts: JsonObject) -> DebateEvent:
    confidence = facts["confidence"]
    return DebaterAnswered(
        voice=str(facts["voice"]),
        round=_number(facts["round"]),
        answer=str(facts["answer"]),
        rationale=str(facts["rationale"]),
        confidence=None if confidence is None else float(str(confidence)),
        tokens=_number(facts["tokens"]),
        money=Decimal(str(facts["money"])),
        seconds=float(str(facts["seconds"])),
    )


def _voice_failed(facts: JsonObject) -> DebateEvent:
    voice, code, why = (str(facts[name]) for name in ("voice", "code", "why"))
    return DebaterFailed(voice=voice, round=_number(facts["round"]), code=code, why=why)


def _standing(facts: JsonObject) -> DebateEvent:
    tokens, money = facts["cap_tokens"], facts["cap_money"]
    return DebateProgress(
        options=tuple(
            (str(shown), float(str(probability)))
            for shown, probability in map(_list, _list(facts["options"]))
        ),
        spent_tokens=_number(facts["spent_tokens"]),
        reserved_tokens=_number(facts["reserved_tokens"]),
        cap_tokens=None if tokens is None else _number(tokens),
        spent_money=Decimal(str(facts["spent_money"])),
        cap_money=None if money is None else Decimal(str(money)),
    )


def _skipped(facts: JsonObject) -> DebateEvent:
    what, why = str(facts["what"]), str(facts["why"])
    return Skipped(what=what, why=why, saved_tokens=_number(facts["saved_tokens"]))


def _guests_wanted(facts: JsonObject) -> DebateEvent:
    return GuestsInvited(seats=_number(facts["seats"]))


def _part_began(facts: JsonObject) -> DebateEvent:
    return PartStarted(debate=str(facts["debate"]), question=str(facts["question"]))


def _debate_ended(facts: JsonObject) -> DebateEvent:
    decision = facts["decision"]
    return DebateEnded(
        decision=Decision.from_json(decision) if isinstance(decision, dict) else None,
        status=str(facts["status"]),
        tokens=_number(facts["tokens"]),
        money=Decimal(str(facts["money"])),
        seconds=float(str(facts["seconds"])),
    )


_READ: Final[Mapping[str, Callable[[JsonObject], DebateEvent]]] = {
    "round.began": _round_began,
    "voice.asked": _voice_asked,
    "voice.spoke": _voice_spoke,
    "voice.answered": _voice_answered,
    "voice.failed": _voice_failed,
    "standing": _standing,
    "skipped": _skipped,
    "guests.wanted": _guests_wanted,
    "part.began": _part_began,
    "debate.ended": _debate_ended,
}


def _number(value: JsonValue) -> int:
    return int(str(value))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()
