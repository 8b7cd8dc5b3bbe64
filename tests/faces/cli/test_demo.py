"""What `portico demo` refuses, and how it takes what stands behind it."""

import json
import sys
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.demo_naming import named_as_in_the_demo
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import a_screen


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


def test_help_of_what_is_run_in_it_is_that_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ScriptedHouse(tmp_path), ["demo", "search", "--help"]) == 0
    assert "Usage: portico search" in capsys.readouterr().out
    assert run(ScriptedHouse(tmp_path), ["demo", "--help"]) == 0
    assert "Usage: portico demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Look: portico approvals show c522hv", "Look: portico demo approvals show c522hv"),
        ("portico ui", "portico demo ui"),
        ("portico demo ui", "portico demo ui"),
        ("portico config set x 1", "portico config set x 1"),
        ("portico up, then portico search", "portico up, then portico demo search"),
        ("in my-portico approvals and portico.toml", "in my-portico approvals and portico.toml"),
    ],
)
def test_a_person_reads_commands_as_they_are_called_in_it(
    said: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    with named_as_in_the_demo():
        print(said)
        print(said, file=sys.stderr)
    print(said)

    assert screen.getvalue().splitlines() == [named, named, said]


def test_a_program_reads_them_as_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with named_as_in_the_demo():
        print("portico ui")

    assert capsys.readouterr().out == "portico ui\n"
