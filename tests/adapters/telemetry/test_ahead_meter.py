"""Calls made ahead, as `/metrics` tells them."""

import re
from datetime import timedelta

from portico.adapters.telemetry.ahead_meter import MeteredAhead
from portico.adapters.telemetry.measure import Measure
from portico.gateway.core.ahead.gates import GATES
from portico.gateway.core.ahead.totals import Waste


async def told(measure: Measure) -> dict[str, float]:
    text = await measure.text()
    return {
        name: float(value)
        for name, value in re.findall(r"^(portico_ahead_\S+_total\S*) (\S+)$", text, re.MULTILINE)
    }


async def test_what_has_not_happened_is_zero_and_not_missing(measure: Measure) -> None:
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
