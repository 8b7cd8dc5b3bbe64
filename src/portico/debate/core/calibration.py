"""What a voice's own confidence is worth: how often it was right when it was about as sure.

A confidence moves a vote by a tenth at most. So f liars that are as sure as can be never outweigh
f+1 honest voices with the same record, for any team of nine.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.debate.core.outcome import Known
from portico.debate.core.reliability import Tally, ages, first_answers
from portico.debate.core.weights import log_odds

BANDS: Final = (0.5, 0.7, 0.8, 0.9, 0.97)
SHRINK: Final = 20.0
MOST: Final = 0.1


def band_of(confidence: float) -> int:
    return bisect_right(BANDS, confidence)


@dataclass(frozen=True, slots=True)
class Calibration:
    bands: Mapping[tuple[str, int], Tally] = field(default_factory=dict)
    """By voice and band."""

    def rate(self, voice: str, confidence: float | None, usual: float) -> float:
        """q = (hits + λ p) / (n + λ); p itself where it did not say how sure it is."""
        if confidence is None:
            return usual
        seen = self.bands.get((voice, band_of(confidence)), Tally())
        return seen.towards(usual, SHRINK)

    def stretch(self, voice: str, confidence: float | None, usual: float, k: int) -> float:
        """By how much its vote weighs more or less for how sure it is: 0.9 to 1.1."""
        plain = log_odds(usual, k)
        sure = log_odds(self.rate(voice, confidence, usual), k)
        return min(max(sure / plain, 1 - MOST), 1 + MOST)


def calibration_of(known: Sequence[Known]) -> Calibration:
    bands: dict[tuple[str, int], Tally] = defaultdict(Tally)
    for one, much in zip(known, ages(known), strict=True):
        for ballot in first_answers(one):
            if ballot.confidence is not None:
                at = (ballot.voice, band_of(ballot.confidence))
                bands[at] = bands[at].plus(ballot.key == one.right, much)
    return Calibration(bands)
