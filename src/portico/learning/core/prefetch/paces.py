"""How long tools usually take, by the calls of this process that somebody waited for."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median_low
from typing import Final

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.ids import SpaceId

_LATEST: Final = 32
_ENOUGH: Final = 3
_TOOLS: Final = 5_000


@dataclass(slots=True)
class Paces:
    _took: OrderedDict[tuple[SpaceId, ToolPlace], deque[timedelta]] = field(
        default_factory=OrderedDict
    )

    def note(self, space: SpaceId, tool: ToolPlace, took: timedelta) -> None:
        place = (space, tool)
        self._took.setdefault(place, deque(maxlen=_LATEST)).append(took)
        self._took.move_to_end(place)
        while len(self._took) > _TOOLS:
            self._took.popitem(last=False)

    def usual(self, space: SpaceId, tool: ToolPlace) -> timedelta | None:
        """None while too few are known."""
        took = self._took.get((space, tool), ())
        return median_low(took) if len(took) >= _ENOUGH else None
