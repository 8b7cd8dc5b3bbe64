"""`just bench suggest`, with six sets of a handful of plans."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suggest import suggest
from benchmarks.suggest_arguments import argument_figures
from benchmarks.suggest_figures import Found, Next, by_search, first_order
from benchmarks.suggest_lessons import learn_calibration
from benchmarks.suggest_search import Ready
from benchmarks.suggest_sets import LINK, NESTFUL, TMDB, ULTRA, read_wanted
from portico.gateway.core.search_scoring import SHIPPED
from portico.gateway.core.search_text import EmbeddingModel
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from portico.learning.core.intents import LIKELY, NEXT, Judged
from portico.learning.core.intents import SHIPPED as LINE
from portico.workflows.core.plan import Reference
from tests.benchmarks.small_wishes import FIRST, write_wishes
from tests.gateway.core.shop import Floats, embedded
from tests.interfaces.cli.house import ScriptedHouse

pytestmark = pytest.mark.nightly

ALWAYS = {
    "toollinkos_r10",
    "plain_search_r10",
    "next_tool_top1",
    "next_tool_top3",
    "first_order_top1",
    "first_order_top3",
    "ece",
    "corpus",
    "conditions",
    "baseline",
}


class Table:
    model = EmbeddingModel("small", 48, "f00d")

    def embed_now(self, texts: Sequence[str]) -> Floats:
        return embedded(texts)


@pytest.fixture
def ready(tmp_path: Path) -> dict[str, Ready]:
    sets = read_wanted(write_wishes(tmp_path) / "tool-search")
    return {name: Ready(each, Table(), SHIPPED) for name, each in sets.items()}


@pytest.mark.scenario
def test_every_figure_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    assert suggest(data=write_wishes(tmp_path), at=at) == Exit.OK

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told.keys() >= ALWAYS
    assert told["toollinkos_r10"] == 1
    assert 0 <= told["first_order_top1"] <= told["first_order_top3"] <= 1
    assert 0 <= told["ece"] <= 1
    learnt = told["conditions"]["learnt_without_ultra"]
    assert learnt["likely"].keys() == {*LIKELY.of, "start"}
    assert learnt["next"].keys() == {*NEXT.of, "start"}


def test_plans_are_read_with_what_hangs_on_what(ready: dict[str, Ready]) -> None:
    assert ready.keys() == {LINK, ULTRA, TMDB, *NESTFUL}
    first, second = ready[LINK].of.plans[0].steps
    assert (first.tool, second.tool) == (f"set.{FIRST}", "set.letter")
    assert second.arguments == {"day": Reference(FIRST)}
    assert second.after == (FIRST,)
    round_about = next(plan for plan in ready[LINK].of.plans if plan.about == "set.lamp")
    assert set(round_about.tools) == {"set.lamp", f"set.{FIRST}"}
    assert ready[ULTRA].of.plans[0].tools == ("set.letter", "set.bread")
    rent = ready[NESTFUL[0]].of.plans[0].steps[1]
    assert rent.arguments == {"boat_id": Reference("0", "json.boat_id")}


def test_no_plan_about_the_same_tool_was_seen(ready: dict[str, Ready]) -> None:
    plans = ready[LINK].of.plans
    for fold in ready[LINK].folds([plan.about for plan in plans]):
        about = {plans[place].about for place in fold.asked_for}

        assert about.isdisjoint(tool for plan in fold.past.plans for tool in plan.tools)


def test_what_is_found_is_counted(ready: dict[str, Ready]) -> None:
    folds = ready[LINK].folds([plan.about for plan in ready[LINK].of.plans])

    found = Found.of(folds, by_search)
    nothing = Found.of(folds, lambda _fold, _place: [])

    assert found.told()["interval"] == [1.0, 1.0]
    assert nothing.mean == 0


def test_arguments_are_held_against_those_that_were_written(ready: dict[str, Ready]) -> None:
    folds = ready[NESTFUL[0]].folds([plan.about for plan in ready[NESTFUL[0]].of.plans])

    told = argument_figures(folds)

    assert told["wanted"] == 15
    assert told["handed_on"] == told["handed_on_right"] == 6
    assert told["from_the_intent"] == 3
    assert told["from_the_intent_right"] == 0


def test_the_next_tool_stands_where_it_stands(ready: dict[str, Ready]) -> None:
    folds = ready[ULTRA].folds([plan.about for plan in ready[ULTRA].of.plans])

    found = Next.of(folds, first_order)
    nothing = Next.of(folds, lambda _fold, _place, _done: [])

    assert found.top(1) == 1
    assert nothing.top(3) == 0


def test_a_line_is_learnt_from_what_suggestions_came_to() -> None:
    draw = np.random.default_rng(0)
    raw, backing = draw.normal(-2, 3, 2_000), draw.uniform(0.5, 1, 2_000)
    came = draw.random(2_000) < backing / (1 + np.exp(-(0.5 * raw + 1)))

    line = learn_calibration([[*map(Judged, raw, came, backing)]])

    assert line.slope == pytest.approx(0.5, abs=0.07)
    assert line.start == pytest.approx(1, abs=0.2)
    assert LINE.slope > 0
