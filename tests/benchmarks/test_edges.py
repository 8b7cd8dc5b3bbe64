"""`just bench edges`, with four sets of three plans and a catalogue of twelve tools."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.edge_baselines import RULES, edges_by
from benchmarks.edge_figures import Score, between_tools, gain_interval
from benchmarks.edge_lessons import f1
from benchmarks.edge_ranking import Ranking, read_catalogue
from benchmarks.edge_sets import EXECUTABLE, FOUR, SEAL, GoldPlan, read_plans
from benchmarks.edges import edges
from benchmarks.search_models import Encoders
from portico.adapters.embeddings.encoders import EncoderFolder
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from portico.learning.core.dataflow import Feature
from portico.learning.core.dataflow_fields import Flow
from tests.adapters.embeddings.tiny import publish
from tests.benchmarks.small_plans import write_plans
from tests.gateway.core.shop import embedded
from tests.interfaces.cli.house import ScriptedHouse

pytestmark = pytest.mark.nightly

ALWAYS = {
    "toollinkos_hit10",
    "f1",
    "baseline_f1",
    "precision",
    "recall",
    "errors",
    "without_vectors_f1",
    "corpus",
    "conditions",
    "baseline",
}


@pytest.fixture
def plans(tmp_path: Path) -> dict[str, tuple[GoldPlan, ...]]:
    read = read_plans(write_plans(tmp_path) / "tool-search")
    return {name: each.plans for name, each in read.items()}


@pytest.mark.scenario
def test_every_figure_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    assert edges(data=write_plans(tmp_path), at=at) == Exit.OK

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told.keys() >= ALWAYS
    assert told["f1"].keys() == told["baseline_f1"].keys() == set(FOUR)
    assert all(0 < told["f1"][name] <= 1 for name in FOUR)
    assert told["toollinkos_hit10"] == 1
    assert "minilm-plain" in told["encoder"]["skipped"]
    assert told["conditions"]["learnt_on_all"]["weights"].keys() == set(Feature)


@pytest.mark.scenario
def test_with_an_encoder_it_is_measured_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    house = ScriptedHouse(tmp_path)
    shelf = EncoderFolder(house.encoders().folder.parent / "bench" / "encoders")
    Encoders(shelf).make(str(publish(tmp_path / "tiny")), lambda _: None)

    assert edges(data=write_plans(tmp_path), at=Terminal(services=house, json=True)) == Exit.OK

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["encoder"]["f1"].keys() == set(FOUR)
    assert told["encoder"]["toollinkos"].keys() == {"with_prior", "without_prior", "prior"}


def test_plans_are_read_with_what_feeds_what(plans: dict[str, tuple[GoldPlan, ...]]) -> None:
    assert len(plans[EXECUTABLE]) == 3
    for plan in plans[EXECUTABLE]:
        assert plan.gold == {
            (0, 1, "boat_id"): "boat_id",
            (1, 2, "message"): "",
            (0, 3, "sailor"): "sailor",
        }
    [seal] = plans[SEAL]
    assert seal.gold == {
        (0, 1, "plant_name"): "plant_name",
        (0, 2, "news"): "",
        (1, 2, "news"): "litres",
    }


def test_a_flow_is_noted_with_the_path_that_it_came_by(
    plans: dict[str, tuple[GoldPlan, ...]],
) -> None:
    assert plans[EXECUTABLE][0].flows == [
        Flow("find_boat", "json.boat_id", "rent_boat", "boat_id"),
        Flow("rent_boat", "", "write_letter", "message"),
        Flow("find_boat", "json.crew[0].sailor", "unheard_of", "sailor"),
    ]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("same_name", {(0, 1, "boat_id"), (0, 3, "sailor")}),
        ("half_the_words", {(0, 1, "boat_id"), (0, 3, "sailor")}),
        ("words_or_producer", {(0, 1, "boat_id"), (0, 3, "sailor")}),
        ("same_type", {(0, 1, "boat_id"), (0, 1, "hours")}),
    ],
)
def test_the_rules_to_beat_find_what_they_say(
    plans: dict[str, tuple[GoldPlan, ...]], rule: str, found: set[tuple[int, int, str]]
) -> None:
    assert edges_by(RULES[rule], plans[EXECUTABLE][0]) == found


def test_a_score_counts_what_is_right_told_and_gold(
    plans: dict[str, tuple[GoldPlan, ...]],
) -> None:
    some = plans[EXECUTABLE][:1]
    told = [{(0, 1, "boat_id"), (0, 1, "hours")}]

    score = Score.of(told, some)

    assert (score.right, score.told, score.gold) == (1, 2, 3)
    assert (score.precision, score.recall, score.f1) == (0.5, 0.3333, 0.4)
    assert between_tools(told, some) == 0.5
    assert (
        Score(0, 0, 0).f1 == Score(0, 0, 0).precision == Score(0, 0, 0).recall == f1(0, 0, 0) == 0
    )


def test_a_gain_that_is_the_same_in_every_plan_has_no_spread(
    plans: dict[str, tuple[GoldPlan, ...]],
) -> None:
    some = plans[EXECUTABLE]
    right, none = [set(plan.gold) for plan in some], [set[tuple[int, int, str]]() for _ in some]

    assert gain_interval(right, none, some) == [1, 1]
    assert gain_interval(right, right, some) == [0, 0]


def test_the_catalogue_has_only_parameters_whose_giver_is_known(tmp_path: Path) -> None:
    catalogue = read_catalogue(write_plans(tmp_path) / "tool-search")

    assert len(catalogue.sources.of) == 12
    assert len(catalogue.needs) == len(catalogue.consumers) == 9
    assert all(len(need.givers) == 1 for need in catalogue.needs)


def test_a_tool_is_never_told_what_it_would_have_taught_itself(tmp_path: Path) -> None:
    catalogue = read_catalogue(write_plans(tmp_path) / "tool-search")
    ranking = Ranking.of(catalogue, embedded)
    alone = frozenset({catalogue.needs[0].consumer})

    signs = ranking.with_flows([0, 1], alone)

    assert not signs[0, 3:].any()
    assert signs[1, 3].max() == pytest.approx(np.log(2))


def test_what_was_seen_of_other_tools_helps(tmp_path: Path) -> None:
    ranking = Ranking.of(read_catalogue(write_plans(tmp_path) / "tool-search"), embedded)

    hits = ranking.measure()

    assert hits["with_prior"].at(1) >= hits["without_prior"].at(1)
    assert hits["with_prior"].at(10) == hits["without_prior"].at(20) == 1
    assert hits["prior"].at(1) < hits["with_prior"].at(1)
