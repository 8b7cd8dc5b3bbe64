"""What was counted and timed, kept in this process and told as Prometheus text to whoever asks."""

import asyncio
from collections.abc import Mapping, Sequence

from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from portico.adapters.telemetry import metrics as ahead_meter
from portico.adapters.telemetry import metrics as instruments
from portico.adapters.telemetry.known_secrets import KnownSecrets


class Measure:
    """One for the whole process: an instrument is bound once."""

    def __init__(
        self, about: Mapping[str, str], secrets: KnownSecrets, others: Sequence[MetricReader] = ()
    ) -> None:
        self._secrets = secrets
        self._registry = CollectorRegistry()
        shown = PrometheusMetricReader(
            disable_target_info=True, scope_info_enabled=False, registry=self._registry
        )
        self.provider = MeterProvider(
            [shown, *others],
            Resource(about),
            exemplar_filter=AlwaysOffExemplarFilter(),
            shutdown_on_exit=False,
        )
        metrics.set_meter_provider(self.provider)
        instruments.show_zeros()
        ahead_meter.show_prefetch_zeros()
        instruments.watch_process()

    async def text(self) -> str:
        return await asyncio.to_thread(self._text)

    def _text(self) -> str:
        return self._secrets.clean(generate_latest(self._registry).decode())
