"""How often one task may teach one edge: whoever is made to go round in circles teaches little."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from portico.learning.core.graph.edge import Sightings, ToolEdge

TIMES: Final = 2
WITHIN: Final = timedelta(minutes=30)
_MOST: Final = 20_000


@dataclass(slots=True)
class TaskBound:
    _seen: OrderedDict[tuple[Hashable, ToolEdge], tuple[datetime, int]] = field(
        default_factory=OrderedDict
    )

    def counted(self, task: Hashable, edge: ToolEdge, now: datetime) -> Sightings | None:
        """What this sighting counts for: nothing, once the task has taught the edge often enough.
        The time begins with the first of them, and is not prolonged by others."""
        since, times = self._seen.get((task, edge), (now, 0))
        if now - since > WITHIN:
            since, times = now, 0
        if times >= TIMES:
            return None
        self._seen[task, edge] = (since, times + 1)
        self._seen.move_to_end((task, edge))
        if len(self._seen) > _MOST:
            self._seen.popitem(last=False)
        return Sightings(1, 1 if times == 0 else 0, now)
