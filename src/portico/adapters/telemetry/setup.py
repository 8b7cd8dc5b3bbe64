"""Set up metrics and traces for a server: kept here, exported only if the user says where."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics, trace

from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.kernel.errors import Kind, PorticoError

if TYPE_CHECKING:
    from portico.adapters.telemetry.export import Export
    from portico.adapters.telemetry.measure import Measure

# What goes wrong before anything can be sent to where the user wants it.
#
# PorticoError
# └── ExporterMissing   a place is named, and what would send there is not installed


class ExporterMissing(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "otlp_exporter_missing"
    title = "OpenTelemetry's exporter is not installed"
    fix = (
        "Run: pip install 'portico[otel]', or send nothing: "
        "portico config unset telemetry.otlp_endpoint"
    )

    def __init__(self) -> None:
        super().__init__("telemetry.otlp_endpoint is set, and what would send there is not here.")


# Measuring and tracing set up for a server: kept here, and sent on only if the user says where.
#
# OpenTelemetry's SDK steers itself by dozens of `OTEL_*` variables. They belong to whatever else is
# started from the same shell, and must neither make Portico send anything nor add their keys to
# what it sends; so the SDK does not get to see them.

_OFF: Final = "# Metrics are off (telemetry.metrics).\n"
_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryOptions:
    service: str = "portico"
    version: str
    measure: bool = True
    endpoint: str | None = None
    """Where OTLP goes, without `/v1/traces`; None: nowhere."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sample_ratio: float = 1.0

    @property
    def about(self) -> Mapping[str, str]:
        """What is told of this process with everything that it sends."""
        return {
            "service.name": self.service,
            "service.version": self.version,
            "service.instance.id": os.urandom(8).hex(),
        }


class Observing:
    """One for the whole process: OpenTelemetry can be told only once who listens."""

    def __init__(self, wishes: TelemetryOptions, secrets: KnownSecrets) -> None:
        self._measure: Measure | None = None
        self._endings: list[Callable[[], object]] = []
        with _unsteered():
            self._start(wishes, secrets)

    async def metrics_text(self) -> str:
        return _OFF if self._measure is None else await self._measure.text()

    def close(self) -> None:
        """Sends what is left, but a collector that has gone does not hold up the end."""
        deadline = monotonic() + _PATIENCE
        threads = [Thread(target=ending, daemon=True) for ending in self._endings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic()))

    def _start(self, wishes: TelemetryOptions, secrets: KnownSecrets) -> None:
        """Loads only what is wanted: the SDK takes a tenth of a second. Raises
        `ExporterMissing`."""
        about, readers = wishes.about, []
        if wishes.endpoint is None:
            trace.set_tracer_provider(trace.NoOpTracerProvider())
        else:
            export = _export()(wishes.endpoint, wishes.headers, secrets)
            self._endings.append(export.send_traces(about, wishes.sample_ratio).shutdown)
            readers = [export.metric_reader()] if wishes.measure else []
        if wishes.measure:
            from portico.adapters.telemetry.measure import Measure  # noqa: PLC0415 # if wanted

            self._measure = Measure(about, secrets, readers)
            self._endings.append(self._measure.provider.shutdown)
        else:
            metrics.set_meter_provider(metrics.NoOpMeterProvider())


def _export() -> "type[Export]":
    """Raises `ExporterMissing`."""
    try:
        from portico.adapters.telemetry.export import Export  # noqa: PLC0415 # if wanted
    except ModuleNotFoundError as error:
        raise ExporterMissing from error
    return Export


@contextmanager
def _unsteered() -> Iterator[None]:
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OTEL_")}
    try:
        yield
    finally:
        os.environ.update(hidden)
