"""What was seen: which output really was which argument, and what that says about the next time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from portico.learning.core.dataflow.words import spelled


@dataclass(frozen=True, slots=True)
class Flow:
    producer: str
    """`server.tool`."""
    path: str
    """As `OutputField.path`; empty if it is not known."""
    consumer: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Flows:
    exact: Mapping[Flow, int]
    by_name: Mapping[tuple[str, str], int]
    """Producer and how the parameter is called, whatever the consumer."""
    by_producer: Mapping[str, int]

    @classmethod
    def of(cls, counts: Mapping[Flow, int]) -> Self:
        names: Counter[tuple[str, str]] = Counter()
        producers: Counter[str] = Counter()
        for flow, count in counts.items():
            names[flow.producer, spelled(flow.parameter)] += count
            producers[flow.producer] += count
        return cls(dict(counts), names, producers)

    def seen(self, flow: Flow) -> int:
        """By this very path, or by one that was not noted."""
        return max(self.exact.get(flow, 0), self.exact.get(replace(flow, path=""), 0))

    def called_so(self, producer: str, parameter: str) -> int:
        return self.by_name.get((producer, spelled(parameter)), 0)

    def from_producer(self, producer: str) -> int:
        return self.by_producer.get(producer, 0)


NO_FLOWS: Final = Flows.of({})
