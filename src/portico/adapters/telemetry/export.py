"""Traces and metrics to an OTLP endpoint that the user has named, cleaned before they leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    Metric,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
    ResourceMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, Status

from portico.adapters.telemetry.known_secrets import KnownSecrets, plain

_PATIENCE: Final = 3.0
"""Seconds that a collector which does not answer may cost at each attempt."""
_EACH: Final = 30_000
"""Milliseconds from one sending of metrics to the next."""
_LIMITS: Final = SpanLimits(
    max_span_attributes=64,
    max_event_attributes=64,
    max_events=64,
    max_links=64,
    max_attribute_length=4_000,
)


@dataclass(frozen=True, slots=True)
class Export:
    endpoint: str
    headers: Mapping[str, str]
    secrets: KnownSecrets

    def send_traces(self, about: Mapping[str, str], sample_ratio: float) -> TracerProvider:
        provider = TracerProvider(
            ParentBased(TraceIdRatioBased(sample_ratio)),
            Resource(about),
            shutdown_on_exit=False,
            span_limits=_LIMITS,
        )
        provider.add_span_processor(BatchSpanProcessor(CleanSpans(self)))
        trace.set_tracer_provider(provider)
        return provider

    def metric_reader(self) -> MetricReader:
        return PeriodicExportingMetricReader(CleanMetrics(self), export_interval_millis=_EACH)


class CleanSpans(OTLPSpanExporter):
    def __init__(self, to: Export) -> None:
        super().__init__(
            f"{to.endpoint}/v1/traces",
            headers=to.headers,
            timeout=_PATIENCE,
            compression=Compression.Gzip,
        )
        self._secrets = to.secrets

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export([_cleaned(span, self._secrets) for span in spans])


class CleanMetrics(OTLPMetricExporter):
    def __init__(self, to: Export) -> None:
        super().__init__(
            f"{to.endpoint}/v1/metrics",
            headers=to.headers,
            timeout=_PATIENCE,
            compression=Compression.Gzip,
        )
        self._secrets = to.secrets

    def export(
        self,
        metrics_data: MetricsData,
        timeout_millis: float | None = 10_000,
        **kwargs: Any,  # noqa: ANN401 # the library's own signature
    ) -> MetricExportResult:
        clean = [_cleaned_figures(part, self._secrets) for part in metrics_data.resource_metrics]
        return super().export(MetricsData(clean), timeout_millis, **kwargs)


def _cleaned(span: ReadableSpan, secrets: KnownSecrets) -> ReadableSpan:
    status = span.status.description
    return ReadableSpan(
        name=secrets.clean(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_clean(span.attributes, secrets),
        events=[
            Event(secrets.clean(each.name), _clean(each.attributes, secrets), each.timestamp)
            for each in span.events
        ],
        links=[Link(each.context, _clean(each.attributes, secrets)) for each in span.links],
        kind=span.kind,
        status=Status(span.status.status_code, None if status is None else secrets.clean(status)),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _cleaned_figures(part: ResourceMetrics, secrets: KnownSecrets) -> ResourceMetrics:
    def cleaned(metric: Metric) -> Metric:
        points = [
            replace(point, attributes=_clean(point.attributes, secrets))
            for point in metric.data.data_points
        ]
        data = replace(metric.data, data_points=points)  # type: ignore[arg-type] # its own again
        return replace(metric, data=data)

    scopes = [
        replace(scope, metrics=[cleaned(metric) for metric in scope.metrics])
        for scope in part.scope_metrics
    ]
    return replace(part, scope_metrics=scopes)


def _clean(attributes: Mapping[str, object] | None, secrets: KnownSecrets) -> dict[str, Any]:
    clean = secrets.clean_json(plain(attributes or {}))
    return dict(clean) if isinstance(clean, Mapping) else {}
