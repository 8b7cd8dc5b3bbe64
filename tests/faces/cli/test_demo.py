"""What `portico demo` refuses, and how it takes what stands behind it."""

import json
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from tests.faces.cli.house import ScriptedHouse


def test_commands_of_the_machine_are_not_run_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ScriptedHouse(tmp_path), ["demo", "serve", "--port", "1"]) == 2

    assert "Leave demo away: portico serve" in capsys.readouterr().err


@pytest.mark.parametrize(
    "typed", [["demo", "search", "x", "--limit", "1", "--json"], ["--json", "demo", "ui"]]
)
def test_where_there_is_none_no_command_is_run_in_it(
    typed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ScriptedHouse(tmp_path), typed) == 2

    assert json.loads(capsys.readouterr().err)["error"]["fix"] == "Make it: portico demo"


@pytest.mark.parametrize("typed", [["demo", "--remove", "--json"], ["demo", "--json", "--remove"]])
def test_what_is_not_there_is_gone_already(
    typed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ScriptedHouse(tmp_path), typed) == 0

    assert json.loads(capsys.readouterr().out) == {"removed": None}


def test_a_server_elsewhere_has_no_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = ScriptedHouse(tmp_path)
    house.remote = "https://portico.example"

    assert run(house, ["demo", "--json"]) == 1

    assert json.loads(capsys.readouterr().err)["error"]["code"] == "demo_elsewhere"
