"""Metrics: what was measured, over a range; nothing is made up where nothing was."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from portico.agents.core.traces import ModelStats
from portico.gateway.core.calls import Call, CallId, CallOutcome
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.interfaces.console.screens.metrics import (
    MOST,
    RANGES,
    ToolTokenCost,
    model_costs,
    models_csv,
    points,
    range_of,
    series,
    share_of,
    summed,
)
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId
from tests.interfaces.console.conftest import Browser
from tests.interfaces.console.shop import FIND, handed_on, offers

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
HOUR = RANGES[0]


async def test_calls_are_counted_by_server_over_time_and_taken_away_as_csv(
    console: Browser,
) -> None:
    await handed_on(console)

    text = await console.sees("/figures?range=1h")
    parts = {
        path: (await console.get(f"/figures/{path}?range=24h", part=True)).body.decode()
        for path in ("now", "more", "table")
    }
    servers = await console.get("/figures/csv?range=1h")
    calls = await console.get("/figures/csv?what=calls&range=1h")

    assert all(it in text for it in ('id="figures-shop"', "Last hour", "<polyline"))
    assert text.count("<tr data-at=") == 60
    assert 'id="kpi-calls" hx-swap-oob' in parts["now"]
    assert 'id="kpi-used" hx-swap-oob' in parts["more"]
    assert 'id="spark-shop" hx-swap-oob' in parts["table"]
    assert all(len(part) < 50_000 for part in parts.values())
    assert servers.headers["content-type"].startswith("text/csv")
    assert servers.body.decode().splitlines()[1].startswith("shop,2,0.0,")
    assert len(calls.body.decode().splitlines()) == 61


async def test_the_switch_of_running_ahead_is_thrown(console: Browser) -> None:
    led = await console.does("/figures/ahead", {"mode": "shadow"})

    assert "The switch is thrown." in await console.sees(led)
    assert "foretold and compared, never made" in await console.sees("/figures")


async def test_what_a_model_is_spared_is_told(console: Browser) -> None:
    await offers(console, *({**FIND, "name": f"find_{n}"} for n in range(60)))

    text = await console.sees("/figures")

    assert "Context saved" in text
    assert "less, each time" in text


def _call(minutes: float, took: float, outcome: CallOutcome | None = CallOutcome.DONE) -> Call:
    return Call(
        id=CallId.of_digest(str(minutes).encode()),
        principal=PrincipalId.of_digest(b"ana"),
        ref=ToolRef("shop", "find"),
        effect=Effect.PURE,
        pin="p",
        arguments={},
        started_at=NOW - timedelta(minutes=minutes),
        took=timedelta(milliseconds=took),
        outcome=outcome,
    )


def test_calls_fall_into_even_steps() -> None:
    calls = [
        _call(0.5, 10),
        _call(1.2, 20, CallOutcome.FAILED),
        _call(1.4, 40),
        _call(1.5, 99, None),
        _call(59.9, 5),
        _call(61, 5),
    ]

    found = series(calls, HOUR, NOW)

    assert len(found.steps) == 60
    assert [(n, step.calls, step.wrong) for n, step in enumerate(found.steps) if step.calls] == [
        (0, 1, 0),
        (58, 2, 1),
        (59, 1, 0),
    ]
    assert (found.steps[58].p50, found.steps[58].p95) == (30.0, 39.0)
    assert found.steps[1].p50 is None
    assert found.whole


def test_where_there_were_more_calls_than_are_looked_at_it_says_since_when() -> None:
    calls = [_call(n / 100, 1) for n in range(MOST)]

    found = series(calls, HOUR, NOW)

    assert not found.whole
    assert found.since == calls[-1].started_at


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [([], 0.5, None), ([3], 0.95, 3), ([1, 3], 0.5, 2), ([1, 2, 3, 4, 5], 0.5, 3)],
)
def test_a_share_lies_between_the_two_nearest(
    values: list[float], share: float, value: float | None
) -> None:
    assert share_of(values, share) == value


def test_lines_fit_their_box_and_no_more_context_is_saved_than_there_is() -> None:
    assert (points([0, 2, 1]), points([0])) == ("0,21 2,2 4,12", "0,21")
    assert range_of("7d").within == timedelta(days=7)
    assert range_of("x").key == range_of(None).key == "24h"
    assert ToolTokenCost(before=0, after=900).share is None
    assert ToolTokenCost(before=1000, after=10).share == 0.99
    assert ToolTokenCost(before=10, after=1000).saved == 0


def _stats(model: str, money: str) -> ModelStats:
    return ModelStats(
        model=model,
        turns=2,
        retried=0,
        input=100,
        output=10,
        cached=0,
        money=Decimal(money),
        p50=timedelta(seconds=1),
        p95=timedelta(seconds=2),
        first_piece=None,
        tokens_a_second=None,
        last_at=NOW,
    )


def test_the_dearest_model_comes_first_and_all_are_summed() -> None:
    stats = [_stats("small", "0.01"), _stats("large", "2.5")]

    assert [cost.name for cost in model_costs(stats)] == ["large", "small"]
    assert summed("all", stats).money == Decimal("2.51")
    assert summed("all", stats).turns == 4


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\tx"])
def test_a_name_is_no_formula_in_a_spreadsheet(name: str) -> None:
    text = models_csv(model_costs([_stats(name, "1")]))

    assert f"'{name}" in text
