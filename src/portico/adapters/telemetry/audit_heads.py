"""Heads of the audit to where traces are sent, if anywhere: away from this machine."""

from secrets import randbits

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from portico.guard.core.audit import Head
from portico.kernel.ids import SpaceId


def tell_head(space: SpaceId, head: Head) -> None:
    """A span of its own, `audit.head`, below one that counts as sampled: a head is no sample of
    many, and each of them is sent."""
    above = SpanContext(
        randbits(128) or 1, randbits(64) or 1, is_remote=True, trace_flags=TraceFlags(1)
    )
    span = trace.get_tracer("portico.audit").start_span(
        "audit.head",
        context=trace.set_span_in_context(NonRecordingSpan(above)),
        attributes={
            "portico.space": str(space),
            "portico.audit.number": head.number,
            "portico.audit.hash": head.hash.hex(),
        },
    )
    span.end()
