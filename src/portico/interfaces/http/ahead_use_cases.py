"""What the routes of calls made ahead can call."""

from dataclasses import dataclass

from portico.gateway.ahead.show_ahead import ListAheadEdges, ShowAhead
from portico.gateway.ahead.switch_ahead import SwitchAhead


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadUseCases:
    show: ShowAhead
    switch: SwitchAhead
    list_edges: ListAheadEdges
