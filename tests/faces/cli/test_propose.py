"""Proposed edges at the command line: shown, accepted, written into the file."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.faces.cli.plan_edit import with_references
from portico.gateway.core.plan.texts import PlanFormat
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]


def an_edge(path: str, parameter: str, *, sure: bool, ambiguous: bool = False) -> dict[str, Any]:
    return {
        "edge": f"read.{path} -> write.{parameter}",
        "from_step": "read",
        "path": path,
        "to_step": "write",
        "parameter": parameter,
        "confidence": 0.93 if sure else 0.4,
        "reason": "same name, same type",
        "ambiguous": ambiguous,
        "sure": sure,
    }


SURE = an_edge("json.path", "path", sure=True)
UNSURE = an_edge('json."x-y"', "content", sure=False)
UNCLEAR = an_edge("json.a", "to", sure=False, ambiguous=True)
PROPOSED: dict[str, Any] = {
    "edges": [SURE, UNSURE, UNCLEAR],
    "missing": [{"step": "write", "parameter": "mode", "could_give": ["m.now", "m.old"]}],
    "plan": None,
}
PLAN = {"steps": [{"id": "read", "tool": "f.read"}, {"id": "write", "tool": "f.write"}]}
TOML = """# what it is for
[[steps]]
id = "read"  # the first
tool = "f.read"

[[steps]]
id = "write"
tool = "f.write"
"""


@contextmanager
def gateway(
    root: Path, proposed: dict[str, Any] = PROPOSED
) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    with answering({"POST /workflows/propose": proposed}) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    return file


def test_what_is_proposed_is_shown_with_how_sure_it_is(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    with gateway(tmp_path) as (house, server):
        assert run(house, ["plan", "propose", str(file)]) == 0

    shown = capsys.readouterr()
    assert server.asked == [("POST /workflows/propose", {"plan": PLAN})]
    assert shown.out.splitlines() == [
        "read.json.path -> write.path\t0.93\tsure\tsame name, same type",
        'read.json."x-y" -> write.content\t0.40\tunsure\tsame name, same type',
        "read.json.a -> write.to\t0.40\tambiguous\tsame name, same type",
    ]
    assert "write.mode: no step seems to give it. These might: m.now, m.old\n" in shown.err
    assert file.read_text() == json.dumps(PLAN)


def test_all_that_are_sure_are_written_and_no_other(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    with gateway(tmp_path) as (house, server):
        assert run(house, ["plan", "propose", str(file), "--accept", "all-sure", "--write"]) == 0

    written = json.loads(file.read_text())
    assert written["steps"][1]["arguments"] == {"path": {"$from": "read.json.path"}}
    assert server.asked[1][1]["accept"] == ["read.json.path -> write.path"]
    assert "accepted: read.json.path -> write.path" in capsys.readouterr().err


def test_without_write_the_plan_is_printed(tmp_path: Path, file: Path, capsys: Captured) -> None:
    with gateway(tmp_path) as (house, _):
        run(house, ["plan", "propose", str(file), "--accept", UNSURE["edge"]])

    printed = json.loads(capsys.readouterr().out)
    assert printed["steps"][1]["arguments"] == {"content": {"$from": 'read.json."x-y"'}}
    assert file.read_text() == json.dumps(PLAN)


def test_a_program_is_answered_in_json(tmp_path: Path, file: Path, capsys: Captured) -> None:
    with gateway(tmp_path) as (house, _):
        run(house, ["plan", "propose", str(file), "--json"])

    assert json.loads(capsys.readouterr().out) == PROPOSED


def test_a_plan_that_lacks_nothing_is_said_to(tmp_path: Path, file: Path, capsys: Captured) -> None:
    nothing: dict[str, Any] = {"edges": [], "missing": [], "plan": None}
    with gateway(tmp_path, nothing) as (house, _):
        run(house, ["plan", "propose", str(file), "--accept", "all-sure", "--write"])

    assert "Nothing that it has to be told is left out." in capsys.readouterr().err
    assert file.read_text() == json.dumps(PLAN)


def test_of_a_long_plan_it_is_said_what_was_not_looked_at(
    tmp_path: Path, file: Path, capsys: Captured
) -> None:
    some: dict[str, Any] = {"edges": [], "missing": [], "left_out": ["s7", "s8"], "plan": None}
    with gateway(tmp_path, some) as (house, _):
        run(house, ["plan", "propose", str(file)])

    said = capsys.readouterr().err
    assert "nothing was looked for for s7, s8." in said
    assert "left out" not in said


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--write"], "nothing to write"),
        (["--accept", "read.json.other -> write.path"], "is not proposed"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, file: Path, capsys: Captured, more: list[str], words: str
) -> None:
    with gateway(tmp_path) as (house, _):
        assert run(house, ["plan", "propose", str(file), *more]) == Exit.USAGE

    assert words in capsys.readouterr().err


def test_what_is_no_file_with_a_plan_is_refused(tmp_path: Path, capsys: Captured) -> None:
    with gateway(tmp_path) as (house, _):
        assert run(house, ["plan", "propose", "saved-one"]) == Exit.USAGE

    assert "no file with a plan" in capsys.readouterr().err


def test_a_plan_at_standard_input_has_no_file_to_be_written_to(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(PLAN)))
    with gateway(tmp_path) as (house, _):
        run(house, ["plan", "propose", "/dev/stdin", "--accept", "all-sure"])
        printed = json.loads(capsys.readouterr().out)
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(PLAN)))
        more = ["--accept", "all-sure", "--write"]
        assert run(house, ["plan", "propose", "/dev/stdin", *more]) == Exit.USAGE

    assert printed["steps"][1]["arguments"] == {"path": {"$from": "read.json.path"}}
    assert "no file to write to" in capsys.readouterr().err


def test_a_file_in_toml_keeps_its_comments() -> None:
    written = with_references(TOML, PlanFormat.TOML, [SURE, UNSURE])

    assert written == TOML + (
        "\n[steps.arguments]\n"
        'path = {"$from" = "read.json.path"}\n'
        'content = {"$from" = "read.json.\\"x-y\\""}\n'
    )


def test_steps_stand_apart_as_before() -> None:
    third = '\n[[steps]]\nid = "third"\ntool = "f.third"\n'

    assert with_references(TOML + third, PlanFormat.TOML, [SURE]) == (
        TOML + '\n[steps.arguments]\npath = {"$from" = "read.json.path"}\n' + third
    )


def test_arguments_that_are_there_stay() -> None:
    text = TOML + '[steps.arguments]\nmode = "new"  # mine\n'

    assert with_references(text, PlanFormat.TOML, [SURE]) == (
        text + 'path = {"$from" = "read.json.path"}\n'
    )
