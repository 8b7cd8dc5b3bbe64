"""Each request seen from outside: a span, a figure, a line at debug, a warning if it was slow.

What a request carries is never told, only which route it took, since its address, its headers and
its body are the user's.
"""

import logging
import re
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from fastapi.routing import iter_route_contexts
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from portico.adapters.telemetry import metrics, spans
from portico.adapters.telemetry.slow_calls import SlowCalls
from portico.adapters.telemetry.spans import failed, remote, started

_ROOM: Final = "portico.http"
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_OTHER_METHOD: Final = "_OTHER"
NO_ROUTE: Final = "(none)"
"""The route of what no route answered, or a wall refused."""

_WAIT: Final = re.compile(rb"(?:^|[&,; ])wait=(\d{1,4})(?!\d)")

BESIDE: Final = "portico.beside"
"""Where an application that has no routes of its own says at which path it stands."""

_log: Final = logging.getLogger(_ROOM)


class ObservedRequests:
    """Outside of every wall, so that what they refuse is seen too.

    Timed is the way to the beginning of the answer: how fast the rest is taken is up to whoever
    reads it, and a stream of events has no end to wait for.
    """

    def __init__(self, app: ASGIApp, slow: SlowCalls) -> None:
        self._app = app
        self._slow = slow
        self._routes: Mapping[object, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else _OTHER_METHOD
        span = started(method, SpanKind.SERVER, remote(_traceparent(scope)), room=_ROOM)
        began, streams = perf_counter(), False

        async def sending(message: Message) -> None:
            nonlocal streams
            if message["type"] == "http.response.start":
                self._answered(scope, method, message["status"], perf_counter() - began, span)
                if streams := _streams_events(message):
                    span.end()
            await send(message)

        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            try:
                await self._app(scope, receive, sending)
            finally:
                if not streams:
                    span.end()

    def _answered(self, scope: Scope, method: str, status: int, seconds: float, span: Span) -> None:
        route = self._route(scope)
        name = f"{method} {route}"
        metrics.http_answered(method, route, status, seconds)
        if BESIDE not in scope:  # there it is a tool that takes its time, and calls are recorded
            self._slow.took(name, max(seconds - _wished(scope), 0.0))
        _log.debug("%s %d", name, status, extra={"seconds": round(seconds, 4)})
        if span.is_recording():
            span.update_name(name if route != NO_ROUTE else method)
            span.set_attributes(
                {
                    spans.REQUEST_METHOD: method,
                    spans.RESPONSE_STATUS: status,
                    spans.ROUTE: route,
                    spans.URL_SCHEME: scope["scheme"],
                }
            )
            if status >= 500:
                failed(span, str(status))

    def _route(self, scope: Scope) -> str:
        """As it is declared: `/api/v1/keys/{key_id}`."""
        if (beside := scope.get(BESIDE)) is not None:
            return str(beside)
        endpoint, app = scope.get("endpoint"), scope.get("app")
        if endpoint is None or app is None:
            return NO_ROUTE
        if endpoint not in self._routes:
            self._routes = _declared(app)
        return self._routes.get(endpoint, NO_ROUTE)


def _declared(app: Any) -> Mapping[object, str]:  # noqa: ANN401 # whatever has routes
    contexts = list(iter_route_contexts(app.routes))
    return {
        context.endpoint or getattr(context.route, "app", None): context.path or NO_ROUTE
        for context in contexts
    }


def _wished(scope: Scope) -> float:
    """Seconds that the caller wants to be kept waiting, by `?wait=` or `Prefer: wait=`: an answer
    that comes so late is not a slow one."""
    headers = [value for name, value in scope["headers"] if name == b"prefer"]
    found = _WAIT.search(b"&".join([scope.get("query_string", b""), *headers]))
    return 0.0 if found is None else float(found[1])


def _traceparent(scope: Scope) -> str | None:
    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    return found[0].decode("latin-1") if len(found) == 1 else None


def _streams_events(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )
