"""What a benchmark tells a person and a program, and where it finds what it needs."""

import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from portico.bench.call import _WARM, _environment, call
from portico.bench.context import context
from portico.bench.report import Report
from portico.bench.search import search
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from portico.settings.load import load
from tests.interfaces.cli.house import ScriptedHouse

REPORT = Report(
    benchmark="start",
    corpus="an empty installation",
    figures={"warm_s": 1.5},
    baseline={"bare_s": 0.5, "all_s": [0.4, 0.6]},
    conditions={"runs": 10},
)


def test_a_person_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert REPORT.tell(Terminal(services=ScriptedHouse(tmp_path))) == 0

    captured = capsys.readouterr()
    assert captured.out == "warm_s\t1.5\n"
    assert "baseline    bare_s 0.5, all_s 0.4, 0.6" in captured.err
    assert ", portico " in captured.err
    assert "runs 10" in captured.err
    assert not set("{}[]'") & set(captured.err)


def test_a_program_gets_every_figure_with_its_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert REPORT.tell(Terminal(services=ScriptedHouse(tmp_path), json=True)) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["warm_s"] == 1.5
    assert told["conditions"]["runs"] == 10
    assert "portico" in told["conditions"]["versions"]


def test_its_house_allows_more_calls_a_minute_than_it_makes_in_all(tmp_path: Path) -> None:
    sizes = {name: each.default for name, each in signature(call).parameters.items()}
    through_the_gateway = 2 * (_WARM + sizes["rounds"] * 5 * sizes["calls"])

    loaded = load(_environment(tmp_path, 1, ""), folder=tmp_path)

    allowed = loaded.settings.limits.calls_a_minute
    assert allowed > through_the_gateway > 1_000


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (context, "livemcpbench.json"),
        (search, "livemcpbench.json"),
    ],
)
def test_without_its_data_a_benchmark_says_what_is_missing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: Callable[..., Exit],
    missing: str,
) -> None:
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    assert command(data=tmp_path, at=at) == Exit.SKIPPED

    assert missing in json.loads(capsys.readouterr().out)["skipped"]
