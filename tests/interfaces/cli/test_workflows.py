"""`portico workflows`, against a server that says what it is told to."""

from typing import Any

import pytest

from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.picture.reports import a_report, an_event
from tests.interfaces.cli.picture.scenes import NOON, RUN, at
from tests.interfaces.cli.workflow_answers import DONE, ENDED, FAILED, FAILURE, PLAN, answers

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
