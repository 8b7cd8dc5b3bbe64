"""Spans: what a piece of work was, when, inside which other, and how it ended.

Through OpenTelemetry's interface alone. Without an endpoint to send them to they are not recorded,
but a trace has an id all the same, and the log lines of one request share it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)

from portico.adapters.telemetry.conventions import ERROR_TYPE
from portico.kernel.errors import type_name

Attribute = str | bool | int | float
Attributes = Mapping[str, Attribute]

_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@contextmanager
def span(
    name: str, attributes: Attributes | None = None, *, room: str = "portico"
) -> Iterator[Span]:
    """Around one piece of work. An error that passes through is noted, and passes on."""
    tracer = trace.get_tracer(room)
    with tracer.start_as_current_span(name, attributes=attributes, record_exception=True) as made:
        try:
            yield made
        except BaseException as error:
            made.set_attribute(ERROR_TYPE, type_name(error))
            raise


def current_trace() -> Mapping[str, str]:
    """As log lines tell it; empty outside of every span."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
    }


def current_trace_id() -> str | None:
    return current_trace().get("trace_id")


def traceparent() -> str | None:
    """Where we are (W3C), to be kept with work that goes on elsewhere."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    ids = trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
    return f"00-{ids[0]}-{ids[1]}-{context.trace_flags:02x}"


def remote(parent: str | None) -> Context | None:
    """The context that a traceparent names; None if it names none. Its companion `tracestate` is
    not read: it is text of the caller's, and would go wherever traces go."""
    found = _TRACEPARENT.fullmatch(parent.strip().lower()) if parent is not None else None
    if found is None:
        return None
    named = SpanContext(
        trace_id=int(found[1], 16),
        span_id=int(found[2], 16),
        is_remote=True,
        trace_flags=TraceFlags(int(found[3], 16) & TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(named)) if named.is_valid else None


@contextmanager
def continuing(parent: str | None) -> Iterator[None]:
    """Spans inside belong to the trace that `parent` (a `traceparent()` of before) names."""
    context = remote(parent)
    if context is None:
        yield
        return
    with trace.use_span(trace.get_current_span(context), end_on_exit=False):
        yield


def started(name: str, kind: SpanKind, parent: Context | None, *, room: str) -> Span:
    """One that is ended by hand. If nobody records, it is only an id."""
    made = trace.get_tracer(room).start_span(name, context=parent, kind=kind)
    if made.get_span_context().is_valid:
        return made
    return NonRecordingSpan(
        SpanContext(
            trace_id=int.from_bytes(os.urandom(16)),
            span_id=int.from_bytes(os.urandom(8)),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.DEFAULT),
        )
    )


def failed(made: Span, kind: str) -> None:
    made.set_attribute(ERROR_TYPE, kind)
    made.set_status(Status(StatusCode.ERROR))
