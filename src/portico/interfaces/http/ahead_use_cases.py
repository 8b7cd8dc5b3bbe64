"""What the routes of calls made ahead can call."""

from dataclasses import dataclass

from portico.learning.prefetch.show_ahead import ListAheadEdges, ShowAhead
from portico.learning.prefetch.switch_ahead import SwitchAhead


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadUseCases:
    show: ShowAhead
    switch: SwitchAhead
    list_edges: ListAheadEdges
