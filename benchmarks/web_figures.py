"""What is made of times and of what tabs have heard, in `just bench web`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil


def percentile(values: Sequence[float], share: float) -> float:
    """The least of them that so many are not above; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share) - 1)] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class Heard:
    """What one tab has made of all that was written."""

    missing: int
    twice: int
    out_of_order: int

    @property
    def complete(self) -> bool:
        return not (self.missing or self.twice or self.out_of_order)


def heard_of(written: Mapping[str, Sequence[int]], heard: Sequence[int]) -> Heard:
    """`written`: by topic, the numbers in their order; no number is in two of them. A topic has an
    order of its own, and none with the others."""
    topic_of = {number: topic for topic, numbers in written.items() for number in numbers}
    seen: set[int] = set()
    last: dict[str, int] = {}
    places = {number: place for numbers in written.values() for place, number in enumerate(numbers)}
    twice = out_of_order = 0
    for number in heard:
        topic = topic_of.get(number)
        if topic is None or number in seen:
            twice += 1
            continue
        seen.add(number)
        if places[number] < last.get(topic, -1):
            out_of_order += 1
        last[topic] = max(last.get(topic, -1), places[number])
    return Heard(len(topic_of) - len(seen), twice, out_of_order)
