"""`portico workflows`, against a server that says what it is told to."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.picture.reports import a_report, an_event
from tests.faces.cli.picture.scenes import NOON, RUN, at
from tests.faces.cli.screen import a_screen
from tests.faces.cli.scripted_server import ScriptedServer
from tests.faces.cli.test_approvals import sent, served
from tests.faces.cli.test_run_file import a_plan
from tests.faces.cli.workflow_answers import DONE, ENDED, FAILED, FAILURE, answers

Captured = pytest.CaptureFixture[str]

LINE = {
    "run": RUN,
    "name": "morning",
    "status": "done",
    "principal": "prn_1",
    "label": "team",
    "created_at": NOON.isoformat(),
    "started_at": NOON.isoformat(),
    "finished_at": at(2.4).isoformat(),
    "steps_over": 4,
    "steps_done": 3,
    "kind": "workflow",
    "steps": 4,
}
SAVED = {
    "name": "nightly",
    "tool": "workflows.nightly",
    "description": "Every night.",
    "effect": "local_read",
    "standing": "live",
    "steps": 2,
    "saved_by": "prn_1",
    "saved_at": NOON.isoformat(),
    "changed_at": NOON.isoformat(),
}


def told(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, some) as (house, server):
        return run(house, ["workflows", *arguments]), server


def test_the_latest_are_listed(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /workflows": {"data": [LINE, {**LINE, "steps": None}], "next": None}}

    assert told(tmp_path, some, "list", "--status", "done")[0] == 0

    first, second = capsys.readouterr().out.splitlines()
    assert first.split("\t")[:3] == [RUN, "morning", "done"]
    assert first.split("\t")[4:] == ["2.4 s", "3 of 4"]
    assert second.split("\t")[5] == "-"


def test_a_program_has_no_name_and_is_said_to_be_one(tmp_path: Path, capsys: Captured) -> None:
    program = LINE | {"name": None, "kind": "program"}

    told(tmp_path, {"GET /workflows": {"data": [program], "next": None}}, "list")

    assert capsys.readouterr().out.split("\t")[1] == "(a program)"


def test_if_there_are_none_it_is_said_how_to_run_one(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /workflows": {"data": [], "next": None}}, "list")

    assert "portico run plan.toml" in capsys.readouterr().err


def test_a_list_of_none_at_most_is_not_asked_for(tmp_path: Path) -> None:
    assert told(tmp_path, {}, "list", "--limit", "0")[0] == Exit.USAGE


def shown(**report: Any) -> dict[str, Any]:
    events = [an_event("step.done", 1, step="read", seconds=1.0)]
    page = {f"GET /runs/{RUN}/events": {"data": events, "next": None}}
    return answers(DONE, **ENDED | report) | page


def test_one_is_shown_as_a_picture_with_what_it_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = a_screen(monkeypatch)

    assert told(tmp_path, shown(), "show", RUN)[0] == 0

    text = screen.getvalue()
    assert "✓ read  server.read  ━" in text
    assert 'output   {"text": "hello"}' in text
    assert "error" not in text


def test_to_a_program_it_is_drawn_too_and_in_json_it_is_the_report(
    tmp_path: Path, capsys: Captured
) -> None:
    told(tmp_path, shown(), "show", RUN)
    assert "✓ read" in capsys.readouterr().out

    told(tmp_path, shown(), "show", RUN, "--json")
    assert json.loads(capsys.readouterr().out)["run"] == RUN


def test_one_that_ran_inline_has_no_events(tmp_path: Path, capsys: Captured) -> None:
    found = shown(mode="inline")
    del found[f"GET /runs/{RUN}/events"]

    assert told(tmp_path, found, "show", RUN)[0] == 0
    assert "✓ read" in capsys.readouterr().out


def test_why_it_failed_is_said_once(tmp_path: Path, capsys: Captured) -> None:
    failed = answers(FAILED, status="failed", error=FAILURE, finished_at=at(1))
    page: dict[str, Any] = {f"GET /runs/{RUN}/events": {"data": [], "next": None}}

    told(tmp_path, failed | page, "show", RUN)
    assert capsys.readouterr().out.count("no such file") == 1

    elsewhere = answers(DONE, status="failed", error=FAILURE | {"step": None}, finished_at=at(1))
    told(tmp_path, elsewhere | page, "show", RUN)
    assert "error\ttool_failed: no such file" in capsys.readouterr().out


def test_it_can_be_watched_to_its_end(tmp_path: Path, capsys: Captured) -> None:
    assert told(tmp_path, answers(), "watch", "0aaaaa")[0] == 0

    assert json.loads(capsys.readouterr().out) == {"text": "hello"}


@pytest.mark.parametrize("verb", ["cancel", "resume"])
def test_one_can_step_in(tmp_path: Path, capsys: Captured, verb: str) -> None:
    some = {f"POST /workflows/{RUN}/{verb}": a_report(status="cancelled")}

    assert told(tmp_path, some, verb, RUN)[0] == 0

    assert capsys.readouterr().out == f"{RUN} is cancelled.\n"


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["--from", "read"], {"step": "read", "arguments": {}}),
        (["--set", "read.path=b"], {"arguments": {"read": {"path": "b"}}}),
        (
            ["--from", "x", "--set", "read.n=1"],
            {"step": "x", "arguments": {"read": {"n": 1}}},
        ),
    ],
)
def test_one_can_be_forked(
    tmp_path: Path, capsys: Captured, arguments: list[str], body: dict[str, Any]
) -> None:
    some = {f"POST /workflows/{RUN}/fork": a_report(run="run_new000")}

    code, server = told(tmp_path, some, "fork", RUN, *arguments)

    assert code == 0
    assert sent(server) == [body]
    said = capsys.readouterr()
    assert said.out == "run_new000\n"
    assert "portico run --attach new000" in said.err


def test_a_fork_says_what_is_done_anew(tmp_path: Path) -> None:
    assert told(tmp_path, {}, "fork", RUN)[0] == Exit.USAGE


def test_somebody_says_what_became_of_a_step(tmp_path: Path, capsys: Captured) -> None:
    some = {f"POST /workflows/{RUN}/resolve": a_report(status="running")}

    code, server = told(tmp_path, some, "resolve", RUN, "pay[3]", "retry")

    assert code == 0
    assert sent(server) == [{"step": "pay[3]", "outcome": "retry"}]
    assert capsys.readouterr().out == f"{RUN} is running.\n"


def test_anything_but_done_retry_and_skip_is_refused(tmp_path: Path) -> None:
    code, server = told(tmp_path, {}, "resolve", RUN, "pay", "perhaps")

    assert code == Exit.USAGE
    assert server.asked == []


def test_a_plan_is_saved(tmp_path: Path, capsys: Captured) -> None:
    some = {"PUT /saved-workflows/nightly": SAVED}
    file = a_plan(tmp_path)

    code, server = told(tmp_path, some, "save", "nightly", file, "--description", "Every night.")

    assert code == 0
    [(_, body)] = server.asked
    assert body["description"] == "Every night."
    assert body["plan"]["name"] == "morning"
    assert capsys.readouterr().out == "workflows.nightly\n"


def test_a_program_is_not_saved(tmp_path: Path) -> None:
    code, server = told(tmp_path, {}, "save", "nightly", a_plan(tmp_path, "p.py", "1"))

    assert code == Exit.USAGE
    assert server.asked == []


def test_what_is_saved_is_listed(tmp_path: Path, capsys: Captured) -> None:
    told(tmp_path, {"GET /saved-workflows": {"data": [SAVED], "next": None}}, "saved")
    assert capsys.readouterr().out.startswith("nightly\tlocal_read\tlive\t2\t")

    told(tmp_path, {"GET /saved-workflows": {"data": [], "next": None}}, "saved")
    assert "portico workflows save" in capsys.readouterr().err


def test_one_that_is_saved_is_shown(tmp_path: Path, capsys: Captured) -> None:
    some = {"GET /saved-workflows/nightly": {**SAVED, "plan": {"steps": []}}}

    told(tmp_path, some, "saved", "nightly")
    said = capsys.readouterr().out
    assert said.startswith("name\tnightly\n")
    assert said.endswith('{\n  "steps": []\n}\n')

    told(tmp_path, some, "saved", "nightly", "--json")
    assert json.loads(capsys.readouterr().out)["plan"] == {"steps": []}


def test_one_that_is_saved_is_removed_after_a_yes(tmp_path: Path, capsys: Captured) -> None:
    some: dict[str, Any] = {"DELETE /saved-workflows/nightly": {}}

    code, server = told(tmp_path, some, "remove", "nightly")
    assert code == Exit.APPROVAL
    assert server.asked == []

    code, server = told(tmp_path, some, "remove", "nightly", "--yes")
    assert code == 0
    assert server.asked == [("DELETE /saved-workflows/nightly", None)]
    assert "nightly is gone." in capsys.readouterr().out
