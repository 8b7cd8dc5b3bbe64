"""Figures as Prometheus reads them, and a dashboard that asks for each of them."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.telemetry import ahead_meter, instruments
from portico.adapters.telemetry.ahead_meter import MeteredAhead
from portico.adapters.telemetry.errors import ExporterMissing
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.measure import Measure
from portico.adapters.telemetry.observing import ObserveWishes, Observing
from portico.gateway.core.ahead.gates import GATES
from portico.gateway.core.ahead.totals import Waste

DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "portico.json"


@pytest.fixture
def busy(measure: Measure) -> Measure:
    """After everything has happened once."""
    instruments.run_started("agent_run")
    instruments.run_finished("agent_run", "done")
    with instruments.run_in_flight():
        instruments.step_finished("call", "done", 0.02)
    instruments.events_appended(3)
    instruments.took_over()
    instruments.lease_lost()
    instruments.http_answered("GET", "/api/v1/me", 200, 0.004)
    instruments.transaction_took(0.002)
    instruments.log_line("info")
    instruments.watch_sse_clients(lambda: 0)
    ahead_meter.watch_lane(lambda: 2, lambda: 3)
    instruments.watch_pool(lambda: {"pool_size": 4, "pool_available": 1, "requests_waiting": 2})
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


async def test_what_has_not_happened_is_zero_and_not_missing(measure: Measure) -> None:
    found = figures(await measure.text())

    assert {"portico_takeovers_total", "portico_lease_lost_total"} <= set(found)


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


async def test_calls_made_ahead_are_zero_and_not_missing(measure: Measure) -> None:
    assert set(await told(measure)) >= {
        "portico_ahead_calls_total",
        "portico_ahead_tried_total",
        "portico_ahead_served_total",
        "portico_ahead_saved_seconds_total",
        'portico_ahead_predicted_total{mode="live"}',
        'portico_ahead_predicted_total{mode="shadow"}',
        'portico_ahead_refused_total{gate="proven_for_caller"}',
        *(f'portico_ahead_refused_total{{gate="{gate.__name__}"}}' for gate in GATES),
        *(f'portico_ahead_wasted_total{{why="{why}"}}' for why in Waste),
    }


async def test_what_happened_is_counted(measure: Measure) -> None:
    before, meter = await told(measure), MeteredAhead()

    meter.called()
    meter.predicted(live=True)
    meter.predicted(live=False)
    meter.tried()
    meter.served(timedelta(seconds=1.5))
    meter.wasted(Waste.EXPIRED)
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
    wishes = ObserveWishes(version="1", endpoint="http://127.0.0.1:9")

    with pytest.raises(ExporterMissing) as caught:
        Observing(wishes, KnownSecrets())

    assert "portico[otel]" in str(caught.value.fix)
