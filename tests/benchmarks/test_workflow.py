"""The graphs that plans are measured on, and what is told of them."""

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks.real_programs import PACKAGES
from benchmarks.workflow import Measured
from benchmarks.workflow_bare import walked
from benchmarks.workflow_five import PROGRAMS, five_steps
from benchmarks.workflow_shapes import (
    Shape,
    chain,
    diamond,
    narrow,
    scattered,
    star,
    wide,
)
from benchmarks.workflow_tools import PROGRAM, SPREAD, seconds
from tests.benchmarks.tool_server import answers_of


def test_a_latency_is_the_same_for_the_same_seed_and_step_and_near_what_it_is_said_to_be() -> None:
    latencies = {seconds(7, f"s{number}", 1.0) for number in range(100)}

    assert seconds(7, "s1", 1.0) == seconds(7, "s1", 1.0)
    assert len(latencies) == 100
    assert all(1 - SPREAD <= each <= 1 + SPREAD for each in latencies)


def test_the_critical_path_is_the_longest_way_and_not_the_sum() -> None:
    ten, one = Shape("chain", chain(10), 1.0), Shape("star", star(5), 1.0)
    top, left, right, bottom = [seconds(7, name, 1.0) for name in diamond()]
    leaves = [seconds(7, f"s{number}", 1.0) for number in range(5)]

    assert ten.critical_path == pytest.approx(sum(seconds(7, f"s{n}", 1.0) for n in range(10)))
    assert one.critical_path == pytest.approx(seconds(7, "hub", 1.0) + max(leaves))
    assert Shape("diamond", diamond(), 1.0).critical_path == pytest.approx(
        top + max(left, right) + bottom
    )


def test_every_step_needs_only_what_comes_before_it() -> None:
    for shape in [*narrow(), *wide()]:
        before: set[str] = set()
        for name, needs in shape.needs.items():
            assert before.issuperset(needs)
            before.add(name)
    assert scattered(200, 1) == scattered(200, 1) != scattered(200, 2)


async def test_a_graph_is_walked_as_soon_as_what_is_needed_is_there() -> None:
    happened: list[str] = []

    async def one(name: str) -> None:
        happened.append(f"{name} begins")
        await asyncio.sleep(0)
        happened.append(f"{name} is over")

    shape = Shape("random", scattered(50, 3), 0.0)
    await walked(shape, one)

    assert len(happened) == 2 * shape.steps
    for name, needs in shape.needs.items():
        begins = happened.index(f"{name} begins")
        assert all(happened.index(f"{each} is over") < begins for each in needs)
    roots = [name for name, needs in shape.needs.items() if not needs]
    first = min(happened.index(f"{name} is over") for name in shape.needs)
    assert len(roots) > 1
    assert all(happened.index(f"{name} begins") < first for name in roots)


@pytest.mark.parametrize("arguments", [["7"], ["7", "lean"]])
def test_the_tool_server_speaks_the_protocol(arguments: list[str]) -> None:
    given = {"step": "s1", "seconds": 0.01, "given": ["before"]}

    listed, called = answers_of(
        [*PROGRAM, *arguments],
        ("tools/list", {}),
        ("tools/call", {"name": "look", "arguments": given}),
    )

    assert [each["name"] for each in listed["result"]["tools"]] == ["look", "change"]
    said = json.loads(called["result"]["content"][0]["text"])
    assert said == {"step": "s1", "given": ["before"]}


class Scripted:
    """A child that always takes as long as the shape, and a way's own time beside it."""

    def __init__(self, **beside: float) -> None:
        self._beside = beside
        self.order: list[str] = []

    def timed(self, way: str, shape: Shape, server: str) -> dict[str, float]:
        self.order.append(way)
        beside = self._beside.get(way, 0.0)
        return {"seconds": shape.critical_path + beside, "cpu": beside * shape.steps / 1000}


class Warming:
    """The first takes a second, the next two, and so on."""

    seconds = 0.0

    def timed(self, _way: str, _shape: Shape, _server: str) -> dict[str, float]:
        self.seconds += 1
        return {"seconds": self.seconds, "cpu": 0.0}


def _measured(child: Scripted, rounds: int) -> Measured:
    measured = Measured(dict.fromkeys(("ours", "client", "dbos"), child))  # type: ignore[arg-type] # ty: ignore[invalid-argument-type] # as it is used
    for number in range(rounds):
        measured.round(number, lambda _: None)
    return measured


def test_the_figures_are_of_the_worst_shape_and_a_server_that_is_missing_is_told() -> None:
    child = Scripted(inline=0.2, calls=0.05, durable=0.5, client=0.1, dbos=0.5)

    report = _measured(child, 2).report(2, 0, ["mcp-server-time"])

    shortest = min(shape.critical_path for shape in narrow())
    widest = min(shape.critical_path for shape in wide())
    figures = dict(report.figures)
    assert figures["efficiency_inline"] == round(shortest / (shortest + 0.2), 3)
    assert figures["efficiency_durable"] == round(shortest / (shortest + 0.5), 3)
    assert figures["wide_over_bare_client"] == round((widest + 0.2) / (widest + 0.1), 2)
    assert figures["wide_over_bare_dbos"] == 1.0
    assert figures["scheduler_cpu_ms_per_step"] == 0.15
    assert "mcp-server-time" in str(figures["five_tool_p95_s"])


def test_the_plan_that_starts_the_servers_is_told_beside_those_that_find_them_running() -> None:
    measured = _measured(Scripted(), 1)
    measured.took["five", "", "first"] = [{"seconds": 9.0, "cpu": 0.0}]
    measured.took["five", "", "five"] = [{"seconds": 0.5, "cpu": 0.0}] * 3

    report = measured.report(1, 3, [])

    assert report.figures["five_tool_p95_s"] == 0.5
    assert report.conditions["five_tool_first_s"] == [9.0]


def test_the_first_plan_of_five_tools_is_one_more_than_is_asked_for() -> None:
    child = Warming()
    measured = Measured({"ours": child})  # type: ignore[dict-item] # ty: ignore[invalid-argument-type] # as it is used

    measured.five(Path("/world"), 2)

    assert [each["seconds"] for each in measured.took["five", "", "first"]] == [1.0]
    assert [each["seconds"] for each in measured.took["five", "", "five"]] == [2.0, 3.0]


def test_five_tools_are_of_five_servers_that_can_be_had_by_name() -> None:
    plan = five_steps("/world")

    assert {step.tool.server for step in plan.steps} == PROGRAMS.keys()
    assert len(plan.steps) == 5
    assert set(PROGRAMS.values()) <= PACKAGES.keys()
