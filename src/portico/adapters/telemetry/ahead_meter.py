"""Calls made ahead, counted for `/metrics`: sums of this process, by words of the code alone."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation, get_meter

from portico.learning.core.prefetch.gates import GATES
from portico.learning.core.prefetch.totals import Waste
from portico.learning.core.prefetch.trust_in_all import PROVEN_FOR_CALLER

_meter: Final = get_meter("portico")

_called: Final = _meter.create_counter(
    "portico_ahead_calls", description="Calls of callers that calls ahead are measured against."
)
_predicted: Final = _meter.create_counter(
    "portico_ahead_predicted",
    description="Next calls that were foretold, by whether they are made.",
)
_tried: Final = _meter.create_counter(
    "portico_ahead_tried", description="Calls that were made before they were asked for."
)
_served: Final = _meter.create_counter(
    "portico_ahead_served", description="Calls that were answered with what was there already."
)
_saved: Final = _meter.create_counter(
    "portico_ahead_saved_seconds", unit="s", description="What callers did not have to wait."
)
_wasted: Final = _meter.create_counter(
    "portico_ahead_wasted", description="Calls made ahead and not served, by why."
)
_refused: Final = _meter.create_counter(
    "portico_ahead_refused", description="Foretold calls that were not made, by what forbade it."
)


class MeteredAhead:
    """The gateway's `AheadMeter`."""

    def called(self) -> None:
        _called.add(1)

    def predicted(self, *, live: bool) -> None:
        _predicted.add(1, {"mode": "live" if live else "shadow"})

    def tried(self) -> None:
        _tried.add(1)

    def served(self, saved: timedelta) -> None:
        _served.add(1)
        _saved.add(saved.total_seconds())

    def wasted(self, why: Waste) -> None:
        _wasted.add(1, {"why": str(why)})

    def refused(self, gate: str) -> None:
        _refused.add(1, {"gate": gate})


def show_zeros() -> None:
    """What has not happened yet is 0, not missing."""
    for counter in (_called, _tried, _served, _saved):
        counter.add(0)
    for mode in ("live", "shadow"):
        _predicted.add(0, {"mode": mode})
    for gate in (PROVEN_FOR_CALLER, *(each.name for each in GATES)):
        _refused.add(0, {"gate": gate})
    for why in Waste:
        _wasted.add(0, {"why": str(why)})


def watch_lane(under_way: Callable[[], int], waiting: Callable[[], int]) -> None:
    def seen(count: Callable[[], int]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _options: [Observation(count())]

    _meter.create_observable_gauge(
        "portico_ahead_under_way",
        [seen(under_way)],
        description="Calls ahead that are under way.",
    )
    _meter.create_observable_gauge(
        "portico_ahead_waiting",
        [seen(waiting)],
        description="Results of calls ahead that wait to be asked for.",
    )
