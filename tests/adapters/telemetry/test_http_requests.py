"""Requests as they are seen from outside: by their route, never by what they carry."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from opentelemetry import trace
from starlette.responses import StreamingResponse

from portico.adapters.telemetry.http_requests import ObservedRequests
from portico.adapters.telemetry.measure import Measure
from portico.adapters.telemetry.slow_calls import SlowCalls, Thresholds
from tests.faces.http.asgi import Answer, ask

CANARY = b"c4nary"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def site(*, slow_from: float = 60.0) -> ObservedRequests:
    router = APIRouter()

    @router.get("/things/{thing}")
    async def show(thing: str) -> str:
        return trace.format_trace_id(trace.get_current_span().get_span_context().trace_id)

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(_events(), media_type="text/event-stream")

    @router.get("/broken")
    async def broken() -> None:
        raise RuntimeError("c4nary")

    app = FastAPI(telemetry={"metrics": False})  # it would count by itself, for the whole process
    app.include_router(router, prefix="/api")
    return ObservedRequests(app, SlowCalls("portico.http", Thresholds(slow_from, 60.0)))


async def _events() -> AsyncIterator[str]:
    yield "data: 1\n\n"
    yield "data: 2\n\n"


async def said(app: ObservedRequests, method: str, path: str, log: pytest.LogCaptureFixture) -> str:
    log.set_level(logging.DEBUG, "portico.http")
    await ask(app, method, path, headers=[(b"x-key", CANARY)], body=CANARY, query="q=c4nary")
    return "\n".join(record.getMessage() for record in log.records)


@pytest.mark.requirement("telemetry:http:route-only")
@pytest.mark.parametrize(
    ("method", "path", "line"),
    [
        ("GET", "/api/things/c4nary", "GET /api/things/{thing} 200"),
        ("PUT", "/api/things/c4nary", "PUT /api/things/{thing} 405"),
        ("GET", "/c4nary", "GET (none) 404"),
        ("C4NARY", "/api/things/x", "_OTHER /api/things/{thing} 405"),
        ("GET", "/api/stream", "GET /api/stream 200"),
    ],
)
async def test_a_request_is_told_by_its_route_alone(
    method: str, path: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await said(site(), method, path, caplog) == line


async def test_a_request_that_breaks_is_told_as_500_and_the_error_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(RuntimeError):
        await said(site(), "GET", "/api/broken", caplog)

    assert [record.getMessage() for record in caplog.records] == ["GET /api/broken 500"]


@pytest.mark.requirement("telemetry:slow-calls:told")
async def test_a_slow_answer_is_told_with_its_route(caplog: pytest.LogCaptureFixture) -> None:
    lines = await said(site(slow_from=0.0), "GET", "/api/things/c4nary", caplog)

    assert lines.startswith("GET /api/things/{thing} took 0.")
    assert caplog.records[0].levelname == "WARNING"


@pytest.mark.parametrize(
    "wish", [{"query": "x=1&wait=30"}, {"headers": [(b"prefer", b"respond-async, wait=30")]}]
)
async def test_an_answer_that_was_wanted_late_is_not_slow(
    wish: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await ask(site(slow_from=0.0), "GET", "/api/things/x", **wish)

    assert not caplog.records


async def test_a_trace_of_the_callers_is_gone_on_with() -> None:
    headers = [(b"traceparent", PARENT.encode())]

    answer = await ask(site(), "GET", "/api/things/x", headers=headers)
    other = await ask(site(), "GET", "/api/things/x", headers=headers * 2)

    assert answer.json == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert other.json not in {answer.json, "0" * 32}
    assert len(other.json) == 32


async def test_every_request_has_an_id_of_its_own_though_nobody_records() -> None:
    answers: list[Answer] = [await ask(site(), "GET", "/api/things/x") for _ in range(2)]

    assert len({answer.json for answer in answers} | {"0" * 32}) == 3


@pytest.mark.requirement("telemetry:metrics:prometheus")
async def test_requests_are_counted_by_method_route_and_status(measure: Measure) -> None:
    await ask(site(), "GET", "/api/things/c4nary-label-value")

    text = await measure.text()

    labels = '{method="GET",route="/api/things/{thing}",status="200"}'
    assert f"portico_http_request_seconds_count{labels}" in text
    assert "c4nary" not in text
