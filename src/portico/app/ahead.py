"""Calls made ahead, put on their doors."""

from collections.abc import Mapping
from dataclasses import dataclass

from portico.adapters.postgres.gateway.calls import PostgresElsewhere
from portico.adapters.postgres.guard.spaces import PostgresSpaceSettings
from portico.adapters.postgres.learning.counts import PostgresLearntCounts
from portico.adapters.postgres.transaction import BusAfterCommit
from portico.adapters.telemetry.metrics import MeteredAhead
from portico.app.background import Lasting
from portico.app.engine_room import event_log
from portico.app.outside import Outside
from portico.engine.ports import Bus, EventLog
from portico.gateway.catalog import Catalogues
from portico.gateway.ports import Servers
from portico.guard.ports import Audit, SpaceSettings
from portico.interfaces.http.use_cases import AheadUseCases
from portico.kernel.clock import Clock
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.graph_ports import LearntCounts
from portico.learning.prefetch.figures import AheadFigures, AheadMeter
from portico.learning.prefetch.news import AheadNews
from portico.learning.prefetch.show_ahead import ListAheadEdges, ShowAhead
from portico.learning.prefetch.switch_ahead import SwitchAhead
from portico.learning.prefetch.switchboard import Switchboard
from portico.learning.prefetch_ports import Elsewhere
from portico.settings.gateway import AheadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadDoors:
    """What is decided about calls ahead, and what is counted of them."""

    terms: AheadTerms
    settings: SpaceSettings
    counts: LearntCounts
    log: EventLog
    bus: Bus
    """One that waits for the end of a transaction."""
    meter: AheadMeter
    elsewhere: Elsewhere
    """What other processes are changing."""

    def open(self, servers: Servers, clock: Clock) -> "AheadSwitches":
        """`servers`: all of them, whoever may know of which."""
        news = AheadNews(log=self.log)
        return AheadSwitches(
            doors=self,
            board=Switchboard(settings=self.settings, bus=self.bus, terms=self.terms),
            figures=AheadFigures(
                counts=self.counts, servers=servers, news=news, meter=self.meter, clock=clock
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadSwitches:
    """One for a process."""

    doors: AheadDoors
    board: Switchboard
    figures: AheadFigures

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "switches of calls ahead": self.board.run,
            "figures of calls ahead": self.figures.run,
        }

    def use_cases(self, servers: Servers, catalogues: Catalogues, audit: Audit) -> AheadUseCases:
        """`servers`: those that a caller may know of."""
        doors = self.doors
        show = ShowAhead(board=self.board, servers=servers, counts=doors.counts)
        return AheadUseCases(
            show=show,
            switch=SwitchAhead(
                settings=doors.settings,
                servers=servers,
                audit=audit,
                bus=doors.bus,
                show=show,
                news=self.figures.news,
            ),
            list_edges=ListAheadEdges(
                counts=doors.counts, catalogues=catalogues, figures=self.figures
            ),
        )


def open_ahead(settings: AheadSettings, outside: Outside, incarnation: str) -> AheadDoors:
    """`incarnation`: what no other process is called in the record of calls."""
    transactions = outside.transactions
    return AheadDoors(
        terms=settings.terms,
        settings=PostgresSpaceSettings(transactions),
        counts=PostgresLearntCounts(transactions),
        log=event_log(outside),
        bus=BusAfterCommit(outside.bus, transactions),
        meter=MeteredAhead(),
        elsewhere=PostgresElsewhere(transactions, outside.clock, incarnation),
    )
