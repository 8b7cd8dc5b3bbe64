"""What came of many questions, once an oracle has looked at the whole of each answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.storm.bridge_lattice import Leak


@dataclass(frozen=True, slots=True)
class Judged:
    """Of one question."""

    calls: int
    outcome: str
    """`answered`, or by which code it was refused."""
    canaries: int
    """How many words they were told that somebody must not know."""
    leaks: Sequence[Leak]


class Tally:
    """Of many questions."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        """By way out: answers, or refusals, each judged whole."""
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.canaries: Counter[str] = Counter()
        self.wrote: Counter[str] = Counter()
        self.changed = 0
        self.worlds = 0
        self.leaks: list[Leak] = []

    def note(self, way: str, judged: Judged) -> None:
        self.reads[way] += judged.calls
        self.outcomes[way, judged.outcome] += 1
        self.canaries[way] += judged.canaries
        self.leaks += judged.leaks

    def answered(self, way: str) -> int:
        return self.outcomes[way, "answered"]

    @property
    def refused(self) -> Counter[str]:
        codes: Counter[str] = Counter()
        for (_, outcome), many in self.outcomes.items():
            codes[outcome] += many
        del codes["answered"]
        return codes

    def __str__(self) -> str:
        return (
            f"{self.reads.total()} reads by {len(self.reads)} ways out"
            f" (fewest: {min(self.reads.values(), default=0)}) in {self.worlds} worlds,"
            f" {self.refused.total()} refused; {self.canaries.total()} canaries told;"
            f" {self.wrote.total()} writes of {len(self.wrote)} kinds,"
            f" {self.changed} changes of clearance; {len(self.leaks)} leaks"
        )
