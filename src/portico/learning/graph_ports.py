"""Where the learnt graph and the counters of what could be foreseen are kept."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.graph.edge import KnownEdges, Sightings, ToolEdge
from portico.learning.core.learnt_count import Count, CountKey


class EdgeBook(Protocol):
    """Which tool came after which, under the label of all that the task had read by then."""

    async def learn(
        self, caller: Principal, label: Label, seen: Mapping[ToolEdge, Sightings]
    ) -> None:
        """Put to what is known. Of a server that is gone nothing is kept, nor under a label that
        the caller's clearance does not cover."""
        ...

    async def known(self, caller: Principal, most: int) -> KnownEdges:
        """At labels within the caller's clearance; of more than `most` those of most tasks. One
        that was seen at several labels is there several times."""
        ...

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        """Of those with this label only so many stay that were seen last."""
        ...


class LearntCounts(Protocol):
    """Counters of one (space, label); it knows nothing of what they count."""

    async def learn(
        self, caller: Principal, label: Label, counted: Mapping[CountKey, Count]
    ) -> None:
        """Put to what is known. Not kept: what names a server that is gone, what does not fit,
        and anything under a label that the caller's clearance does not cover."""
        ...

    async def labels(self, caller: Principal) -> Sequence[Label]:
        """Within the caller's clearance, of which there is anything."""
        ...

    async def known(
        self, caller: Principal, label: Label, most: int, kinds: Sequence[str] = ()
    ) -> Sequence[tuple[CountKey, Count]]:
        """Of each kind the ones seen last, in the order in which they were last seen. Of no kinds:
        of all. Nothing of a label that the caller's clearance does not cover."""
        ...

    async def trim(self, caller: Principal, label: Label, most: int) -> None:
        """Of each kind with this label only so many stay that were seen last."""
        ...
