"""What the vote of each voice weighs in one debate, by the rule that its history bears out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from portico.debate.core.calibration import Calibration
from portico.debate.core.reliability import Records
from portico.debate.core.voters import Kinship, effective
from portico.debate.core.weights import log_odds


class Rule(StrEnum):
    COLD = "cold"
    """Log-odds of how often each is right."""
    FITTED = "fitted"
    """Those, each stretched as past debates ask for: voices that err together get less."""
    BEST_SINGLE = "best_single"
    """Whoever has the best record decides."""
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    rule: Rule = Rule.COLD
    rates: Mapping[str, float]
    """How often each target is right on this topic."""
    stretches: Mapping[str, float] = field(default_factory=dict)
    """Of the fitted rule."""
    calibration: Calibration = field(default_factory=Calibration)
    kinship: Kinship = field(default_factory=Kinship)
    sharpness: float = 1.0
    """How much surer than it says itself it may be, as past decisions bear out."""

    def weight(self, target: str, k: int) -> float:
        """Of a vote that does not say how sure it is."""
        rate = self.rates[target]
        match self.rule:
            case Rule.COLD:
                return log_odds(rate, k)
            case Rule.FITTED:
                return log_odds(rate, k) * self.stretches.get(target, self._usual_stretch)
            case Rule.BEST_SINGLE:
                return log_odds(rate, k) if target == best(self.rates) else 0.0
            case _:
                return log_odds(sum(self.rates.values()) / len(self.rates), k)

    def plain(self, target: str, k: int) -> float:
        """What a voice weighs by its record alone, whatever rule decides: of a quorum."""
        return log_odds(self.rates[target], k)

    def of(self, answered: Collection[str]) -> "Scales":
        """Where the best voice alone decides, it is the best of those who answered."""
        if self.rule is not Rule.BEST_SINGLE or not answered:
            return self
        return replace(self, rates={each: self.rates[each] for each in sorted(set(answered))})

    def vote(self, target: str, confidence: float | None, k: int) -> float:
        stretch = self.calibration.stretch(target, confidence, self.rates[target], k)
        return self.weight(target, k) * stretch

    def discount(self, voters: Sequence[tuple[str, str]]) -> float:
        """n_eff / n: what each of these counts, as they err together. The fitted rule knows that
        already, and one voice alone errs with nobody."""
        if self.rule in (Rule.FITTED, Rule.BEST_SINGLE) or not voters:
            return 1.0
        return effective(voters, self.kinship) / len(voters)

    @property
    def _usual_stretch(self) -> float:
        """Of a voice that joined since."""
        return sum(self.stretches.values()) / max(len(self.stretches), 1)


def best(rates: Mapping[str, float]) -> str:
    """Of equals the first by name, the same each time."""
    return min(rates, key=lambda each: (-rates[each], each))


def scales_of(records: Records, targets: Sequence[str], topic: str) -> Scales:
    """Before anything is fitted."""
    return Scales(rates={each: records.rate(each, topic) for each in targets})
