"""Spans: names of attributes, what a span is made of, and heads of the audit."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from secrets import randbits
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

from portico.guard.core.audit import Head
from portico.kernel.errors import type_name
from portico.kernel.ids import SpaceId

# Names of span attributes, as OpenTelemetry's semantic conventions have them.
#
# By their texts: importing them from the conventions' package would load it, and those for models
# and MCP are still in its incubating part, where a name may move.

REQUEST_METHOD: Final = "http.request.method"
RESPONSE_STATUS: Final = "http.response.status_code"
ROUTE: Final = "http.route"
URL_SCHEME: Final = "url.scheme"
ERROR_TYPE: Final = "error.type"

OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"

MCP_METHOD_NAME: Final = "mcp.method.name"
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
MCP_RESOURCE_URI: Final = "mcp.resource.uri"
MCP_SESSION_ID: Final = "mcp.session.id"

CHAT: Final = "chat"
EMBEDDINGS: Final = "embeddings"
EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"
"""Values of `gen_ai.operation.name`."""

# Spans: what a piece of work was, when, inside which other, and how it ended.
#
# Through OpenTelemetry's interface alone. Without an endpoint to send them to they are not
# recorded, but a trace has an id all the same, and the log lines of one request share it.

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
