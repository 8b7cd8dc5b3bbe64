"""`portico workflows`, against a server that says what it is told to."""

import json
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome, Person, interrupt
from tests.interfaces.cli.picture.reports import a_report, a_told_step, an_event
from tests.interfaces.cli.picture.scenes import NOON, RUN, at
from tests.interfaces.cli.scripted_server import Streamed
from tests.interfaces.cli.workflow_answers import (
    ASKED,
    CHECKED,
    DONE,
    ENDED,
    FAILED,
    FAILURE,
    PLAN,
    answers,
    told,
)

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
NOTHING: dict[str, Any] = {}


def page(*items: Any) -> dict[str, Any]:
    return {"data": [*items], "next": None}


def workflows(cli: CommandLine, words: str, some: dict[str, Any] = NOTHING) -> Outcome:
    return cli(f"workflows {words}", some)


def test_the_latest_are_listed(cli: CommandLine) -> None:
    program = LINE | {"name": None, "kind": "program"}
    some = {"GET /workflows": page(LINE, {**LINE, "steps": None}, program)}

    first, second, third = workflows(cli, "list --status done", some).rows

    assert first[:3] == [RUN, "morning", "done"]
    assert first[4:] == ["2.4 s", "3 of 4"]
    assert second[5] == "-"
    assert third[1] == "(a program)"


SHOWN = {f"GET /runs/{RUN}/events": page(an_event("step.done", 1, step="read", seconds=1.0))}


def test_one_is_shown_as_a_picture_with_what_it_gave(cli: CommandLine) -> None:
    found = answers(DONE, **ENDED) | SHOWN

    text = cli(f"workflows show {RUN}", found, screen=80).out

    assert "✓ read  server.read  ━" in text
    assert 'output   {"text": "hello"}' in text
    assert "error" not in text
    assert "✓ read" in workflows(cli, f"show {RUN}", found).out
    assert workflows(cli, f"show {RUN} --json", found).json["run"] == RUN


def test_one_that_ran_inline_has_no_events(cli: CommandLine) -> None:
    found = answers(DONE, **ENDED | {"mode": "inline"}) | {f"GET /runs/{RUN}/events": None}

    got = workflows(cli, f"show {RUN}", found)

    assert got.code == 0
    assert "✓ read" in got.out


def test_why_it_failed_is_said_once(cli: CommandLine) -> None:
    failed = answers(FAILED, status="failed", error=FAILURE, finished_at=at(1))
    elsewhere = answers(DONE, status="failed", error=FAILURE | {"step": None}, finished_at=at(1))

    shown = workflows(cli, f"show {RUN}", failed | {f"GET /runs/{RUN}/events": page()}).out
    other = workflows(cli, f"show {RUN}", elsewhere | {f"GET /runs/{RUN}/events": page()}).out

    assert shown.count("no such file") == 1
    assert "error\ttool_failed: no such file" in other


def test_it_can_be_watched_to_its_end(cli: CommandLine) -> None:
    assert workflows(cli, "watch 0aaaaa", answers()).json == {"text": "hello"}


@pytest.mark.parametrize(
    ("words", "route", "found", "body", "out"),
    [
        (f"cancel {RUN}", "POST /workflows/{}/cancel", a_report(status="cancelled"), None,
         f"{RUN} is cancelled."),
        (f"resume {RUN}", "POST /workflows/{}/resume", a_report(status="running"), None,
         f"{RUN} is running."),
        (f"resolve {RUN} pay[3] retry", "POST /workflows/{}/resolve", a_report(status="running"),
         {"step": "pay[3]", "outcome": "retry"}, f"{RUN} is running."),
        (f"fork {RUN} --from read", "POST /workflows/{}/fork", a_report(run="run_new000"),
         {"step": "read", "arguments": {}}, "run_new000"),
        (f"fork {RUN} --set read.path=b", "POST /workflows/{}/fork", a_report(run="run_new000"),
         {"arguments": {"read": {"path": "b"}}}, "run_new000"),
        (f"fork {RUN} --from x --set read.n=1", "POST /workflows/{}/fork",
         a_report(run="run_new000"), {"step": "x", "arguments": {"read": {"n": 1}}}, "run_new000"),
        ("remove nightly --yes", "DELETE /saved-workflows/nightly", {}, None, "nightly is gone."),
    ],
)  # fmt: skip
def test_what_is_done_is_sent_and_told(  # a column each
    cli: CommandLine, *, words: str, route: str, found: Any, body: Any, out: str
) -> None:
    asked = route.format(RUN)

    got = workflows(cli, words, {asked: found})

    assert (got.code, got.asked) == (0, [(asked, body)])
    assert got.out == f"{out}\n"
    assert ("portico run --attach new000" in got.err) == ("fork" in words)


def test_a_plan_is_saved(cli: CommandLine) -> None:
    plan = cli.file("plan.toml", PLAN)

    got = workflows(
        cli,
        f"save nightly {plan} --description 'Every night.'",
        {"PUT /saved-workflows/nightly": SAVED},
    )

    [body] = got.sent
    assert (body["description"], body["plan"]["name"]) == ("Every night.", "morning")
    assert got.out == "workflows.nightly\n"


def test_what_is_saved_is_listed_and_shown(cli: CommandLine) -> None:
    some = {
        "GET /saved-workflows": page(SAVED),
        "GET /saved-workflows/nightly": {**SAVED, "plan": {"steps": []}},
    }

    shown = workflows(cli, "saved nightly", some).out

    assert workflows(cli, "saved", some).rows[0][:4] == ["nightly", "local_read", "live", "2"]
    assert shown.startswith("name\tnightly\n")
    assert shown.endswith('{\n  "steps": []\n}\n')
    assert workflows(cli, "saved nightly --json", some).json["plan"] == {"steps": []}


EVENTS = f"GET /runs/{RUN}/events"
REPORT = f"GET /workflows/{RUN}"


def ran(cli: CommandLine, some: dict[str, Any], words: str = "{plan}", **how: Any) -> Outcome:
    """`{plan}` is a file with a plan."""
    return cli(f"run {words.format(plan=cli.file('plan.toml', PLAN))}", some, **how)


def a_failure(**changes: Any) -> dict[str, Any]:
    return answers(FAILED, status="failed", error=FAILURE | changes, finished_at=at(1))


def test_a_plan_is_sent_and_what_it_gives_is_printed(cli: CommandLine) -> None:
    got = ran(cli, answers())

    [body] = got.sent
    step = {"id": "read", "tool": "files.read", "arguments": {"path": "a.txt"}}
    assert body["plan"]["steps"] == [step]
    assert (got.code, got.json) == (0, {"text": "hello"})
    assert got.err == "✓ read  server.read  1.0 s\n"


PAGES = {
    "GET /results/res_1?page=1": {"text": "one ", "pages": 2},
    "GET /results/res_1?page=2": {"text": "two", "pages": 2},
}


@pytest.mark.parametrize(
    ("report", "out"),
    [
        ({"output": "two\nlines"}, "two\nlines\n"),
        ({"output": None, "output_handle": "res_1"}, "one two\n"),
        ({"kind": "program", "printed": "hi\n", "output": 42}, "hi\n42\n"),
    ],
    ids=["a text", "page by page", "a program"],
)
def test_what_it_gave_is_printed_as_it_is(
    cli: CommandLine, report: dict[str, Any], out: str
) -> None:
    assert ran(cli, answers(**ENDED | report) | PAGES).out == out


EDGE = "read.json.path -> write.path"
RUN_FILE_SAVED = {
    "GET /saved-workflows/nightly": {"plan": {"steps": [{"id": "read", "tool": "files.read"}]}}
}


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("{program} --input who=ana --input '{{\"n\": 3}}'",
         {"inputs": {"who": "ana", "n": 3}, "code": "print('hi')"}),
        ("nightly --mode inline --label team",
         {"name": "nightly", "inputs": {}, "mode": "inline", "label": "team"}),
        (f"nightly --accept '{EDGE}'", {"name": "nightly", "inputs": {}, "accept": [EDGE]}),
        ("nightly --input @{inputs}", {"name": "nightly", "inputs": {"n": 3}}),
        ("nightly --set read.path=b.txt",
         {"plan": {"steps": [{"id": "read", "tool": "files.read", "arguments": {"path": "b.txt"}}]},
          "inputs": {}}),
    ],
    ids=["program", "saved", "accepted edges", "inputs of a file", "changed"],
)  # fmt: skip
def test_what_is_run_and_how_is_sent(cli: CommandLine, words: str, body: dict[str, Any]) -> None:
    program, inputs = cli.file("p.py", "print('hi')"), cli.file("inputs.json", '{"n": 3}')

    got = cli(f"run {words.format(program=program, inputs=inputs)}", answers() | RUN_FILE_SAVED)

    assert (got.code, got.sent) == (0, [body])


def test_arguments_of_steps_can_be_set(cli: CommandLine) -> None:
    got = ran(cli, answers(), "{plan} --set read.path=b.txt --set 'read.lines=[1, 2]'")

    assert got.sent[0]["plan"]["steps"][0]["arguments"] == {"path": "b.txt", "lines": [1, 2]}


@pytest.mark.parametrize("file", ["-", "/dev/stdin"])
@pytest.mark.parametrize("text", ['\n{"steps": []}', "steps = []\n"])
def test_a_plan_may_come_at_standard_input(cli: CommandLine, text: str, file: str) -> None:
    got = cli(f"run {file}", answers(), piped=text)

    assert got.sent == [{"plan": {"steps": []}, "inputs": {}}]


@pytest.mark.parametrize(
    ("changes", "code", "said", "unsaid"),
    [
        ({}, Exit.FAILED,
         ["✗ read  server.read  1.0 s\n  tool_failed: no such file",
          "It failed at read: tool_failed: no such file", "portico workflows resume 0aaaaa"], ""),
        ({"code": "program_failed"}, Exit.FAILED, ["portico workflows show 0aaaaa"], "resume"),
        ({"code": "approval_rejected", "message": "ana said no"}, Exit.APPROVAL,
         ["Somebody said no"], ""),
    ],
    ids=["a tool", "a program", "a no"],
)  # fmt: skip
def test_a_failed_one_says_why_and_where(
    cli: CommandLine, changes: dict[str, Any], code: int, said: list[str], unsaid: str
) -> None:
    got = ran(cli, a_failure(**changes))

    assert (got.code, got.out) == (code, "")
    assert [words for words in said if words not in got.err] == []
    assert not unsaid or unsaid not in got.err


KEPT = "res_01m7gajk0pf4vt6r4rp7exmh1r"


def a_kept_failure(text: str) -> dict[str, Any]:
    """Of a tool whose own words are kept apart."""
    error = FAILURE | {"message": f"files.read says that it failed; its words: {KEPT}."}
    found = answers({**FAILED, "error": error}, status="failed", error=error, finished_at=at(1))
    return found | {f"GET /results/{KEPT}": {"text": text, "pages": 1}}


def test_what_the_tool_itself_said_is_fetched_once(cli: CommandLine) -> None:
    got = ran(cli, a_kept_failure(json.dumps({"text": "disk full " * 100})))

    assert "  tool_failed: disk full disk full" in got.err
    assert "It failed at read: tool_failed: disk full" in got.err
    assert max(map(len, got.err.splitlines())) < 600
    assert got.routes.count(f"GET /results/{KEPT}") == 1


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_what_cannot_be_read_is_left_as_it_was(cli: CommandLine, text: str) -> None:
    assert "says that it failed" in ran(cli, a_kept_failure(text)).err


def test_of_one_that_was_done_in_part_it_is_said_what_is_missing(cli: CommandLine) -> None:
    left = [a_told_step(f"s{i}", state="skipped", why="read failed") for i in range(5)]

    got = ran(cli, answers(FAILED, *left, **ENDED | {"status": "partial"}))

    assert (got.code, got.json) == (Exit.PARTIAL, {"text": "hello"})
    assert "Done but for 6 of 6: read failed, s0 was skipped, s1 was skipped" in got.err
    assert "- s0  server.s0  (read failed)" in got.err


WAITS = a_told_step("read", state="waiting", approval=ASKED, started_at=NOON)


def test_one_that_waits_for_somebody_is_left_waiting(cli: CommandLine) -> None:
    unsure = a_told_step("pay", state="uncertain", started_at=NOON)
    events = told(an_event("workflow.step_waiting", 1, step="read", approval=ASKED), over=False)

    got = ran(cli, answers(WAITS, unsure, status="waiting") | {EVENTS: Streamed([events] * 50)})

    assert got.code == Exit.APPROVAL
    assert f"It waits for approval of {ASKED}, what became of pay" in got.err
    assert "portico run --attach 0aaaaa --wait" in got.err


def test_with_wait_it_is_waited_for(cli: CommandLine) -> None:
    story = Streamed([told(over=False), told()])

    got = ran(cli, answers(WAITS, status="waiting") | {EVENTS: story}, "{plan} --wait")

    assert "waits for approval: portico approvals show psvgnn" in got.err


def test_it_can_be_started_and_left(cli: CommandLine) -> None:
    got = ran(cli, answers(), "{plan} --detach")

    assert (got.code, got.out) == (0, f"{RUN}\n")
    assert got.err == "To look on: portico run --attach 0aaaaa\n"


A_PROGRAM = {
    "GET /workflows": {"data": [], "next": None},
    "GET /runs": {"data": [{"id": RUN}], "next": None},
}


@pytest.mark.parametrize("listed", [{}, A_PROGRAM], ids=["a workflow", "a program"])
def test_one_can_come_back_to_it(cli: CommandLine, listed: dict[str, Any]) -> None:
    got = cli("run --attach 0aaaaa", answers() | listed)

    assert (got.code, got.sent, got.json) == (0, [], {"text": "hello"})


def test_in_json_it_is_the_report_and_with_watch_every_event_comes_first(cli: CommandLine) -> None:
    report = ran(cli, answers(), "{plan} --json")
    watched = ran(cli, answers(), "{plan} --json --watch")

    assert (report.json["status"], report.err) == ("done", "")
    lines = [json.loads(line) for line in watched.lines]
    assert [line.get("type") for line in lines] == ["run.started", "step.done", "run.done", None]
    assert lines[-1]["run"] == RUN


def test_what_runs_inline_is_asked_for_until_it_is_over(cli: CommandLine) -> None:
    got = ran(cli, answers(**ENDED | {"mode": "inline"}) | {EVENTS: None})

    assert got.code == 0
    assert EVENTS not in got.routes
    assert "✓ read" in got.err


def test_a_server_that_goes_away_is_waited_for(cli: CommandLine) -> None:
    story = [told(an_event("run.started", 0), over=False), told(an_event("run.done", 1))]

    got = ran(cli, answers() | {EVENTS: Streamed(story)})

    assert got.code == 0
    assert "The server has gone" in got.err


def test_ctrl_c_leaves_it_running(cli: CommandLine) -> None:
    found = answers(a_told_step("read", state="running"), status="running")
    found[EVENTS] = Streamed([told(an_event("run.started", 0), over=False)])

    def is_followed(person: Person) -> None:
        """Once the report was asked for again."""
        person.waits_until(lambda: person.server.asked.count((REPORT, None)) >= 2)

    plan = cli.file("plan.toml", PLAN)
    got = cli.watched(f"run {plan} --no-input", found, is_followed, interrupt, held=EVENTS)

    assert got.code == Exit.INTERRUPTED
    assert "To come back: portico run --attach 0aaaaa" in got.out


def test_what_the_server_refuses_for_good_is_told(cli: CommandLine) -> None:
    got = ran(cli, answers() | {EVENTS: None})

    assert got.code == Exit.FAILED
    assert "unknown" in got.err


FLAWS = [
    {"place": "/steps/0/tool", "what": "There is no such tool.", "fix": "Did you mean b?"},
    {"place": "/steps/0/when", "what": "It cannot be read.", "fix": None},
]
CHECK = {"POST /workflows/check": CHECKED}
BAD = {"POST /workflows/check": {**CHECKED, "ok": False, "steps": [], "flaws": FLAWS}}


def test_a_dry_run_says_what_would_happen(cli: CommandLine) -> None:
    got = ran(cli, CHECK, "{plan} --dry-run", screen=80)

    assert (got.code, got.sent[0]["plan"]["name"]) == (0, "morning")
    for words in (
        "├ a   x.a   local_read      -",
        "c     x.c   external_write  it writes (default)",
        "3 steps, up to 2 at once; nothing was done.",
        "One after the other at least: a → c",
        "At worst: external_write",
        "Would ask somebody: c",
    ):
        assert words in got.out
    assert cli("run nightly --dry-run --json", CHECK | RUN_FILE_SAVED).json == CHECKED


def test_a_dry_run_of_a_bad_plan_names_every_fault_with_its_line(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cli.root)
    cli.file("plan.toml", PLAN)

    got = cli("run plan.toml --dry-run", BAD)

    assert got.code == Exit.USAGE
    assert "plan.toml:4:1: /steps/0/when It cannot be read." in got.err
    assert "plan.toml:6:1: /steps/0/tool There is no such tool. Did you mean b?" in got.err
    saved = cli("run nightly --dry-run", BAD | RUN_FILE_SAVED).err
    assert "\n  /steps/0/tool: There is no such tool." in saved


def test_a_report_is_not_asked_for_more_often_than_it_can_be_read(cli: CommandLine) -> None:
    many = [an_event("step.done", 1, step=f"read[{i}]", seconds=0.1) for i in range(500)]

    got = ran(cli, answers() | {EVENTS: Streamed([told(*many)])})

    assert got.routes.count(REPORT) < 10
