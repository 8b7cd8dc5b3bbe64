"""What is computed over a whole graph: how central each tool is, and who belongs together."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from portico.gateway.core.catalog_snapshot import ToolRef
from portico.learning.core.graph.math import GraphMath, Weighted


@dataclass(frozen=True, slots=True)
class Community:
    """Tools that are used together more than with others, the most central first."""

    number: int
    tools: tuple[ToolRef, ...]


@dataclass(frozen=True)
class Communities:
    groups: Sequence[Community]
    """The largest first, numbered from 1."""

    def of(self, tool: ToolRef) -> Community | None:
        return self._of.get(tool)

    def beside(self, tool: ToolRef, most: int = 3) -> Sequence[ToolRef]:
        """Others of its community, the most central first."""
        mine = self._of.get(tool)
        return [each for each in mine.tools if each != tool][:most] if mine else []

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {str(tool): group.number for tool, group in self._of.items()}

    @cached_property
    def _of(self) -> Mapping[ToolRef, Community]:
        return {tool: group for group in self.groups for tool in group.tools}


@dataclass(frozen=True, slots=True)
class Analysis:
    ranks: Mapping[ToolRef, float]
    """PageRank: together one."""
    communities: Communities


def analysed(tools: Sequence[ToolRef], edges: Sequence[Weighted], math: GraphMath) -> Analysis:
    """Of tools by number, and of edges between the numbers."""
    ranks = dict(zip(tools, math.ranks(len(tools), edges), strict=True))
    groups: defaultdict[int, list[ToolRef]] = defaultdict(list)
    for tool, number in zip(tools, math.communities(len(tools), edges), strict=True):
        groups[number].append(tool)
    for members in groups.values():
        members.sort(key=lambda tool: (-ranks[tool], tool))
    ordered = sorted(groups.values(), key=lambda members: (-len(members), members[0]))
    numbered = [Community(number, tuple(each)) for number, each in enumerate(ordered, 1)]
    return Analysis(ranks, Communities(numbered))
