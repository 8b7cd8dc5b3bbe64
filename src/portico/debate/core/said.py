"""An answer, as a voice gave it and as it is counted."""

from dataclasses import dataclass
from typing import Self

from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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
