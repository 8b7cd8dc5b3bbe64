"""An edge of the learnt graph: one tool came after another, or took what it gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from portico.gateway.core.inferred_schema import ToolPlace


class EdgeKind(StrEnum):
    FOLLOWS = "follows"
    FEEDS = "feeds"


@dataclass(frozen=True, slots=True)
class ToolEdge:
    earlier: ToolPlace
    later: ToolPlace
    kind: EdgeKind


class Sightings(NamedTuple):
    """`tasks`: how many of its times were the first of a task. A tuple, since tens of thousands
    are made at once."""

    times: int
    tasks: int
    last_seen: datetime

    def and_then(self, other: "Sightings") -> "Sightings":
        return Sightings(
            self.times + other.times,
            self.tasks + other.tasks,
            max(self.last_seen, other.last_seen),
        )


@dataclass(frozen=True, slots=True)
class KnownEdges:
    """Many edges, in which each tool is named once: an edge is from and to a place in `places`."""

    places: Sequence[ToolPlace]
    edges: Sequence[tuple[int, int, EdgeKind, Sightings]]
