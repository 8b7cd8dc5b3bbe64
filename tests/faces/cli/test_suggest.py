"""`portico plan "INTENT"`, `portico run --suggestion`, `portico feedback`."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.test_approvals import sent, served
from tests.faces.cli.workflow_answers import answers

Captured = pytest.CaptureFixture[str]
SUGGESTION = "sug_01kdvvcrwje0082883vd3msh9e"
INTENT = "copy the note /a.md"
MADE: dict[str, Any] = {
    "suggestion": SUGGESTION,
    "mode": "ran_ahead",
    "confidence": 0.934,
    "threshold": 0.92,
    "rationale": "2 steps, as in a past plan.",
    "plan": {
        "inputs": {"write_to": {"type": "string"}},
        "required": ["write_to"],
        "steps": [
            {"id": "read", "tool": "files.read", "arguments": {"path": "/a.md"}},
            {
                "id": "write",
                "tool": "files.write",
                "arguments": {
                    "text": {"$from": "read.text"},
                    "to": {"$from": "inputs.write_to"},
                },
            },
        ],
    },
    "steps": [
        {
            "id": "read",
            "tool": "files.read",
            "effect": "local_read",
            "confidence": 0.99,
            "why": "found for the intent",
            "arguments": {"path": {"from": "intent", "what": "/a.md"}},
        },
        {
            "id": "write",
            "tool": "files.write",
            "effect": "local_write",
            "confidence": 0.9,
            "why": "in near past plans",
            "arguments": {"text": {"from": "step", "what": "read.text"}},
        },
    ],
    "paths": [{"hops": [], "direct": True, "words": "files.write needs files.read directly"}],
    "alternatives": [{"step": "read", "tool": "files.peek", "why": "for the same"}],
    "missing": [
        {"step": "write", "parameter": "to", "input": "write_to", "could_give": ["files.list"]}
    ],
    "staged": ["write"],
    "ran_ahead": ["read"],
    "expires_at": "2026-01-01T05:00:00+00:00",
}
NONE = MADE | {
    "suggestion": None,
    "mode": "explicit_required",
    "confidence": 0.01,
    "plan": None,
    "steps": [],
    "paths": [],
    "alternatives": [],
    "missing": [],
    "staged": [],
    "ran_ahead": [],
    "expires_at": None,
}


def planned(root: Path, *arguments: str, made: dict[str, Any] = MADE) -> tuple[int, list[Any]]:
    with served(root, {"POST /suggestions": made}) as (house, server):
        return run(house, ["plan", *arguments]), sent(server)


def test_a_plan_is_shown_with_where_everything_comes_from(tmp_path: Path, capsys: Captured) -> None:
    code, bodies = planned(tmp_path, INTENT)

    said = capsys.readouterr()
    assert (code, bodies) == (0, [{"intent": INTENT}])
    assert said.out.splitlines() == [
        "read\tfiles.read\tlocal_read\t0.99\tpath from intent: /a.md",
        "write\tfiles.write\tlocal_write\t0.90\t"
        "text from read.text; to is missing: --input write_to=…",
    ]
    assert said.err.splitlines() == [
        "Being read already: read.",
        "Done only when you run it: write.",
        "write_to could come from files.list.",
        f"To run it: portico run --suggestion {SUGGESTION} --input write_to=…",
    ]


def test_why_says_what_leads_to_what_and_what_could_be_instead(
    tmp_path: Path, capsys: Captured
) -> None:
    planned(tmp_path, INTENT, "--why")

    told = capsys.readouterr().out
    assert "Why: 2 steps, as in a past plan." in told
    assert "read: found for the intent" in told
    assert "files.write needs files.read directly" in told
    assert "instead of read: files.peek (for the same)" in told
    assert "It is 0.93 sure; from 0.92 on its first reads are made ahead." in told


def test_where_it_is_sure_and_nothing_may_be_read_ahead_it_says_where_to_look(
    tmp_path: Path, capsys: Captured
) -> None:
    planned(tmp_path, INTENT, "--why", made=MADE | {"ran_ahead": []})

    assert "none may be: portico ahead show" in capsys.readouterr().out


def test_a_program_gets_all_of_it(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, {"POST /suggestions": MADE}) as (house, _):
        run(house, ["--json", "plan", INTENT, "--why"])

    said = capsys.readouterr()
    assert json.loads(said.out) == MADE
    assert said.err == ""


@pytest.mark.parametrize("name", ["copy.toml", "copy.json"])
def test_it_is_written_into_a_file_to_be_changed(
    tmp_path: Path, capsys: Captured, name: str
) -> None:
    file = tmp_path / name

    code, _ = planned(tmp_path, INTENT, "--write", str(file))

    assert code == 0
    assert "files.write" in file.read_text()
    assert f"{file} is written." in capsys.readouterr().err


def test_a_file_that_is_there_is_left_alone_unless_somebody_says_so(tmp_path: Path) -> None:
    file = tmp_path / "copy.toml"
    file.write_text("mine")

    refused, bodies = planned(tmp_path, INTENT, "--write", str(file))
    assert (refused, bodies, file.read_text()) == (Exit.FAILED, [], "mine")

    planned(tmp_path, INTENT, "--write", str(file), "--replace")
    assert file.read_text() != "mine"


def test_a_plan_is_written_in_a_language_of_plans(tmp_path: Path) -> None:
    assert planned(tmp_path, INTENT, "--write", str(tmp_path / "a.yaml"))[0] == Exit.USAGE


def test_where_there_is_none_it_says_how_to_go_on(tmp_path: Path, capsys: Captured) -> None:
    code, _ = planned(tmp_path, "book a table", made=NONE)

    said = capsys.readouterr()
    assert (code, said.out) == (0, "No plan is sure enough (0.01).\n")
    assert "portico search" in said.err


@pytest.mark.parametrize("slip", ["chek", "shema", "proposal"])
def test_a_slip_in_a_command_is_no_intent(tmp_path: Path, capsys: Captured, slip: str) -> None:
    code, bodies = planned(tmp_path, slip)

    assert (code, bodies) == (Exit.USAGE, [])
    assert "Did you mean" in capsys.readouterr().err


def test_of_no_words_nothing_can_be_suggested(tmp_path: Path, capsys: Captured) -> None:
    code, bodies = planned(tmp_path, " ")

    assert (code, bodies) == (Exit.USAGE, [])
    assert "It is not said what you want." in capsys.readouterr().err


def test_without_an_intent_it_says_what_can_be_done(tmp_path: Path, capsys: Captured) -> None:
    code, bodies = planned(tmp_path)

    assert (code, bodies) == (0, [])
    said = capsys.readouterr().out
    assert said.startswith('Usage: portico plan "INTENT"')
    assert "propose" in said


def test_one_that_lacks_nothing_is_run_by_its_id_alone(tmp_path: Path, capsys: Captured) -> None:
    planned(tmp_path, INTENT, made=MADE | {"missing": [], "ran_ahead": [], "staged": []})

    assert capsys.readouterr().err == f"To run it: portico run --suggestion {SUGGESTION}\n"


def test_a_suggestion_is_run_with_what_it_lacked(tmp_path: Path) -> None:
    with served(tmp_path, answers()) as (house, server):
        code = run(house, ["run", "--suggestion", SUGGESTION, "--input", "write_to=/b"])

    assert code == 0
    assert sent(server) == [{"suggestion": SUGGESTION, "inputs": {"write_to": "/b"}}]


@pytest.mark.parametrize(
    "arguments",
    [["plan.toml"], ["--attach", "run_1"], ["--dry-run"], ["--set", "read.path=1"]],
)
def test_a_suggestion_is_run_as_it_is_and_alone(tmp_path: Path, arguments: list[str]) -> None:
    with served(tmp_path, answers()) as (house, server):
        code = run(house, ["run", "--suggestion", SUGGESTION, *arguments])

    assert (code, sent(server)) == (Exit.USAGE, [])


def test_it_is_said_what_a_plan_is_for(tmp_path: Path) -> None:
    file = tmp_path / "copy.json"
    file.write_text(json.dumps(MADE["plan"]))
    with served(tmp_path, answers()) as (house, server):
        code = run(house, ["run", str(file), "--intent", INTENT])

    assert code == 0
    assert sent(server) == [{"plan": MADE["plan"], "inputs": {}, "intent": INTENT}]


def test_of_what_is_no_plan_in_a_file_it_is_not_said(tmp_path: Path) -> None:
    with served(tmp_path, answers()) as (house, server):
        code = run(house, ["run", "nightly", "--intent", INTENT])

    assert (code, sent(server)) == (Exit.USAGE, [])


@pytest.mark.requirement("seed001:13")
def test_what_it_was_worth_is_said(tmp_path: Path, capsys: Captured) -> None:
    noted = {"suggestion": SUGGESTION, "run": None, "outcome": "rejected"}
    with served(tmp_path, {"POST /feedback": noted}) as (house, server):
        code = run(house, ["feedback", SUGGESTION, "rejected"])

    assert code == 0
    assert sent(server) == [{"run": SUGGESTION, "outcome": "rejected"}]
    assert capsys.readouterr().out == f"{SUGGESTION} is noted as rejected.\n"
