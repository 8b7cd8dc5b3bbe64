"""Look at what is made ahead: the switches, the sums, and a table of the edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.catalog import Catalogues
from portico.gateway.catalog_snapshot import Shelf
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import Server
from portico.gateway.ports import Servers
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal
from portico.learning.core.learnt_count import Count, CountKey
from portico.learning.core.prefetch.edge_table import AheadEdge, edge_table
from portico.learning.core.prefetch.layer import RECORD
from portico.learning.core.prefetch.switches import AheadMode, ServerSwitch, Switches
from portico.learning.core.prefetch.totals import FIGURES, RAN, SAVED, AheadTotals, added_up
from portico.learning.graph_ports import LearntCounts
from portico.learning.prefetch.figures import AheadFigures
from portico.learning.prefetch.switchboard import Switchboard

_MOST: Final = 20_000
"""Counts of a label that are looked at, the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLook:
    server: Server
    own: ServerSwitch
    mode: AheadMode
    """In force, which is the strictest of all."""
    external: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadLook:
    switches: Switches
    servers: Sequence[ServerLook]
    """By name."""
    totals: AheadTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAhead:
    board: Switchboard
    servers: Servers
    counts: LearntCounts

    async def __call__(self, caller: Principal) -> AheadLook:
        """Of what the caller may know of. Raises `NotPermitted`."""
        permit(caller, Scope.SERVERS_READ)
        return await self.of(caller)

    async def of(self, caller: Principal) -> AheadLook:
        switches = await self.board.current(caller)
        counted = await _counted(self.counts, caller, FIGURES)
        return AheadLook(
            switches=switches,
            servers=[_look(switches, its) for its in await self.servers.all(caller)],
            totals=added_up((key.kind, count.tried, count.hit) for key, count in counted),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAheadEdges:
    counts: LearntCounts
    catalogues: Catalogues
    figures: AheadFigures

    async def __call__(self, caller: Principal, *, most: int = 100) -> Sequence[AheadEdge]:
        """Between tools that are offered to the caller, those foretold most often first. Raises
        `NotPermitted`."""
        permit(caller, Scope.SERVERS_READ)
        shelf = await self.catalogues.offered(caller)
        counted = await _counted(self.counts, caller, (RECORD, RAN, SAVED))
        rows = ((key.kind, key.key, count) for key, count in counted)
        return edge_table(rows, _names(shelf), self.figures.refused)[:most]


async def _counted(
    counts: LearntCounts, caller: Principal, kinds: Sequence[str]
) -> Sequence[tuple[CountKey, Count]]:
    found: list[tuple[CountKey, Count]] = []
    for label in await counts.labels(caller):
        found += await counts.known(caller, label, _MOST, kinds)
    return found


def _names(shelf: Shelf) -> dict[ToolPlace, ToolRef]:
    return {
        ToolPlace(shelf.servers[ref.server].id, ref.name): ref
        for ref in shelf.tools
        if ref.server in shelf.servers
    }


def _look(switches: Switches, server: Server) -> ServerLook:
    return ServerLook(
        server=server,
        own=switches.own(server),
        mode=switches.mode_of(server),
        external=switches.external_for(server),
    )
