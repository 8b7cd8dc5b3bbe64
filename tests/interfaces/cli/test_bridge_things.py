"""`portico bridge`: projects, conversations, memory, leases and work, against a server that says
what it is told to."""

import re
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from portico.interfaces.cli.terminal import deadline, lasting
from tests.interfaces.cli.bridge_answers import (
    ANA,
    HELPER,
    NOON,
    PLAN,
    PLAN_ID,
    PROJECT,
    PROJECT_ID,
    TABLE,
    page,
)
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import InTurn, Problem, Raw

AT = f"/projects/{PROJECT_ID}"
TALK = f"/conversations/{PLAN_ID}"
DENIED = Problem(403, {"code": "not_permitted"})
MEMORY = {
    "project": PROJECT_ID,
    "key": "notes/build",
    "value": {"a": 1},
    "label": "team",
    "version": 2,
    "expires_at": None,
    "forgotten": False,
    "untrusted": False,
    "by": ANA,
    "at": NOON,
}
LEASE = {
    "id": "lse_01m7fxv1skfhf86xxtf6psvg11",
    "project": PROJECT_ID,
    "resource": "src/**",
    "holder": ANA,
    "holder_name": "ana",
    "token": 7,
    "taken_at": NOON,
    "expires_at": "2999-01-01T12:00:00Z",
    "purpose": "mend it",
}
HELD = Problem(409, {"code": "lease_held", "detail": "ben holds 'src/**'.", "fix": "Wait."})
WORK_ID = "wrk_01m7fxv1skfhf86xxtf6psvg22"
WORK = {
    "id": WORK_ID,
    "project": PROJECT_ID,
    "title": "mend the parser",
    "body": "",
    "label": "team",
    "state": "claimed",
    "depends": [],
    "held_up": False,
    "claimed_by": ANA,
    "claimed_by_name": "ana",
    "token": 3,
    "outcome": "",
    "untrusted": False,
    "made_by": ANA,
    "made_at": NOON,
    "changed_at": NOON,
}
NOTHING: dict[str, Any] = {}
ASKING = {
    "POST /projects": PROJECT,
    f"PATCH {AT}": PROJECT | {"name": "luna"},
    "POST /conversations": PLAN,
    f"PATCH {TALK}": PLAN | {"title": "the way"},
    f"PUT {TALK}/mute": NOTHING,
    f"POST {TALK}/participants": NOTHING,
    f"DELETE {TALK}/participants/{ANA}": NOTHING,
    f"DELETE {TALK}/participants/{HELPER}": NOTHING,
    f"PUT {AT}/presence": NOTHING,
    f"PUT {AT}/memory/value": MEMORY,
    f"DELETE {AT}/memory/value": NOTHING,
    f"POST {AT}/leases": LEASE,
    f"POST {AT}/leases/check": LEASE,
    f"GET {AT}/leases": {"data": [LEASE | {"holder": HELPER, "resource": "docs/**"}, LEASE]},
    f"POST /leases/{LEASE['id']}/renew": LEASE,
    f"POST /leases/{LEASE['id']}/release": NOTHING,
    f"GET {AT}/work": page(WORK),
    f"POST {AT}/work": WORK,
    f"GET /work/{WORK_ID}": WORK,
    f"POST /work/{WORK_ID}/claim": WORK,
    f"POST /work/{WORK_ID}/hand-over": WORK,
    f"POST /work/{WORK_ID}/end": WORK,
}
"""What a server says to each that does something."""


def bridge(cli: CommandLine, words: str, some: dict[str, Any] = NOTHING, **how: Any) -> Outcome:
    return cli(f"bridge {words}", TABLE | some, **how)


@pytest.mark.parametrize(
    ("words", "body", "said"),
    [
        ("projects new apollo --label team",
         {"name": "apollo", "description": "", "label": "team"}, "apollo is there; it is team."),
        ("projects archive apollo", {"archived": True}, "luna is archived."),
        (f"projects archive {PROJECT_ID} --restore", {"archived": False}, "luna is there again."),
        ("projects rename apollo luna", {"name": "luna"}, "It is called luna."),
        ("projects rename apollo --description There.", {"description": "There."},
         "It is called luna."),
        (f"conversations new apollo plan --closed --with @helper {ANA}",
         {"project": PROJECT_ID, "title": "plan", "closed": True, "participants": [HELPER, ANA],
          "label": None}, "plan has begun"),
        ("conversations join plan", {"principal": None}, "You take part."),
        ("conversations join plan helper", {"principal": HELPER}, "helper takes part."),
        ("conversations leave plan", None, "You take part no more."),
        ("conversations leave plan helper", None, "helper takes part no more."),
        ("conversations mute plan", {"muted": True}, "It is muted."),
        ("conversations mute plan --off", {"muted": False}, "It counts again."),
        ("conversations archive plan", {"archived": True}, "the way is archived."),
        (f"conversations archive {PLAN_ID} --restore", {"archived": False},
         "the way is there again."),
        ("conversations rename plan 'the way'", {"title": "the way"}, "It is called the way."),
        ("presence say apollo", {"doing": "there", "note": ""}, "You are there, for two minutes."),
        ("presence say apollo busy 'the parser'", {"doing": "busy", "note": "the parser"},
         "You are busy, for two minutes."),
        ("memory set apollo notes/build '{\"a\": 1}' --json-value --upon 1 "
         "--until 2999-01-01T12:00+00:00",
         {"value": {"a": 1}, "version": 1, "expires_at": "2999-01-01T12:00:00+00:00",
          "label": None}, "notes/build is remembered, as version 2, team."),
        ("memory forget apollo k", None, "k is forgotten."),
        ("lease take apollo 'src/**' --for 30m",
         {"resource": "src/**", "seconds": 1800, "purpose": "", "wait": False}, "token 7"),
        ("lease renew apollo 'src/**'", {"token": 7, "seconds": 600}, "src/**"),
        ("lease release apollo 'src/**' --token 6", {"token": 6}, "src/** is free."),
        ("lease check apollo src/a 7", {"resource": "src/a", "token": 7}, "ana holds it until"),
        ("work add apollo 'test it' 'all of it' --after psvg22",
         {"title": "test it", "body": "all of it", "depends": [WORK_ID], "label": None},
         "…psvg22 is to be done."),
        (f"work claim {WORK_ID}", None, "mend the parser is yours; token 3."),
        (f"work hand-over {WORK_ID} --to helper", {"token": 3, "to": HELPER}, ""),
        (f"work hand-over {WORK_ID} helper", {"token": 3, "to": HELPER}, ""),
        (f"work hand-over {WORK_ID} --token 2", {"token": 2, "to": None}, ""),
        (f"work done {WORK_ID} 'It works.'",
         {"token": 3, "state": "done", "outcome": "It works."}, ""),
        (f"work drop {WORK_ID} --token 9", {"token": 9, "state": "dropped", "outcome": ""}, ""),
    ],
)  # fmt: skip
def test_what_is_done_is_sent_and_told(
    cli: CommandLine, words: str, body: dict[str, Any] | None, said: str
) -> None:
    got = bridge(cli, words, ASKING)

    assert (got.code, got.sent) == (0, [body])
    assert said in got.out


WAITING = {"principal": HELPER, "name": "helper", "resource": "src/a", "since": NOON}
BUSY = {"principal": ANA, "name": "ana", "doing": "busy", "note": "the parser", "until": NOON}
GONE = MEMORY | {"forgotten": True, "value": None, "version": 3}
JOINED = {"principal": ANA, "name": "ana", "joined_at": NOON, "muted": False}
HELD_UP = WORK | {"state": "open", "held_up": True, "claimed_by_name": None}


@pytest.mark.parametrize(
    ("words", "route", "found", "rows"),
    [
        ("projects list", "/projects", page(PROJECT), [["apollo", "team"]]),
        ("conversations list apollo", "/conversations", page(PLAN),
         [["plan", "apollo", "team", "no"]]),
        ("conversations people plan", f"{TALK}/participants", page(JOINED), [["ana"]]),
        ("presence list apollo", f"{AT}/presence", page(BUSY), [["ana", "busy", "the parser"]]),
        ("memory list apollo", f"{AT}/memory", page(MEMORY), [["notes/build"]]),
        ("memory find apollo a", f"{AT}/memory/search", page(MEMORY), [["notes/build"]]),
        ("memory history apollo k", f"{AT}/memory/history", page(GONE, MEMORY), [["3"], ["2"]]),
        ("lease list apollo", f"{AT}/leases", {"data": [LEASE], "waiting": [WAITING]},
         [["src/**", "ana", "7"], ["src/a", "helper"]]),
        ("work list apollo", f"{AT}/work", page(WORK, HELD_UP),
         [["…psvg22", "claimed", "ana", "team"],
          ["…psvg22", "waits for other work", "-", "team"]]),
    ],
)  # fmt: skip
def test_what_there_is_is_listed(
    cli: CommandLine, words: str, route: str, found: dict[str, Any], rows: list[list[str]]
) -> None:
    got = bridge(cli, words, {f"GET {route}": found})

    assert got.code == 0
    assert [line[: len(row)] for line, row in zip(got.rows, rows, strict=True)] == rows
    assert ("(forgotten)" in got.out) == ("history" in words)
    assert ("In this order wait:" in got.err) == ("lease" in words)


def test_only_those_of_a_project_are_asked_for(cli: CommandLine) -> None:
    listed = bridge(cli, "conversations list apollo")

    assert any(f"project={PROJECT_ID}" in each for each in listed.addresses)
    assert bridge(cli, "projects list --json").sent == []


def test_the_next_command_is_said(cli: CommandLine) -> None:
    new = bridge(cli, "projects new apollo", ASKING)
    archived = bridge(cli, f"projects archive {PROJECT_ID}", ASKING)

    assert "portico bridge conversations new apollo TITLE" in new.err
    assert f"archive {PROJECT_ID} --restore" in archived.err


@pytest.mark.parametrize(
    ("present", "said"),
    [([{"name": "ana", "doing": "busy", "note": "tests"}], "ana (busy: tests)"),
     ([], "nobody says so")],
)  # fmt: skip
def test_a_project_is_shown_with_who_is_there(
    cli: CommandLine, present: list[Any], said: str
) -> None:
    there = {f"GET {AT}/presence": page(*present)}

    shown = bridge(cli, "projects show apollo", there)

    assert ["who_is_there", said] in shown.rows
    assert ["made_by", "ana"] in shown.rows
    assert bridge(cli, "projects show apollo --json", there).json["presence"] == present


def test_work_is_shown(cli: CommandLine) -> None:
    assert ["title", "mend the parser"] in bridge(cli, f"work show {WORK_ID}", ASKING).rows


def test_a_project_may_have_a_name_that_is_no_path(cli: CommandLine) -> None:
    slash = {"GET /projects": page(PROJECT | {"name": "a/b"}), f"GET {AT}/presence": page()}

    assert bridge(cli, "projects show a/b", slash).code == 0


def test_a_project_is_taken_along_line_by_line(cli: CommandLine) -> None:
    lines = b'{"a":1}\n{"b":2}\n'
    some = {f"GET {AT}/export": Raw(lines)}
    file = cli.root / "all.ndjson"

    assert bridge(cli, "projects export apollo", some).out == lines.decode()
    assert bridge(cli, f"projects export apollo --output {file}", some).code == 0
    assert file.read_bytes() == lines
    assert bridge(cli, f"projects export apollo --output {file}", some).code != 0


def test_something_is_recalled_and_forgotten_by_its_key(cli: CommandLine) -> None:
    kept = bridge(cli, "memory get apollo notes/build", {f"GET {AT}/memory/value": MEMORY})
    forgotten = bridge(cli, "memory forget apollo k --label team", ASKING)

    assert kept.out == '{"a": 1}\n'
    assert kept.addresses[-1].endswith("?key=notes/build")
    assert forgotten.addresses[-1].endswith("?key=k&label=team")


def test_a_value_may_come_through_a_pipe(cli: CommandLine) -> None:
    piped = bridge(cli, "memory set apollo k", ASKING, piped="long\ntext")

    assert piped.sent[0]["value"] == "long\ntext"


def not_there(code: str) -> Problem:
    return Problem(404, {"code": code, "detail": "There is none."})


@pytest.mark.parametrize(
    ("words", "some", "code", "said"),
    [
        ("projects show x", {"GET /projects/x": DENIED}, Exit.DENIED, "not_permitted"),
        ("memory get apollo k", {f"GET {AT}/memory/value": not_there("memory_not_found")},
         Exit.FAILED, "portico bridge memory list apollo"),
        ("memory get apollo k", {f"GET {AT}/memory/value": DENIED}, Exit.DENIED, ""),
        ("lease take apollo x --for long", ASKING, Exit.USAGE, "--for"),
        ("lease take apollo 'src/**'", {f"POST {AT}/leases": HELD}, Exit.FAILED,
         "Wait. To wait for it: --wait"),
        ("lease take apollo 'src/**' --wait", {f"POST {AT}/leases": DENIED}, Exit.DENIED, ""),
        ("lease release apollo 'docs/**'", ASKING, Exit.FAILED, "docs/**"),
        ("work claim psvg22", {f"GET {AT}/work": page()}, Exit.FAILED, "work_not_found"),
        ("work claim psvg22", {f"GET {AT}/work": page()}, Exit.FAILED,
         "portico bridge work list PROJECT"),
    ],
)  # fmt: skip
def test_what_is_not_there_or_not_allowed_is_told(
    cli: CommandLine, words: str, some: dict[str, Any], code: int, said: str
) -> None:
    got = bridge(cli, words, some)

    assert got.code == code
    assert said in got.err


def test_what_is_over_soon_is_said_with_its_seconds(cli: CommandLine) -> None:
    soon = datetime.fromtimestamp(time.time() + 3, UTC).isoformat()
    short = {f"POST {AT}/leases": LEASE | {"expires_at": soon}}

    told = bridge(cli, "lease take apollo 'src/**'", ASKING).out
    told_soon = bridge(cli, "lease take apollo 'src/**' --for 3s", short).out

    assert re.search(r"until [0-9-]{10} \d\d:\d\d;", told)
    assert re.search(r"until [0-9-]{10} \d\d:\d\d:\d\d;", told_soon)


def test_who_wants_to_wait_asks_until_it_is_theirs(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    really = time.sleep

    def paused(seconds: float) -> None:
        """Others of this process sleep as they always do."""
        if threading.current_thread() is threading.main_thread():
            pauses.append(seconds)
        else:
            really(seconds)

    monkeypatch.setattr("time.sleep", paused)
    some = {f"POST {AT}/leases": InTurn(HELD, HELD, LEASE)}

    got = bridge(cli, "lease take apollo 'src/**' --wait", some)

    assert (got.code, len(pauses)) == (0, 2)
    assert got.err.count("ben holds 'src/**'. Waiting") == 1


@pytest.mark.parametrize("command", ["memory set apollo k v", "work add apollo 'test it'"])
def test_that_something_is_more_secret_than_its_project_is_said_with_why(
    cli: CommandLine, command: str
) -> None:
    secret = {"label": "confidential"}
    some = {f"PUT {AT}/memory/value": MEMORY | secret, f"POST {AT}/work": WORK | secret}
    why = "It is confidential, and the project team: something that is as secret was read before."

    assert why in bridge(cli, command, some).err
    assert why not in bridge(cli, f"{command} --label confidential", some).err


def test_times_to_come_are_written_as_people_do() -> None:
    assert deadline("--by", None) is None
    assert (deadline("--by", "2h") or "") > (deadline("--by", "90m") or "")
    found = [lasting("--for", text) for text in ("30", "30s", "2m", "1h", "1d")]
    assert found == [30, 30, 120, 3600, 86400]
