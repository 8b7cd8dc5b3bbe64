"""The doors of calls made ahead in memory."""

from datetime import timedelta

from portico.app.ahead import AheadDoors
from portico.engine.ports import Bus
from portico.kernel.clock import Clock
from portico.learning.core.prefetch.terms import AheadTerms
from portico.learning.core.prefetch.totals import Waste
from portico.testing.calls import MemoryElsewhere
from portico.testing.events import MemoryEventLog
from portico.testing.graph import MemoryLearntCounts
from portico.testing.guard import MemorySpaceSettings
from portico.testing.world import MemoryWorld


class CountedAhead:
    """An `AheadMeter` whose counts a test can look at."""

    def __init__(self) -> None:
        self.calls = self.predictions = self.tries = self.hits = 0
        self.saved = timedelta()
        self.waste: list[Waste] = []
        self.refusals: list[str] = []

    def called(self) -> None:
        self.calls += 1

    def predicted(self, *, live: bool) -> None:  # noqa: ARG002 # both are predictions
        self.predictions += 1

    def tried(self) -> None:
        self.tries += 1

    def served(self, saved: timedelta) -> None:
        self.hits += 1
        self.saved += saved

    def wasted(self, why: Waste) -> None:
        self.waste.append(why)

    def refused(self, gate: str) -> None:
        self.refusals.append(gate)


def memory_ahead(
    world: MemoryWorld, bus: Bus, clock: Clock, terms: AheadTerms | None = None
) -> AheadDoors:
    return AheadDoors(
        terms=terms or AheadTerms(),
        settings=MemorySpaceSettings(world),
        counts=MemoryLearntCounts(world),
        log=MemoryEventLog(world, bus, clock),
        bus=bus,
        meter=CountedAhead(),
        elsewhere=MemoryElsewhere(world, clock),
    )
