"""What a benchmark needs and is not there: programs of real servers, and its data."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.ahead import ahead
from benchmarks.debate import debate
from benchmarks.debate_rows import FILE as DEBATES
from benchmarks.edges import edges
from benchmarks.real_programs import PACKAGES, Programs, find_programs
from benchmarks.search import search
from benchmarks.suggest import suggest
from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import Terminal
from tests.interfaces.cli.house import ScriptedHouse


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
    at = Terminal(services=ScriptedHouse(tmp_path), json=True)

    assert command(data=tmp_path, at=at) == Exit.SKIPPED

    assert missing in json.loads(capsys.readouterr().out)["skipped"]
