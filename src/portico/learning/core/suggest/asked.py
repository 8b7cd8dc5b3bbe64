"""What is known about an intent before anything is suggested: what search and the past say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from portico.learning.core.suggest.past import Near


@dataclass(frozen=True, slots=True)
class Searched:
    text: str
    hits: Mapping[str, float]
    """The probability of each tool that was found, best first."""
    fits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    intent: str
    searched: Sequence[Searched]
    """For the whole, and then for each of its sub-steps, if there are several."""
    near: Sequence[Near] = ()

    @property
    def whole(self) -> Mapping[str, float]:
        return self.searched[0].hits if self.searched else {}

    @property
    def parts(self) -> Sequence[Searched]:
        return self.searched[1:] or self.searched

    def best_part(self, tool: str) -> float:
        """The probability for the sub-step that it answers best."""
        return max((each.hits.get(tool, 0.0) for each in self.parts), default=0.0)

    def part_of(self, tool: str) -> int | None:
        """Which sub-step it answers best."""
        found = [(each.hits.get(tool, 0.0), -place) for place, each in enumerate(self.parts)]
        best, place = max(found, default=(0.0, 0))
        return -place if best else None

    def part_texts(self, tools: Iterable[str]) -> Mapping[str, str]:
        """By tool: the words of the sub-step that it answers best."""
        places = {tool: self.part_of(tool) for tool in tools}
        return {tool: self.parts[place].text for tool, place in places.items() if place is not None}
