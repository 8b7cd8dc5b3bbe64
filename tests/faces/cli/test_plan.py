"""Plans in files at the command line: checked with a server or without, described, converted."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.gateway.core.plan.schema import plan_schema
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]

TOML = """\
# What it is for
[[steps]]
id = "read"
tool = "files.read"

[[steps]]
id = "send"
tool = "mail.send"
arguments.text = { "$from" = "read.text" }
"""
CHECKED: dict[str, Any] = {
    "ok": True,
    "flaws": [],
    "name": None,
    "effect": "external_write",
    "order": ["read", "send"],
    "critical_path": ["read", "send"],
    "steps": [
        {"id": "read", "tool": "files.read", "effect": "local_read", "needs": [], "approval": None},
        {
            "id": "send",
            "tool": "mail.send",
            "effect": "external_write",
            "needs": ["read"],
            "approval": {"rule": "no-mail", "reason": "a rule wants somebody to be asked"},
        },
    ],
}
NO_TOOL: dict[str, Any] = {
    **CHECKED,
    "ok": False,
    "steps": [],
    "flaws": [{"place": "/steps/1/tool", "what": "There is no tool 'mail.send'.", "fix": "Look."}],
}


@contextmanager
def gateway(root: Path, checked: dict[str, Any]) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    with answering({"POST /workflows/check": checked}) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(TOML)
    return file


def test_a_plan_is_held_against_the_tools_there_are(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    with gateway(tmp_path, CHECKED) as (house, server):
        assert run(house, ["plan", "check", str(file)]) == 0

    shown = capsys.readouterr()
    assert server.asked == [("POST /workflows/check", {"plan": tomllib.loads(TOML)})]
    assert "send\tmail.send\texternal_write\ta rule wants somebody to be asked" in shown.out
    assert "At worst: external_write" in shown.err


def test_what_the_server_finds_wrong_has_its_line(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    with gateway(tmp_path, NO_TOOL) as (house, _):
        assert run(house, ["plan", "check", str(file)]) == Exit.USAGE

    told = " ".join(capsys.readouterr().err.split())
    assert f"{file}:8:1: /steps/1/tool There is no tool 'mail.send'. Look." in told


def test_a_fault_of_form_is_found_before_the_server_is_asked(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    file.write_text(TOML.replace("read.text", "reed.text"))

    with gateway(tmp_path, CHECKED) as (house, server):
        assert run(house, ["plan", "check", str(file)]) == Exit.USAGE

    told = " ".join(capsys.readouterr().err.split())
    assert f"{file}:9:20: /steps/1/arguments/text/$from There is no step 'reed'." in told
    assert "Did you mean 'read'?" in told
    assert server.asked == []


def test_without_a_server_it_says_that_only_the_form_was_checked(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    house = ScriptedHouse(tmp_path)
    house.whereabouts().key_file.write_text("ptc_mine")

    assert run(house, ["plan", "check", str(file)]) == 0
    shown = capsys.readouterr()
    assert run(house, ["plan", "check", str(file), "--json"]) == 0

    assert "The form of its 2 steps is right." in shown.out
    assert "Only its form was checked" in shown.err
    assert "portico up" in shown.err
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "checked_tools": False,
        "steps": ["read", "send"],
    }


def test_a_program_is_told_all_in_json(tmp_path: Path, file: Path, capsys: Captured) -> None:
    with gateway(tmp_path, CHECKED) as (house, _):
        run(house, ["plan", "check", str(file), "--json"])

    assert json.loads(capsys.readouterr().out) == {**CHECKED, "checked_tools": True}


def test_what_is_no_plan_is_said_to_be_none(tmp_path: Path, capsys: Captured) -> None:
    program = tmp_path / "program.py"
    program.write_text("1")

    assert run(ScriptedHouse(tmp_path), ["plan", "check", str(program)]) == Exit.USAGE

    assert "is no file with a plan" in " ".join(capsys.readouterr().err.split())


def test_the_schema_is_printed_for_editors(tmp_path: Path, capsys: Captured) -> None:
    assert run(ScriptedHouse(tmp_path), ["plan", "schema"]) == 0

    assert json.loads(capsys.readouterr().out) == plan_schema()


def test_a_plan_is_written_in_the_other_language(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    house = ScriptedHouse(tmp_path)

    assert run(house, ["plan", "convert", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == tomllib.loads(TOML)

    assert run(house, ["plan", "convert", str(file), "--to", "toml"]) == 0
    assert tomllib.loads(capsys.readouterr().out) == tomllib.loads(TOML)


def test_a_file_is_not_overwritten_unless_that_is_said(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    house, target = ScriptedHouse(tmp_path), tmp_path / "plan.json"
    asked = ["plan", "convert", str(file), "--output", str(target)]

    assert run(house, asked) == 0
    first = json.loads(target.read_text())
    target.write_text("mine")
    assert run(house, asked) == Exit.FAILED
    assert target.read_text() == "mine"
    assert run(house, [*asked, "--replace"]) == 0

    assert json.loads(target.read_text()) == first == tomllib.loads(TOML)
    assert "is written" in capsys.readouterr().err
