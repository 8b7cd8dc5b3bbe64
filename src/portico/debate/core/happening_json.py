"""What happens in a debate, as JSON and back: a type with dots, and facts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Final, cast

from portico.debate.core.decision import Decision
from portico.debate.core.happening import (
    DebateEnded,
    GuestsWanted,
    Happening,
    PartBegan,
    RoundBegan,
    Skipped,
    Standing,
    VoiceAnswered,
    VoiceAsked,
    VoiceFailed,
    VoiceSpoke,
)
from portico.kernel.json import JsonObject, JsonValue

TYPES: Final[Mapping[type[Happening], str]] = {
    RoundBegan: "round.began",
    VoiceAsked: "voice.asked",
    VoiceSpoke: "voice.spoke",
    VoiceAnswered: "voice.answered",
    VoiceFailed: "voice.failed",
    Standing: "standing",
    Skipped: "skipped",
    GuestsWanted: "guests.wanted",
    PartBegan: "part.began",
    DebateEnded: "debate.ended",
}


def happening_json(happening: Happening) -> tuple[str, JsonObject]:
    facts = {each.name: getattr(happening, each.name) for each in fields(happening)}
    return TYPES[type(happening)], {name: _plain(value) for name, value in facts.items()}


def happening_of(type_: str, facts: JsonObject) -> Happening | None:
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


def _round_began(facts: JsonObject) -> Happening:
    voices = tuple(map(str, _list(facts["voices"])))
    return RoundBegan(round=_number(facts["round"]), voices=voices)


def _voice_asked(facts: JsonObject) -> Happening:
    return VoiceAsked(
        voice=str(facts["voice"]),
        round=_number(facts["round"]),
        reserved_tokens=_number(facts["reserved_tokens"]),
        why=str(facts["why"]),
    )


def _voice_spoke(facts: JsonObject) -> Happening:
    text = str(facts["text"])
    return VoiceSpoke(voice=str(facts["voice"]), round=_number(facts["round"]), text=text)


def _voice_answered(facts: JsonObject) -> Happening:
    confidence = facts["confidence"]
    return VoiceAnswered(
        voice=str(facts["voice"]),
        round=_number(facts["round"]),
        answer=str(facts["answer"]),
        rationale=str(facts["rationale"]),
        confidence=None if confidence is None else float(str(confidence)),
        tokens=_number(facts["tokens"]),
        money=Decimal(str(facts["money"])),
        seconds=float(str(facts["seconds"])),
    )


def _voice_failed(facts: JsonObject) -> Happening:
    voice, code, why = (str(facts[name]) for name in ("voice", "code", "why"))
    return VoiceFailed(voice=voice, round=_number(facts["round"]), code=code, why=why)


def _standing(facts: JsonObject) -> Happening:
    tokens, money = facts["cap_tokens"], facts["cap_money"]
    return Standing(
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


def _skipped(facts: JsonObject) -> Happening:
    what, why = str(facts["what"]), str(facts["why"])
    return Skipped(what=what, why=why, saved_tokens=_number(facts["saved_tokens"]))


def _guests_wanted(facts: JsonObject) -> Happening:
    return GuestsWanted(seats=_number(facts["seats"]))


def _part_began(facts: JsonObject) -> Happening:
    return PartBegan(debate=str(facts["debate"]), question=str(facts["question"]))


def _debate_ended(facts: JsonObject) -> Happening:
    decision = facts["decision"]
    return DebateEnded(
        decision=Decision.from_json(decision) if isinstance(decision, dict) else None,
        status=str(facts["status"]),
        tokens=_number(facts["tokens"]),
        money=Decimal(str(facts["money"])),
        seconds=float(str(facts["seconds"])),
    )


_READ: Final[Mapping[str, Callable[[JsonObject], Happening]]] = {
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
