"""What a benchmark tells a person, and what a program."""

import json
from pathlib import Path

import pytest

from portico.bench.report import Report
from portico.faces.cli.terminal import Terminal
from tests.faces.cli.house import ScriptedHouse

REPORT = Report(
    benchmark="start",
    corpus="an empty installation",
    figures={"warm_s": 1.5},
    baseline={"bare_s": 0.5, "all_s": [0.4, 0.6]},
    conditions={"runs": 10},
)


def test_a_person_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert REPORT.tell(Terminal(house=ScriptedHouse(tmp_path))) == 0

    captured = capsys.readouterr()
    assert captured.out == "warm_s\t1.5\n"
    assert "baseline    bare_s 0.5, all_s 0.4, 0.6" in captured.err
    assert ", portico " in captured.err
    assert "runs 10" in captured.err
    assert not set("{}[]'") & set(captured.err)


def test_a_program_gets_every_figure_with_its_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert REPORT.tell(Terminal(house=ScriptedHouse(tmp_path), json=True)) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["warm_s"] == 1.5
    assert told["conditions"]["runs"] == 10
    assert "portico" in told["conditions"]["versions"]
