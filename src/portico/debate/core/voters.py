"""How many voters that know nothing of each other would weigh as much: those that err together
count for fewer.

n_eff = n / (1 + (n-1) r), with r the mean correlation of the errors of two (Kish's design effect).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from typing import Final

from portico.debate.core.outcome import Known
from portico.debate.core.reliability import first_answers

SAME_FAMILY: Final = 0.6
ACROSS: Final = 0.4
"""Fitted to the answers of 71 models (HELM); what is learnt of two voices is shrunk to it."""
SHRINK: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Both:
    """Two voices that answered the same questions."""

    times: int = 0
    one: int = 0
    other: int = 0
    both: int = 0
    """Errors."""

    @property
    def correlation(self) -> float:
        one, other = self.one / self.times, self.other / self.times
        spread = sqrt(one * (1 - one) * other * (1 - other))
        return (self.both / self.times - one * other) / spread if spread else 0.0


@dataclass(frozen=True, slots=True)
class Kinship:
    """How much voices err together."""

    learnt: Mapping[tuple[str, str], _Both] = field(default_factory=dict)

    def of(self, one: tuple[str, str], other: tuple[str, str]) -> float:
        """Each a target and its family."""
        usual = SAME_FAMILY if one[1] == other[1] else ACROSS
        seen = self.learnt.get((min(one[0], other[0]), max(one[0], other[0])))
        if seen is None:
            return usual
        found = (seen.times * seen.correlation + SHRINK * usual) / (seen.times + SHRINK)
        return min(max(found, 0.0), 1.0)


def kinship_of(known: Iterable[Known]) -> Kinship:
    seen: dict[tuple[str, str], _Both] = defaultdict(_Both)
    for each in known:
        wrong = {one.voice: one.key != each.right for one in first_answers(each)}
        for one, other in combinations(sorted(wrong), 2):
            was = seen[one, other]
            seen[one, other] = _Both(
                was.times + 1,
                was.one + wrong[one],
                was.other + wrong[other],
                was.both + (wrong[one] and wrong[other]),
            )
    return Kinship(seen)


def effective(voters: Sequence[tuple[str, str]], kinship: Kinship) -> float:
    """n_eff of these targets and families."""
    n = len(voters)
    pairs = list(combinations(voters, 2))
    if not pairs:
        return float(n)
    mean = sum(kinship.of(one, other) for one, other in pairs) / len(pairs)
    return n / (1 + (n - 1) * mean)
