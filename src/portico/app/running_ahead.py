"""Looking ahead, put on its doors: what watches, what calls, and where answers wait."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from portico.adapters.telemetry.metrics import watch_lane
from portico.app.ahead import AheadSwitches
from portico.app.background import Lasting
from portico.gateway.catalog import Catalogues
from portico.gateway.ports import SchemaCheck, Upstreams
from portico.guard.authentication import AsTheyAre
from portico.guard.policy_gate import Gate
from portico.guard.ports import KeyRing
from portico.kernel.clock import Clock
from portico.learning.core.prefetch.course import Course
from portico.learning.prefetch.ask_ahead import AskAhead
from portico.learning.prefetch.lane import Lane
from portico.learning.prefetch.layers import Layers
from portico.learning.prefetch.run_ahead import RunAhead
from portico.learning.prefetch.still_so import StillSo
from portico.learning.prefetch.tasks import Tasks
from portico.learning.prefetch.watching import Watching


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDoors:
    """What it shares with the calls that are asked for."""

    catalogues: Catalogues
    schemas: SchemaCheck
    upstreams: Upstreams
    gate: Gate
    key_ring: KeyRing
    clock: Clock
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAhead:
    """One for a process."""

    lane: Lane
    run_ahead: RunAhead
    layers: Layers
    watching: Watching

    def show_how_much(self) -> None:
        """Once in a process: how many calls are under way, and how many answers wait."""
        lane = self.lane
        watch_lane(lambda: lane.under_way, lambda: max(0, len(lane.buffer) - lane.under_way))

    @property
    def lasting(self) -> Mapping[str, Lasting]:
        return {
            "calls ahead": self.lane.run,
            "what comes next": self.watching.run,
            "what was learnt of it": self.layers.run,
        }


def open_running_ahead(switches: AheadSwitches, doors: LaneDoors) -> RunningAhead:
    ahead, board, tally = switches.doors, switches.board, switches.figures
    still_so = StillSo(catalogues=doors.catalogues, switches=board, elsewhere=ahead.elsewhere)
    ask = AskAhead(
        still_so=still_so,
        upstreams=doors.upstreams,
        tally=tally,
        clock=doors.clock,
        terms=ahead.terms,
        timeout=doors.timeout,
    )
    lane = Lane(ask=ask, tally=tally)
    board.obeyed_by(lane)
    run_ahead = RunAhead(
        catalogues=doors.catalogues,
        schemas=doors.schemas,
        guard=doors.gate,
        as_they_are=AsTheyAre(key_ring=doors.key_ring, clock=doors.clock),
        switches=board,
        upstreams=doors.upstreams,
        lane=lane,
        clock=doors.clock,
        turned_down=tally.turned_down,
    )
    layers = Layers(counts=ahead.counts, clock=doors.clock)
    watching = Watching(
        tasks=Tasks(begin=Course),
        run_ahead=run_ahead,
        layers=layers,
        catalogues=doors.catalogues,
        contexts=doors.gate.contexts,
        switches=board,
        tally=tally,
        clock=doors.clock,
    )
    return RunningAhead(lane=lane, run_ahead=run_ahead, layers=layers, watching=watching)
