"""Traces, and figures as Prometheus reads them: of runs, of requests, and of what is slow."""

import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from opentelemetry import trace
from starlette.responses import StreamingResponse

from portico.adapters.telemetry import metrics
from portico.adapters.telemetry import spans as conventions
from portico.adapters.telemetry.agent_spans import OtlpSpans
from portico.adapters.telemetry.http_requests import ObservedRequests
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.measure import Measure
from portico.adapters.telemetry.metrics import OtelPrefetchMeter
from portico.adapters.telemetry.setup import ExporterMissing, Observing, TelemetryOptions
from portico.adapters.telemetry.slow_calls import SlowCalls, Thresholds
from portico.adapters.telemetry.spans import continuing, current_trace_id, remote, span, traceparent
from portico.agents.core.traces import AgentRunStatus, RunTrace, WholeTrace
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_gates import GATES
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.guard import a_person
from tests.interfaces.http.asgi import Answer, ask

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_work_that_goes_on_elsewhere_stays_in_its_trace() -> None:
    with continuing(PARENT), span("outer", {conventions.AGENT_NAME: "x"}):
        kept = traceparent()

    with continuing(kept), span("inner"):
        found = current_trace_id()
    with pytest.raises(ValueError, match="inside"), span("failing"):
        raise ValueError("inside")

    assert found == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert current_trace_id() is None
    assert traceparent() is None


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        "nonsense",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        PARENT + "-more",
        PARENT[:-1],
        PARENT * 1000,
    ],
)
def test_what_names_no_trace_is_no_parent(parent: str | None) -> None:
    assert remote(parent) is None
    with continuing(parent):
        assert current_trace_id() is None


RUN = an_agent_run(a_person())


def spans(run: RunTrace = RUN, **parts: Any) -> list[dict[str, Any]]:
    turns, uses = (a_turn(run), a_turn(run, 2)), (a_use(run), a_use(run, 2, code="tool_failed"))
    trace = WholeTrace(run=run, said=(a_saying(run),), turns=turns, uses=uses)
    told: Any = OtlpSpans("1.2").of(replace(trace, **parts))
    found: list[dict[str, Any]] = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return found


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


@pytest.mark.requirement("agents:traces:otlp")
def test_tools_hang_on_turns_and_turns_on_the_run() -> None:
    run, first, second, use, failed = spans()

    assert {span["traceId"] for span in (run, first, second, use, failed)} == {RUN.trace_id}
    assert run["parentSpanId"] == ""
    assert first["parentSpanId"] == second["parentSpanId"] == run["spanId"]
    assert use["parentSpanId"] == first["spanId"] == f"{1:016x}"
    assert failed["parentSpanId"] == second["spanId"]
    assert [span["name"] for span in (run, first, use)] == [
        "invoke_agent clerk",
        "chat small",
        "execute_tool files.read",
    ]


def test_attributes_are_those_of_the_conventions() -> None:
    run, first, _, use, failed = map(attributes, spans())

    assert run["gen_ai.operation.name"] == "invoke_agent"
    assert run["gen_ai.agent.name"] == "clerk"
    assert (first["gen_ai.provider.name"], first["gen_ai.response.model"]) == ("local", "small")
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (
        "100",
        "20",
    )
    assert use["portico.tool.early"] is False
    assert "error.type" not in use
    assert failed["error.type"] == "tool_failed"


def test_nothing_that_was_said_is_in_it() -> None:
    text = json.dumps(spans())

    for said in ("Write to Ana", "I shall look", "The letter says", "/letter"):
        assert said not in text


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (AgentRunStatus.RUNNING, 0, None),
        (AgentRunStatus.COMPLETED, 1, None),
        (AgentRunStatus.STOPPED, 1, None),
        (AgentRunStatus.FAILED, 2, "_OTHER"),
        (AgentRunStatus.EXHAUSTED, 2, "_OTHER"),
    ],
)
def test_how_it_ended_is_told(status: AgentRunStatus, code: int, error: str | None) -> None:
    run = spans(replace(RUN, status=status))[0]

    assert run["status"] == {"code": code}
    assert attributes(run).get("error.type") == error


def test_one_that_is_on_ends_where_it_is() -> None:
    on, over = spans()[0], spans(replace(RUN, ended_at=RUN.started_at + timedelta(hours=1)))[0]
    nothing = spans(turns=(), uses=())[0]

    assert int(on["endTimeUnixNano"]) - int(on["startTimeUnixNano"]) == 2_900_000_000
    assert int(over["endTimeUnixNano"]) - int(over["startTimeUnixNano"]) == 3_600 * 10**9
    assert nothing["endTimeUnixNano"] == nothing["startTimeUnixNano"]


def test_a_use_whose_turn_is_not_seen_hangs_on_the_run() -> None:
    run, use, _ = spans(turns=())

    assert use["parentSpanId"] == run["spanId"]


SLOW = SlowCalls("portico.test", Thresholds(warning=0.5, error=2.0))


@pytest.mark.requirement("telemetry:slow-calls:told")
@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.1, []),
        (0.5, []),
        (0.6123, [("WARNING", "reading took 0.612 s")]),
        (2.0, [("WARNING", "reading took 2.000 s")]),
        (2.5, [("ERROR", "reading took 2.500 s")]),
    ],
)
def test_slow_is_a_warning_and_very_slow_an_error(
    seconds: float, said: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    SLOW.took("reading", seconds)

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == said
    facts = [(vars(record)["slow"], vars(record)["seconds"]) for record in caplog.records]
    assert facts == [("reading", round(seconds, 3))] * len(said)


def test_watching_times_what_is_inside_even_if_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    every: list[float] = []
    slow = SlowCalls("portico.test", Thresholds(warning=0.0, error=60.0), every.append)

    with pytest.raises(ValueError, match="inside"), slow.watch("failing") as watch:
        raise ValueError("inside")

    assert every == [watch.seconds]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "inside" not in caplog.text


CANARY = b"c4nary"


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


DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "portico.json"


@pytest.fixture
def busy(measure: Measure) -> Measure:
    """After everything has happened once."""
    metrics.run_started("agent_run")
    metrics.run_finished("agent_run", "done")
    with metrics.run_in_flight():
        metrics.step_finished("call", "done", 0.02)
    metrics.events_appended(3)
    metrics.took_over()
    metrics.lease_lost()
    metrics.http_answered("GET", "/api/v1/me", 200, 0.004)
    metrics.transaction_took(0.002)
    metrics.log_line("info")
    metrics.watch_sse_clients(lambda: 0)
    metrics.watch_lane(lambda: 2, lambda: 3)
    metrics.watch_pool(lambda: {"pool_size": 4, "pool_available": 1, "requests_waiting": 2})
    return measure


def figures(text: str) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    }


@pytest.mark.requirement("telemetry:metrics:prometheus")
async def test_what_happened_is_in_the_text(busy: Measure) -> None:
    found = figures(await busy.text())

    assert found['portico_runs_started_total{kind="agent_run"}'] >= 1
    assert found['portico_runs_finished_total{kind="agent_run",outcome="done"}'] >= 1
    assert found["portico_runs_in_flight"] == 0
    assert found["portico_sse_clients"] == 0
    assert found['portico_steps_total{kind="call",outcome="done"}'] >= 1
    assert found['portico_step_seconds_count{kind="call"}'] >= 1
    assert found["portico_events_appended_total"] >= 3
    assert found["portico_pool_connections_in_use"] == 3
    assert found["portico_pool_requests_waiting"] == 2
    assert found["process_resident_memory_bytes"] > 1_000_000
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_open_fds"] > 0


@pytest.mark.requirement("telemetry:dashboard:every-metric")
async def test_the_dashboard_asks_for_every_metric_and_for_no_other(busy: Measure) -> None:
    declared = dict(re.findall(r"^# TYPE (\S+) (\S+)$", await busy.text(), re.MULTILINE))
    spelt = {
        name + suffix: name
        for name, kind in declared.items()
        for suffix in (["_bucket", "_count", "_sum"] if kind == "histogram" else [""])
    }

    asked = {
        name
        for query in queries(json.loads(DASHBOARD.read_text()))
        for name in re.findall(r"\b(?:portico|process)_[a-z_]+", query)
    }

    assert asked - set(spelt) == set()
    assert set(declared) - {spelt[name] for name in asked} == set()


def queries(dashboard: dict[str, Any]) -> Iterator[str]:
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))


def test_the_dashboard_asks_whoever_opens_it_for_their_data_source() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]

    assert dashboard["uid"] == "portico"
    assert dashboard["id"] is None
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert dashboard["templating"]["list"][0]["type"] == "datasource"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


async def told(measure: Measure) -> dict[str, float]:
    text = await measure.text()
    return {
        name: float(value)
        for name, value in re.findall(r"^(portico_ahead_\S+_total\S*) (\S+)$", text, re.MULTILINE)
    }


async def test_what_has_not_happened_is_zero_and_not_missing(measure: Measure) -> None:
    found = set(await told(measure))

    assert {"portico_takeovers_total", "portico_lease_lost_total"} <= set(
        figures(await measure.text())
    )
    assert found >= {
        "portico_ahead_calls_total",
        "portico_ahead_tried_total",
        "portico_ahead_served_total",
        "portico_ahead_saved_seconds_total",
        'portico_ahead_predicted_total{mode="live"}',
        'portico_ahead_predicted_total{mode="shadow"}',
        'portico_ahead_refused_total{gate="proven_for_caller"}',
        *(f'portico_ahead_refused_total{{gate="{gate.name}"}}' for gate in GATES),
        *(f'portico_ahead_wasted_total{{why="{why}"}}' for why in WasteReason),
    }


async def test_what_happened_is_counted(measure: Measure) -> None:
    before, meter = await told(measure), OtelPrefetchMeter()

    meter.called()
    meter.predicted(live=True)
    meter.predicted(live=False)
    meter.tried()
    meter.served(timedelta(seconds=1.5))
    meter.wasted(WasteReason.EXPIRED)
    meter.refused("worth_it")

    after = await told(measure)
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert grown == {
        "portico_ahead_calls_total": 1,
        'portico_ahead_predicted_total{mode="live"}': 1,
        'portico_ahead_predicted_total{mode="shadow"}': 1,
        "portico_ahead_tried_total": 1,
        "portico_ahead_served_total": 1,
        "portico_ahead_saved_seconds_total": 1.5,
        'portico_ahead_wasted_total{why="expired"}': 1,
        'portico_ahead_refused_total{gate="worth_it"}': 1,
    }


@pytest.mark.requirement("release:extras:told")
def test_without_the_exporter_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    monkeypatch.delitem(sys.modules, "portico.adapters.telemetry.export", raising=False)
    wishes = TelemetryOptions(version="1", endpoint="http://127.0.0.1:9")

    with pytest.raises(ExporterMissing) as caught:
        Observing(wishes, KnownSecrets())

    assert "portico[otel]" in str(caught.value.fix)
