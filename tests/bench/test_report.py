"""What a benchmark tells a person and a program, and where it finds what it needs."""

import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from portico.bench.ahead import ahead
from portico.bench.call import _WARM, call
from portico.bench.call_house import _environment
from portico.bench.debate import debate
from portico.bench.debate_rows import FILE as DEBATES
from portico.bench.edges import edges
from portico.bench.real_programs import PACKAGES, Programs, find_programs
from portico.bench.report import Report
from portico.bench.search import search
from portico.bench.suggest import suggest
from portico.faces.cli.exits import Exit
from portico.faces.cli.terminal import Terminal
from portico.settings.load import load
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


def test_a_program_is_found_where_it_was_said_to_be_and_nothing_is_installed_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    program = tmp_path / "mcp-server-memory"
    program.write_text("#!/usr/bin/env node\n")
    program.chmod(0o755)

    found = find_programs(list(PACKAGES), [tmp_path], None)

    assert found.find("mcp-server-memory") == str(program)
    assert found.command("mcp-server-memory") == ["node", str(program)]
    assert found.missing(["mcp-server-memory", "mcp-server-git"]) == ["mcp-server-git"]
    assert Programs([]).command("mcp-server-git") == ["mcp-server-git"]


def test_what_cannot_be_installed_is_missing_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))

    found = find_programs(["mcp-server-memory"], [], tmp_path / "servers")

    assert found.missing(["mcp-server-memory"]) == ["mcp-server-memory"]
    assert "server-memory@" in capsys.readouterr().err


def test_its_house_allows_more_calls_a_minute_than_it_makes_in_all(tmp_path: Path) -> None:
    sizes = {name: each.default for name, each in signature(call).parameters.items()}
    through_the_gateway = 2 * (_WARM + sizes["rounds"] * 5 * sizes["calls"])

    loaded = load(_environment(tmp_path, 1, ""), folder=tmp_path)

    allowed = loaded.settings.limits.calls_a_minute
    assert allowed > through_the_gateway > 1_000


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (ahead, "livemcpbench-sonnet.json"),
        (debate, DEBATES),
        (edges, "nestful_v1.json"),
        (search, "livemcpbench.json"),
        (suggest, "tmdb_plans.json"),
    ],
)
def test_without_its_data_a_benchmark_says_what_is_missing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: Callable[..., Exit],
    missing: str,
) -> None:
    at = Terminal(house=ScriptedHouse(tmp_path), json=True)

    assert command(data=tmp_path, at=at) == Exit.SKIPPED

    assert missing in json.loads(capsys.readouterr().out)["skipped"]
