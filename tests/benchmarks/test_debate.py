"""`just bench debate`, with sixty debates and two short histories a team."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import debate as command
from benchmarks.debate import debate
from benchmarks.debate_figures import ece, gain, selective, together
from benchmarks.debate_fixed import alike, best_mixed, fixed_rules, mixed
from benchmarks.debate_liars import flipped
from benchmarks.debate_replay import Held, replay
from benchmarks.debate_rows import FILE, Row, merged, read_rows
from benchmarks.debate_teams import TEAMS, simulated
from portico.debate.core.questions import Preset
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from tests.interfaces.cli.house import ScriptedHouse

ALWAYS = {
    "accuracy_at_3_3",
    "accuracy_at_2_6",
    "paired_gain_at_2_6",
    "paired_gain_low_at_2_6",
    "selective_accuracy_30",
    "ece",
    "worst_gap_to_best_single",
    "liars_flip",
    "corpus",
    "conditions",
    "baseline",
}


def recorded(count: int) -> list[dict[str, object]]:
    """Easy ones that agree, hard ones that do not; written here."""
    rows: list[dict[str, object]] = []
    for at in range(count):
        first: list[str | None]
        if at % 2:
            first = ["$7$", "7", "7.0"]
            rows.append({"nr": 1, "r1": first, "fin": first, "nfin": 3, "gt": "7"})
        else:
            first = ["1/3", "\\frac{2}{6}", f"{at + 11}/97", None]
            rows.append({"nr": 2, "r1": first, "fin": ["1/3", "9", "9"], "nfin": 3, "gt": "1/3"})
        rows[-1].update({"typ": "sums", "lev": 1 + at % 5})
    return rows


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "debates").mkdir()
    written = tmp_path / "debates" / FILE
    written.write_text(json.dumps(recorded(60)), encoding="utf-8")
    return written


@pytest.fixture
def rows(file: Path) -> list[Row]:
    return list(read_rows(file))


@pytest.mark.scenario
def test_every_figure_is_there(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "TEAMS", TEAMS[5:7])
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)
    drawn = tmp_path / "frontier.svg"

    assert debate(data=file, seeds=1, rounds=1, draw=drawn, at=at) == Exit.OK

    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(told) >= ALWAYS
    assert set(told["baseline"]["recorded"]) >= {
        "single",
        "majority",
        "confidence_weighted",
        "two_alike_stop",
        "after_debate",
        "pooled",
    }
    assert told["liars_flip"] == 0
    assert told["matching"]["single_ours"] > told["matching"]["single_strict"]
    assert told["matching"]["right_by_the_letter_and_lost"] == 0
    assert drawn.read_text(encoding="utf-8").startswith("<svg")


def test_debated_rows_are_replayed_in_every_order(rows: list[Row]) -> None:
    assert len(rows[0].orders()) == 24
    assert rows[1].orders() == [rows[1].first]
    assert (rows[0].whole, rows[1].whole) == (7, 3)


def test_merged_pairs_are_counted_by_what_they_are(file: Path) -> None:
    assert merged(file) == {"numbers": 30 + 30 * 3}


def test_fixed_rules_cost_what_they_ask(rows: list[Row]) -> None:
    rules = fixed_rules(rows)

    assert rules["single"].mean_calls == 1
    assert rules["two_alike_stop"].mean_calls < rules["majority"].mean_calls == 3.5
    assert rules["two_alike_stop"].accuracy == 100
    assert alike(rows, 4, 2).told() == rules["two_alike_stop"].told()


def test_a_mix_costs_what_is_asked_for(rows: list[Row]) -> None:
    rules = fixed_rules(rows)
    single, three = rules["single"], rules["two_alike_of_3"]
    between = (single.mean_calls + three.mean_calls) / 2

    assert mixed(rules, between) == pytest.approx((single.right + three.right) / 2)
    assert mixed(rules, 99) == pytest.approx(rules["pooled"].right)
    assert best_mixed(rules, between).mean() >= mixed(rules, between).mean() - 1e-9


def test_a_replay_asks_at_least_the_pair_and_never_more_than_were_recorded(
    rows: list[Row],
) -> None:
    points = ((Preset.VOTE, 0.2), (Preset.DEBATE, 1.0))

    held = replay(rows, 1, lambda row: row.topic, lambda _: None, points)

    quick, thorough = held[points[0]], held[points[1]]
    assert quick.calls.min() >= 2
    assert quick.calls.max() <= 4
    assert thorough.calls.max() <= 7
    assert quick.right.mean() > 0.9


def test_figures_of_known_answers() -> None:
    right = np.array([[1.0, 1.0, 0.0, 0.0]])
    sure = np.array([[0.95, 0.95, 0.05, 0.05]])
    held = Held(right, np.full((1, 4), 2.5), sure)

    assert selective(held)["50%"] == 100
    assert selective(held)["100%"] == 50
    assert ece(held) == pytest.approx(0.05)


def test_a_gain_is_row_by_row_and_has_an_interval(rows: list[Row]) -> None:
    count = len(rows)
    points = {
        (Preset.VOTE, 0.1): Held(np.ones(count), np.full(count, 2.0), np.ones(count)),
        (Preset.VOTE, 0.9): Held(np.ones(count), np.full(count, 3.0), np.ones(count)),
    }
    frontier = together([points])

    told = gain(frontier, fixed_rules(rows), 2.2)

    assert told["gain"] is not None
    assert told["low"] is not None
    assert told["low"] <= told["gain"]
    assert frontier.within(2.5) == (Preset.VOTE, 0.1)
    assert frontier.within(1.0) is None
    assert gain(frontier, fixed_rules(rows), 9.0)["gain"] is None


def test_one_strong_voice_is_not_outvoted_by_weak_ones() -> None:
    found = simulated(TEAMS[5], 3, 200, 2)

    assert found["ours"] > found["majority"]
    assert found["best_single"] - found["ours"] < 3


def test_liars_flip_the_seeds_rule_and_not_ours() -> None:
    found = flipped(3, 10)

    assert found["ours"] == 0
    assert found["seed_vote"] > 0
