"""Metrics: everything that is counted and timed, one small function each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation, get_meter

from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_cache import PROVEN_FOR_CALLER
from portico.learning.core.prefetch_gates import GATES

# Everything that is counted and timed, one small function each.
#
# Through OpenTelemetry's interface alone: until `metrics.py` has set it up, nothing is kept. A
# label is a word of the code (`kind="agent_run"`), never an id, a name or any text of a user's:
# each value is a series of its own for ever, and is shown to whoever may read `/metrics`.

_FAST: Final = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]
_LONG: Final = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0]

_meter: Final = get_meter("portico")

_http: Final = _meter.create_histogram(
    "portico_http_request_seconds",
    unit="s",
    description="From a request to the beginning of its answer.",
    explicit_bucket_boundaries_advisory=_FAST,
)
_transaction: Final = _meter.create_histogram(
    "portico_transaction_seconds",
    unit="s",
    description="From asking for a connection to the end of the transaction.",
    explicit_bucket_boundaries_advisory=_FAST,
)
_log_lines: Final = _meter.create_counter(
    "portico_log_lines", description="Lines that were logged, by level."
)
_runs_started: Final = _meter.create_counter(
    "portico_runs_started", description="Runs that were started, by kind."
)
_runs_finished: Final = _meter.create_counter(
    "portico_runs_finished", description="Runs that have ended, by kind and outcome."
)
_runs_in_flight: Final = _meter.create_up_down_counter(
    "portico_runs_in_flight", description="Runs that this process is at work on."
)
_step: Final = _meter.create_histogram(
    "portico_step_seconds",
    unit="s",
    description="How long a durable step took, by kind.",
    explicit_bucket_boundaries_advisory=_LONG,
)
_steps: Final = _meter.create_counter(
    "portico_steps", description="Durable steps that have ended, by kind and outcome."
)
_events: Final = _meter.create_counter(
    "portico_events_appended", description="Entries that were added to the event log."
)
_takeovers: Final = _meter.create_counter(
    "portico_takeovers", description="Runs taken over from a worker that had died."
)
_lease_lost: Final = _meter.create_counter(
    "portico_lease_lost", description="Times that this process has lost its lease."
)


def http_answered(method: str, route: str, status: int, seconds: float) -> None:
    _http.record(seconds, {"method": method, "route": route, "status": str(status)})


def transaction_took(seconds: float) -> None:
    _transaction.record(seconds)


def log_line(level: str) -> None:
    _log_lines.add(1, {"level": level})


def run_started(kind: str) -> None:
    _runs_started.add(1, {"kind": kind})


def run_finished(kind: str, outcome: str) -> None:
    _runs_finished.add(1, {"kind": kind, "outcome": outcome})


@contextmanager
def run_in_flight() -> Iterator[None]:
    """Around the work on a run in this process; another may have started it."""
    _runs_in_flight.add(1)
    try:
        yield
    finally:
        _runs_in_flight.add(-1)


def step_finished(kind: str, outcome: str, seconds: float) -> None:
    _steps.add(1, {"kind": kind, "outcome": outcome})
    _step.record(seconds, {"kind": kind})


def events_appended(count: int = 1) -> None:
    _events.add(count)


def took_over(count: int = 1) -> None:
    _takeovers.add(count)


def lease_lost() -> None:
    _lease_lost.add(1)


def show_zeros() -> None:
    """What has not happened yet is 0, not missing: an alert can tell the two apart."""
    for counter in (_events, _takeovers, _lease_lost):
        counter.add(0)
    _runs_in_flight.add(0)


def watch_sse_clients(count: Callable[[], int]) -> None:
    _meter.create_observable_gauge(
        "portico_sse_clients",
        [lambda _options: [Observation(count())]],
        description="Readers of event streams that are connected.",
    )


def watch_pool(stats: Callable[[], Mapping[str, int]]) -> None:
    """`stats` as psycopg's pool gives them."""

    def seen(value: Callable[[Mapping[str, int]], int]) -> Callable[..., Iterable[Observation]]:
        def look(_options: CallbackOptions) -> Iterable[Observation]:
            yield Observation(value(stats()))

        return look

    _meter.create_observable_gauge(
        "portico_pool_connections_in_use",
        [seen(lambda now: now.get("pool_size", 0) - now.get("pool_available", 0))],
        description="Database connections that are at work.",
    )
    _meter.create_observable_gauge(
        "portico_pool_connections_open",
        [seen(lambda now: now.get("pool_size", 0))],
        description="Database connections that are open.",
    )
    _meter.create_observable_gauge(
        "portico_pool_requests_waiting",
        [seen(lambda now: now.get("requests_waiting", 0))],
        description="Callers that wait for a database connection.",
    )


def watch_process() -> None:
    import psutil  # noqa: PLC0415 # only where there is a process to be watched

    process = psutil.Process()

    def cpu(_options: CallbackOptions) -> Iterable[Observation]:
        times = process.cpu_times()
        yield Observation(times.user + times.system)

    def memory(_options: CallbackOptions) -> Iterable[Observation]:
        yield Observation(process.memory_info().rss)

    def files(_options: CallbackOptions) -> Iterable[Observation]:
        yield Observation(process.num_fds())

    _meter.create_observable_counter(
        "process_cpu_seconds", [cpu], unit="s", description="Processor time of this process."
    )
    _meter.create_observable_gauge(
        "process_resident_memory_bytes",
        [memory],
        unit="By",
        description="Memory that this process holds.",
    )
    if hasattr(process, "num_fds"):
        _meter.create_observable_gauge(
            "process_open_fds", [files], description="Files and sockets this process has open."
        )


# Calls made ahead, counted for `/metrics`: sums of this process, by words of the code alone.

_prefetch_meter: Final = get_meter("portico")

_called: Final = _prefetch_meter.create_counter(
    "portico_ahead_calls", description="Calls of callers that calls ahead are measured against."
)
_predicted: Final = _prefetch_meter.create_counter(
    "portico_ahead_predicted",
    description="Next calls that were foretold, by whether they are made.",
)
_tried: Final = _prefetch_meter.create_counter(
    "portico_ahead_tried", description="Calls that were made before they were asked for."
)
_served: Final = _prefetch_meter.create_counter(
    "portico_ahead_served", description="Calls that were answered with what was there already."
)
_saved: Final = _prefetch_meter.create_counter(
    "portico_ahead_saved_seconds", unit="s", description="What callers did not have to wait."
)
_wasted: Final = _prefetch_meter.create_counter(
    "portico_ahead_wasted", description="Calls made ahead and not served, by why."
)
_refused: Final = _prefetch_meter.create_counter(
    "portico_ahead_refused", description="Foretold calls that were not made, by what forbade it."
)


class OtelPrefetchMeter:
    """The gateway's `PrefetchMeter`."""

    def called(self) -> None:
        _called.add(1)

    def predicted(self, *, live: bool) -> None:
        _predicted.add(1, {"mode": "live" if live else "shadow"})

    def tried(self) -> None:
        _tried.add(1)

    def served(self, saved: timedelta) -> None:
        _served.add(1)
        _saved.add(saved.total_seconds())

    def wasted(self, why: WasteReason) -> None:
        _wasted.add(1, {"why": str(why)})

    def refused(self, gate: str) -> None:
        _refused.add(1, {"gate": gate})


def show_prefetch_zeros() -> None:
    """What has not happened yet is 0, not missing."""
    for counter in (_called, _tried, _served, _saved):
        counter.add(0)
    for mode in ("live", "shadow"):
        _predicted.add(0, {"mode": mode})
    for gate in (PROVEN_FOR_CALLER, *(each.name for each in GATES)):
        _refused.add(0, {"gate": gate})
    for why in WasteReason:
        _wasted.add(0, {"why": str(why)})


def watch_lane(under_way: Callable[[], int], waiting: Callable[[], int]) -> None:
    def seen(count: Callable[[], int]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _options: [Observation(count())]

    _prefetch_meter.create_observable_gauge(
        "portico_ahead_under_way",
        [seen(under_way)],
        description="Calls ahead that are under way.",
    )
    _prefetch_meter.create_observable_gauge(
        "portico_ahead_waiting",
        [seen(waiting)],
        description="Results of calls ahead that wait to be asked for.",
    )
