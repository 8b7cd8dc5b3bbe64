"""`portico run`, against a server that says what it is told to."""

import io
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.kernel.json import JsonObject
from tests.faces.cli.picture.reports import a_told_step, an_event
from tests.faces.cli.picture.scenes import NOON, RUN, at
from tests.faces.cli.screen import a_screen
from tests.faces.cli.scripted_server import ScriptedServer, Streamed
from tests.faces.cli.test_approvals import sent, served
from tests.faces.cli.workflow_answers import ASKED, ENDED, FAILED, FAILURE, PLAN, answers, told

Captured = pytest.CaptureFixture[str]


def a_plan(root: Path, name: str = "plan.toml", text: str = PLAN) -> str:
    file = root / name
    file.write_text(text)
    return str(file)


def ran(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, some) as (house, server):
        return run(house, ["run", *arguments]), server


def test_a_plan_is_sent_and_what_it_gives_is_printed(tmp_path: Path, capsys: Captured) -> None:
    code, server = ran(tmp_path, answers(), a_plan(tmp_path))

    assert code == 0
    [body] = sent(server)
    assert body["plan"]["steps"] == [
        {"id": "read", "tool": "files.read", "arguments": {"path": "a.txt"}}
    ]
    said = capsys.readouterr()
    assert json.loads(said.out) == {"text": "hello"}
    assert said.err == "✓ read  server.read  1.0 s\n"


def test_a_text_is_printed_as_it_is(tmp_path: Path, capsys: Captured) -> None:
    ran(tmp_path, answers(**ENDED | {"output": "two\nlines"}), a_plan(tmp_path))

    assert capsys.readouterr().out == "two\nlines\n"


def test_what_is_long_is_fetched_page_by_page(tmp_path: Path, capsys: Captured) -> None:
    pages = {
        "GET /results/res_1?page=1": {"text": "one ", "pages": 2},
        "GET /results/res_1?page=2": {"text": "two", "pages": 2},
    }
    long = {"output": None, "output_handle": "res_1"}

    ran(tmp_path, answers(**ENDED | long) | pages, a_plan(tmp_path))

    assert capsys.readouterr().out == "one two\n"


def test_a_program_is_sent_and_what_it_printed_is_shown(tmp_path: Path, capsys: Captured) -> None:
    file = a_plan(tmp_path, "p.py", "print('hi')")
    found = answers(**ENDED | {"kind": "program", "printed": "hi\n", "output": 42})

    code, server = ran(tmp_path, found, file, "--input", "who=ana", "--input", '{"n": 3}')

    assert code == 0
    assert sent(server) == [{"inputs": {"who": "ana", "n": 3}, "code": "print('hi')"}]
    assert capsys.readouterr().out == "hi\n42\n"


def test_a_saved_workflow_goes_by_its_name(tmp_path: Path) -> None:
    _, server = ran(tmp_path, answers(), "nightly", "--mode", "inline", "--label", "team")

    assert sent(server) == [{"name": "nightly", "inputs": {}, "mode": "inline", "label": "team"}]


def test_proposed_edges_can_be_accepted(tmp_path: Path) -> None:
    edge = "read.json.path -> write.path"

    _, server = ran(tmp_path, answers(), "nightly", "--accept", edge)

    assert sent(server) == [{"name": "nightly", "inputs": {}, "accept": [edge]}]


def test_arguments_of_steps_can_be_set(tmp_path: Path) -> None:
    sets = ["--set", "read.path=b.txt", "--set", "read.lines=[1, 2]"]

    _, server = ran(tmp_path, answers(), a_plan(tmp_path), *sets)

    [body] = sent(server)
    assert body["plan"]["steps"][0]["arguments"] == {"path": "b.txt", "lines": [1, 2]}


def test_those_of_a_saved_workflow_too(tmp_path: Path) -> None:
    plan = {"steps": [{"id": "read", "tool": "files.read"}]}
    some = answers() | {"GET /saved-workflows/nightly": {"plan": plan}}

    _, server = ran(tmp_path, some, "nightly", "--set", "read.path=b.txt")

    [body] = sent(server)
    assert body["plan"]["steps"][0]["arguments"] == {"path": "b.txt"}


@pytest.mark.parametrize("file", ["-", "/dev/stdin"])
@pytest.mark.parametrize("text", ['\n{"steps": []}', "steps = []\n"])
def test_a_plan_may_come_at_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, file: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    _, server = ran(tmp_path, answers(), file)

    assert sent(server) == [{"plan": {"steps": []}, "inputs": {}}]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["plan.toml", "--set", "raed.path=1"], "Did you mean read?"),
        (["plan.toml", "--set", "zzz.path=1"], "It has: read"),
        (["plan.toml", "--set", "read=1"], "is not STEP.ARGUMENT"),
        (["plan.toml", "--set", "read"], "is not NAME=VALUE"),
        (["plan.toml", "--input", "{"], "is not JSON"),
        (["plan.toml", "--input", "@list.json"], "is not a JSON object"),
        (["p.py", "--set", "read.path=1"], "has no steps to set"),
        (["p.py", "--dry-run"], "shows only when it runs"),
        (["p.py", "--accept", "a -> b"], "has no edges to accept"),
        (["broken.toml"], "broken.toml: the plan: It is not TOML"),
        (["list.json"], "it is not an object"),
        (["notes.md"], "neither a plan nor a program"),
        (["--wacht", "plan.toml"], "Unknown option"),
        ([], "Say one thing to run"),
        (["plan.toml", "--attach", RUN], "Say one thing to run"),
    ],
)
def test_what_is_not_said_right_is_not_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    arguments: list[str],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    a_plan(tmp_path)
    a_plan(tmp_path, "p.py", "1")
    a_plan(tmp_path, "broken.toml", "steps = [")
    a_plan(tmp_path, "list.json", "[1]")

    code, server = ran(tmp_path, answers(), *arguments)

    assert code == Exit.USAGE
    assert why in capsys.readouterr().err
    assert sent(server) == []


def test_inputs_may_come_from_a_file(tmp_path: Path) -> None:
    inputs = a_plan(tmp_path, "inputs.json", '{"n": 3}')

    _, server = ran(tmp_path, answers(), a_plan(tmp_path), "--input", f"@{inputs}")

    assert sent(server)[0]["inputs"] == {"n": 3}


def test_what_a_program_raised_itself_is_not_taken_up_again(
    tmp_path: Path, capsys: Captured
) -> None:
    error = FAILURE | {"code": "program_failed"}
    found = answers(FAILED, status="failed", error=error, finished_at=at(1))

    ran(tmp_path, found, a_plan(tmp_path))

    said = capsys.readouterr().err
    assert "portico workflows show 0aaaaa" in said
    assert "resume" not in said


def test_a_failed_one_says_why_and_where(tmp_path: Path, capsys: Captured) -> None:
    found = answers(FAILED, status="failed", error=FAILURE, finished_at=at(1))

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    assert code == Exit.FAILED
    said = capsys.readouterr()
    assert "✗ read  server.read  1.0 s\n  tool_failed: no such file" in said.err
    assert "It failed at read: tool_failed: no such file" in said.err
    assert "portico workflows resume 0aaaaa" in said.err
    assert said.out == ""


KEPT = "res_01m7gajk0pf4vt6r4rp7exmh1r"


def a_failure(root: Path, text: str) -> ScriptedServer:
    """Of a tool whose own words are kept apart."""
    error = FAILURE | {"message": f"files.read says that it failed; its words: {KEPT}."}
    found = answers({**FAILED, "error": error}, status="failed", error=error, finished_at=at(1))
    found[f"GET /results/{KEPT}"] = {"text": text, "pages": 1}
    return ran(root, found, a_plan(root))[1]


def test_what_the_tool_itself_said_is_fetched_once(tmp_path: Path, capsys: Captured) -> None:
    server = a_failure(tmp_path, json.dumps({"text": "disk full " * 100}))

    said = capsys.readouterr().err
    assert "  tool_failed: disk full disk full" in said
    assert "It failed at read: tool_failed: disk full" in said
    assert max(map(len, said.splitlines())) < 600
    assert sum(asked == f"GET /results/{KEPT}" for asked, _ in server.asked) == 1


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_what_cannot_be_read_is_left_as_it_was(tmp_path: Path, capsys: Captured, text: str) -> None:
    a_failure(tmp_path, text)

    assert "says that it failed" in capsys.readouterr().err


def test_one_to_which_somebody_said_no_ends_as_such(tmp_path: Path, capsys: Captured) -> None:
    error = FAILURE | {"code": "approval_rejected", "message": "ana said no"}
    found = answers(FAILED, status="failed", error=error, finished_at=at(1))

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    assert code == Exit.APPROVAL
    assert "Somebody said no" in capsys.readouterr().err


def test_of_one_that_was_done_in_part_it_is_said_what_is_missing(
    tmp_path: Path, capsys: Captured
) -> None:
    left = [a_told_step(f"s{i}", state="skipped", why="read failed") for i in range(5)]
    found = answers(FAILED, *left, **ENDED | {"status": "partial"})

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    said = capsys.readouterr()
    assert code == Exit.PARTIAL
    assert json.loads(said.out) == {"text": "hello"}
    assert "Done but for 6 of 6: read failed, s0 was skipped, s1 was skipped" in said.err
    assert "- s0  server.s0  (read failed)" in said.err


def test_one_that_waits_for_somebody_is_left_waiting(tmp_path: Path, capsys: Captured) -> None:
    waits = a_told_step("read", state="waiting", approval=ASKED, started_at=NOON)
    unsure = a_told_step("pay", state="uncertain", started_at=NOON)
    found = answers(waits, unsure, status="waiting")
    events = told(an_event("workflow.step_waiting", 1, step="read", approval=ASKED), over=False)
    found[f"GET /runs/{RUN}/events"] = Streamed([events] * 50)

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    said = capsys.readouterr().err
    assert code == Exit.APPROVAL
    assert f"It waits for approval of {ASKED}, what became of pay" in said
    assert "portico run --attach 0aaaaa --wait" in said


def test_with_wait_it_is_waited_for(tmp_path: Path, capsys: Captured) -> None:
    waits = a_told_step("read", state="waiting", approval=ASKED, started_at=NOON)
    found = answers(waits, status="waiting")
    found[f"GET /runs/{RUN}/events"] = Streamed([told(over=False), told()])

    ran(tmp_path, found, a_plan(tmp_path), "--wait")

    assert "waits for approval: portico approvals show psvgnn" in capsys.readouterr().err


def test_it_can_be_started_and_left(tmp_path: Path, capsys: Captured) -> None:
    code, _ = ran(tmp_path, answers(), a_plan(tmp_path), "--detach")

    said = capsys.readouterr()
    assert code == 0
    assert said.out == f"{RUN}\n"
    assert said.err == "To look on: portico run --attach 0aaaaa\n"


def test_one_can_come_back_to_it(tmp_path: Path, capsys: Captured) -> None:
    code, server = ran(tmp_path, answers(), "--attach", "0aaaaa")

    assert code == 0
    assert sent(server) == []
    assert json.loads(capsys.readouterr().out) == {"text": "hello"}


def test_a_program_can_be_come_back_to_though_it_is_no_workflow(tmp_path: Path) -> None:
    some = {
        "GET /workflows": {"data": [], "next": None},
        "GET /runs": {"data": [{"id": RUN}], "next": None},
    }

    code, _ = ran(tmp_path, answers() | some, "--attach", "0aaaaa")

    assert code == 0


def test_in_json_it_is_the_report(tmp_path: Path, capsys: Captured) -> None:
    ran(tmp_path, answers(), a_plan(tmp_path), "--json")

    said = capsys.readouterr()
    assert json.loads(said.out)["status"] == "done"
    assert said.err == ""


def test_with_watch_in_json_every_event_comes_first(tmp_path: Path, capsys: Captured) -> None:
    ran(tmp_path, answers(), a_plan(tmp_path), "--json", "--watch")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("type") for line in lines] == ["run.started", "step.done", "run.done", None]
    assert lines[-1]["run"] == RUN


def test_what_runs_inline_is_asked_for_until_it_is_over(tmp_path: Path, capsys: Captured) -> None:
    found = answers(**ENDED | {"mode": "inline"})
    del found[f"GET /runs/{RUN}/events"]

    code, server = ran(tmp_path, found, a_plan(tmp_path))

    assert code == 0
    assert f"GET /runs/{RUN}/events" not in [asked for asked, _ in server.asked]
    assert "✓ read" in capsys.readouterr().err


def test_a_server_that_goes_away_is_waited_for(tmp_path: Path, capsys: Captured) -> None:
    found = answers()
    found[f"GET /runs/{RUN}/events"] = Streamed(
        [told(an_event("run.started", 0), over=False), told(an_event("run.done", 1))]
    )

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    assert code == 0
    assert "The server has gone" in capsys.readouterr().err


def test_ctrl_c_leaves_it_running(tmp_path: Path, capsys: Captured) -> None:
    found = answers(a_told_step("read", state="running"), status="running")
    over = threading.Event()
    story = told(an_event("run.started", 0), over=False)
    found[f"GET /runs/{RUN}/events"] = Streamed([story], open_until=over)
    with served(tmp_path, found) as (house, server):

        def interrupt() -> None:
            while server.asked.count((f"GET /workflows/{RUN}", None)) < 2 and not over.wait(0.01):
                pass  # it is being followed once the report was asked for again
            os.kill(os.getpid(), signal.SIGINT)
            over.set()

        thread = threading.Thread(target=interrupt)
        thread.start()
        code = run(house, ["run", a_plan(tmp_path)])
        over.set()
        thread.join()

    assert code == Exit.INTERRUPTED
    assert "To come back: portico run --attach 0aaaaa" in capsys.readouterr().err


def test_what_the_server_refuses_for_good_is_told(tmp_path: Path, capsys: Captured) -> None:
    found = answers()
    del found[f"GET /runs/{RUN}/events"]

    code, _ = ran(tmp_path, found, a_plan(tmp_path))

    assert code == Exit.FAILED
    assert "unknown" in capsys.readouterr().err


CHECKED: JsonObject = {
    "ok": True,
    "flaws": [],
    "name": "morning",
    "effect": "external_write",
    "order": ["a", "b", "c"],
    "critical_path": ["a", "c"],
    "steps": [
        {"id": "a", "tool": "x.a", "effect": "local_read", "needs": [], "approval": None},
        {"id": "b", "tool": "x.b", "effect": "local_read", "needs": [], "approval": None},
        {
            "id": "c",
            "tool": "x.c",
            "effect": "external_write",
            "needs": ["a", "b"],
            "approval": {"rule": "default", "reason": "it writes"},
        },
    ],
}


def test_a_dry_run_says_what_would_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = a_screen(monkeypatch)

    code, server = ran(tmp_path, {"POST /workflows/check": CHECKED}, a_plan(tmp_path), "--dry-run")

    assert code == 0
    assert sent(server)[0]["plan"]["name"] == "morning"
    text = screen.getvalue()
    assert "├ a   x.a   local_read      -" in text
    assert "c     x.c   external_write  it writes (default)" in text
    assert "3 steps, up to 2 at once; nothing was done." in text
    assert "One after the other at least: a → c" in text
    assert "At worst: external_write" in text
    assert "Would ask somebody: c" in text


def test_a_dry_run_of_a_saved_one_for_a_program(tmp_path: Path, capsys: Captured) -> None:
    some = {
        "POST /workflows/check": CHECKED,
        "GET /saved-workflows/nightly": {"plan": {"steps": []}},
    }

    code, _ = ran(tmp_path, some, "nightly", "--dry-run", "--json")

    assert code == 0
    assert json.loads(capsys.readouterr().out) == CHECKED


BAD = {
    **CHECKED,
    "ok": False,
    "steps": [],
    "flaws": [
        {"place": "/steps/0/tool", "what": "There is no such tool.", "fix": "Did you mean b?"},
        {"place": "/steps/0/when", "what": "It cannot be read.", "fix": None},
    ],
}


def test_a_dry_run_of_a_bad_plan_names_every_fault_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    a_plan(tmp_path)

    code, _ = ran(tmp_path, {"POST /workflows/check": BAD}, "plan.toml", "--dry-run")

    said = capsys.readouterr().err
    assert code == Exit.USAGE
    assert "plan.toml:4:1: /steps/0/when It cannot be read." in said
    assert "plan.toml:6:1: /steps/0/tool There is no such tool. Did you mean b?" in said


def test_those_of_a_saved_one_have_no_lines(tmp_path: Path, capsys: Captured) -> None:
    some = {"POST /workflows/check": BAD, "GET /saved-workflows/nightly": {"plan": {}}}

    ran(tmp_path, some, "nightly", "--dry-run")

    assert "\n  /steps/0/tool: There is no such tool." in capsys.readouterr().err


def test_a_report_is_not_asked_for_more_often_than_it_can_be_read(tmp_path: Path) -> None:
    found = answers()
    many = [an_event("step.done", 1, step=f"read[{i}]", seconds=0.1) for i in range(500)]
    found[f"GET /runs/{RUN}/events"] = Streamed([told(*many)])

    _, server = ran(tmp_path, found, a_plan(tmp_path))

    assert sum(asked == f"GET /workflows/{RUN}" for asked, _ in server.asked) < 10
