"""What came of a debate: an answer with its probability and those who dissent, or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from portico.kernel.json import JsonObject, JsonValue

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
    voices: tuple[str, ...]
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
                    "voices": list(each.voices),
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
        voices=tuple(map(str, _listed(said["voices"]))),
        rationale=str(said["rationale"]),
    )


def _weight(value: JsonValue) -> tuple[str, float]:
    name, weight = _listed(value)
    return str(name), float(str(weight))


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return [] if isinstance(value, str) or not isinstance(value, Sequence) else value
