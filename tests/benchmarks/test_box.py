"""`just bench box`, at its smallest."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.box import box
from benchmarks.box_probes import compared
from benchmarks.boxes import by_round
from portico.interfaces.cli.services import SettingEntry
from portico.interfaces.cli.terminal import Terminal
from portico.sandbox.core.probes import Backend, Probe, Situation
from tests.interfaces.cli.house import ScriptedHouse

pytestmark = pytest.mark.nightly

ALWAYS = {
    "shell_start_ratio",
    "stdio_call_ratio",
    "code_start_ms",
    "http_guard_ratio",
    "probes",
    "probes_as_declared",
    "corpus",
    "conditions",
    "baseline",
}


class HouseWithABox(ScriptedHouse):
    def settings(self) -> Sequence[SettingEntry]:
        return [*super().settings(), SettingEntry("box.run_as", "nobody", "default")]


def test_what_ends_otherwise_than_the_table_says_is_counted_and_named() -> None:
    probes = [
        Probe("read_by_path", held=True, detail="EACCES"),
        Probe("loopback", held=False, detail="read what is outside"),
        Probe("see_outside", held=False, detail="it has 50 bytes"),
    ]

    found = compared(probes, Backend.LANDLOCK, Situation.USER)
    held = compared([Probe("see_outside", held=True, detail="")], Backend.LANDLOCK, Situation.USER)

    assert (found.made, found.as_declared) == (3, 2)
    assert found.wrong == ["loopback: read what is outside"]
    assert held.as_declared == 0  # although it is said to be open


def test_rounds_are_compared_by_their_medians() -> None:
    assert by_round([2, 2, 9, 4, 4, 4], [1, 1, 1, 4, 4, 1], 3) == [2, 1]


@pytest.mark.scenario
def test_it_measures_every_figure_with_a_baseline_of_the_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = Terminal(services=HouseWithABox(tmp_path), json=True)

    assert box(rounds=1, starts=1, calls=20, at=at) == 0

    told = json.loads(capsys.readouterr().out)
    assert told.keys() >= ALWAYS
    assert told["probes"] == told["probes_as_declared"] >= 60
    assert told["conditions"]["offered"] in list(Backend)
    assert told["shell_start_ratio"] > 1
    assert told["baseline"]["bare_start_cpu_ms"] > 0
