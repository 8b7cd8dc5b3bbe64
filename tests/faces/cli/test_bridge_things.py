"""`portico bridge`: projects, conversations, memory, leases and work, against a server that says
what it is told to."""

import io
import json
import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from portico.faces.cli.moments import deadline, lasting
from tests.faces.cli.bridge_answers import (
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
from tests.faces.cli.scripted_server import InTurn, Problem, Raw, ScriptedServer
from tests.faces.cli.test_approvals import sent, served, types

Captured = pytest.CaptureFixture[str]

AT = f"/projects/{PROJECT_ID}"
NO_PROJECT = Problem(404, {"code": "project_not_found", "detail": "There is none."})
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


def told(root: Path, some: dict[str, Any], *arguments: str) -> tuple[int, ScriptedServer]:
    with served(root, TABLE | some) as (house, server):
        return run(house, ["bridge", *arguments]), server


def bodies(server: ScriptedServer) -> list[Any]:
    return [body for asked, body in server.asked if not asked.startswith("GET")]


def test_projects_are_listed_and_begun(tmp_path: Path, capsys: Captured) -> None:
    some = {"POST /projects": PROJECT}

    assert told(tmp_path, some, "projects", "list")[0] == 0
    assert capsys.readouterr().out.split("\t")[:2] == ["apollo", "team"]

    _, server = told(tmp_path, some, "projects", "new", "apollo", "--label", "team")
    said = capsys.readouterr()
    assert bodies(server) == [{"name": "apollo", "description": "", "label": "team"}]
    assert said.out == "apollo is there; it is team.\n"
    assert "portico bridge conversations new apollo TITLE" in said.err


def test_where_there_are_none_the_next_command_is_said(tmp_path: Path, capsys: Captured) -> None:
    none = {"GET /projects": page(), "GET /conversations": page()}

    told(tmp_path, none, "projects", "list")
    told(tmp_path, none, "projects", "list", "--archived")
    told(tmp_path, none, "conversations", "list")
    told(tmp_path, none, "conversations", "list", "--archived")

    assert capsys.readouterr().err.splitlines() == [
        "There are none. To begin one: portico bridge projects new NAME",
        "None is archived.",
        "There are none. To begin one: portico bridge conversations new PROJECT TITLE",
        "None is archived.",
    ]


def test_a_project_is_shown_with_who_is_there(tmp_path: Path, capsys: Captured) -> None:
    there = page({"name": "ana", "doing": "busy", "note": "tests"})
    some = {f"GET {AT}/presence": InTurn(there, page(), there)}

    told(tmp_path, some, "projects", "show", "apollo")
    told(tmp_path, some, "projects", "show", "apollo")
    said = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[2] for line in said if line.startswith("who_is_there")] == [
        "ana (busy: tests)",
        "nobody says so",
    ]
    assert "made_by\tana" in said

    told(tmp_path, {f"GET {AT}/presence": there}, "projects", "show", "apollo", "--json")
    assert json.loads(capsys.readouterr().out)["presence"] == there["data"]


def test_a_project_that_is_not_there_may_be_meant_otherwise(
    tmp_path: Path, capsys: Captured
) -> None:
    some = {"GET /projects/appolo": NO_PROJECT}

    assert told(tmp_path, some, "projects", "show", "appolo")[0] == Exit.FAILED
    assert "Did you mean apollo?" in capsys.readouterr().err

    slash = {"GET /projects": page(PROJECT | {"name": "a/b"}), f"GET {AT}/presence": page()}
    assert told(tmp_path, slash, "projects", "show", "a/b")[0] == 0
    denied = {"GET /projects/x": Problem(403, {"code": "not_permitted"})}
    assert told(tmp_path, denied, "projects", "show", "x")[0] == Exit.DENIED


def test_a_project_is_put_away_and_taken_out_again(tmp_path: Path, capsys: Captured) -> None:
    some = {f"PATCH {AT}": PROJECT}

    _, away = told(tmp_path, some, "projects", "archive", "apollo")
    _, again = told(tmp_path, some, "projects", "archive", PROJECT_ID, "--restore")

    said = capsys.readouterr()
    assert bodies(away) + bodies(again) == [{"archived": True}, {"archived": False}]
    assert said.out == "apollo is archived.\napollo is there again.\n"
    assert f"archive {PROJECT_ID} --restore" in said.err


def test_a_project_is_taken_along_line_by_line(tmp_path: Path, capsys: Captured) -> None:
    some = {f"GET {AT}/export": Raw(b'{"a":1}\n{"b":2}\n')}
    file = tmp_path / "all.ndjson"

    assert told(tmp_path, some, "projects", "export", "apollo")[0] == 0
    assert capsys.readouterr().out == '{"a":1}\n{"b":2}\n'
    assert told(tmp_path, some, "projects", "export", "apollo", "--output", str(file))[0] == 0
    assert file.read_text() == '{"a":1}\n{"b":2}\n'
    assert told(tmp_path, some, "projects", "export", "apollo", "--output", str(file))[0] != 0


def test_a_conversation_is_begun_with_people(tmp_path: Path, capsys: Captured) -> None:
    some = {"POST /conversations": PLAN}

    _, server = told(
        tmp_path, some, "conversations", "new", "apollo", "plan", "--closed", "--with", "@helper",
        ANA,
    )  # fmt: skip

    assert bodies(server) == [
        {
            "project": PROJECT_ID,
            "title": "plan",
            "closed": True,
            "participants": [HELPER, ANA],
            "label": None,
        }
    ]
    assert "plan has begun" in capsys.readouterr().out


def test_somebody_who_is_not_there_may_be_meant_otherwise(tmp_path: Path, capsys: Captured) -> None:
    code, _ = told(tmp_path, {}, "conversations", "new", "apollo", "plan", "--with", "helpre")

    assert code == Exit.FAILED
    assert "Did you mean helper?" in capsys.readouterr().err


def test_conversations_are_listed_with_the_names_of_their_projects(
    tmp_path: Path, capsys: Captured
) -> None:
    code, server = told(tmp_path, {}, "conversations", "list", "apollo")

    assert code == 0
    assert capsys.readouterr().out.split("\t")[:4] == ["plan", "apollo", "team", "no"]
    assert any(f"project={PROJECT_ID}" in each for each in server.addresses)


def test_people_join_leave_and_are_listed(tmp_path: Path, capsys: Captured) -> None:
    path = f"/conversations/{PLAN_ID}/participants"
    there = page({"principal": ANA, "name": "ana", "joined_at": NOON, "muted": False})
    some = {
        f"POST {path}": {},
        f"DELETE {path}/{ANA}": {},
        f"DELETE {path}/{HELPER}": {},
        f"GET {path}": InTurn(there, page()),
    }

    _, joined = told(tmp_path, some, "conversations", "join", "plan")
    _, added = told(tmp_path, some, "conversations", "join", "plan", "helper")
    assert told(tmp_path, some, "conversations", "leave", "plan")[0] == 0
    assert told(tmp_path, some, "conversations", "leave", "plan", "helper")[0] == 0
    told(tmp_path, some, "conversations", "people", "plan")
    told(tmp_path, some, "conversations", "people", "plan")

    said = capsys.readouterr()
    assert bodies(joined) + bodies(added) == [{"principal": None}, {"principal": HELPER}]
    assert said.out.splitlines()[:4] == [
        "You take part.",
        "helper takes part.",
        "You take part no more.",
        "helper takes part no more.",
    ]
    assert said.out.splitlines()[4].startswith("ana\t")
    assert "portico bridge conversations join plan" in said.err


def test_a_conversation_is_muted_and_put_away(tmp_path: Path, capsys: Captured) -> None:
    path = f"/conversations/{PLAN_ID}"
    some = {f"PUT {path}/mute": {}, f"PATCH {path}": PLAN}

    told(tmp_path, some, "conversations", "mute", "plan")
    told(tmp_path, some, "conversations", "mute", "plan", "--off")
    told(tmp_path, some, "conversations", "archive", "plan")
    _, server = told(tmp_path, some, "conversations", "archive", PLAN_ID, "--restore")

    assert bodies(server) == [{"archived": False}]
    assert capsys.readouterr().out.splitlines() == [
        "It is muted.",
        "It counts again.",
        "plan is archived.",
        "plan is there again.",
    ]


def test_projects_and_conversations_are_called_something_else(
    tmp_path: Path, capsys: Captured
) -> None:
    some = {
        f"PATCH {AT}": PROJECT | {"name": "luna"},
        f"PATCH /conversations/{PLAN_ID}": PLAN | {"title": "the way"},
    }

    _, named = told(tmp_path, some, "projects", "rename", "apollo", "luna")
    _, described = told(tmp_path, some, "projects", "rename", "apollo", "--description", "There.")
    _, titled = told(tmp_path, some, "conversations", "rename", "plan", "the way")

    assert bodies(named) + bodies(described) + bodies(titled) == [
        {"name": "luna"},
        {"description": "There."},
        {"title": "the way"},
    ]
    assert capsys.readouterr().out.splitlines() == [
        "It is called luna.",
        "It is called luna.",
        "It is called the way.",
    ]


def test_who_is_there_is_listed_and_said(tmp_path: Path, capsys: Captured) -> None:
    ana = {"principal": ANA, "name": "ana", "doing": "busy", "note": "the parser", "until": NOON}
    some = {f"GET {AT}/presence": page(ana), f"PUT {AT}/presence": {}}

    told(tmp_path, some, "presence", "list", "apollo")
    told(tmp_path, {f"GET {AT}/presence": page()}, "presence", "list", "apollo")
    _, there = told(tmp_path, some, "presence", "say", "apollo")
    _, busy = told(tmp_path, some, "presence", "say", "apollo", "busy", "the parser")

    said = capsys.readouterr()
    assert bodies(there) + bodies(busy) == [
        {"doing": "there", "note": ""},
        {"doing": "busy", "note": "the parser"},
    ]
    assert said.out.splitlines()[0].split("\t")[:3] == ["ana", "busy", "the parser"]
    assert said.out.splitlines()[1:] == [
        "You are there, for two minutes.",
        "You are busy, for two minutes.",
    ]
    assert "Nobody says that they are there." in said.err


def test_something_is_remembered_and_recalled(tmp_path: Path, capsys: Captured) -> None:
    some = {f"PUT {AT}/memory/value": MEMORY, f"GET {AT}/memory/value": MEMORY}

    _, server = told(
        tmp_path, some, "memory", "set", "apollo", "notes/build", '{"a": 1}', "--json-value",
        "--upon", "1", "--until", "2999-01-01T12:00+00:00",
    )  # fmt: skip
    told(tmp_path, some, "memory", "get", "apollo", "notes/build")

    said = capsys.readouterr().out.splitlines()
    assert bodies(server) == [
        {
            "value": {"a": 1},
            "version": 1,
            "expires_at": "2999-01-01T12:00:00+00:00",
            "label": None,
        }
    ]
    assert server.addresses[-1].endswith("?key=notes/build")
    assert said == ["notes/build is remembered, as version 2, team.", '{"a": 1}']


def test_a_value_may_come_through_a_pipe_and_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {f"PUT {AT}/memory/value": MEMORY}
    monkeypatch.setattr("sys.stdin", io.StringIO("long\ntext"))
    _, server = told(tmp_path, some, "memory", "set", "apollo", "k")
    assert bodies(server)[0]["value"] == "long\ntext"

    types(monkeypatch, "")
    assert told(tmp_path, some, "memory", "set", "apollo", "k")[0] == Exit.USAGE
    assert (
        told(tmp_path, some, "memory", "set", "apollo", "k", "{", "--json-value")[0] == Exit.USAGE
    )


def test_keys_are_listed_found_and_have_a_history(tmp_path: Path, capsys: Captured) -> None:
    gone = MEMORY | {"forgotten": True, "value": None, "version": 3}
    some = {
        f"GET {AT}/memory": InTurn(page(MEMORY), page()),
        f"GET {AT}/memory/search": InTurn(page(MEMORY), page()),
        f"GET {AT}/memory/history": InTurn(page(gone, MEMORY), page()),
    }
    for command in (("list",), ("find", "a"), ("history", "k")):
        for _ in range(2):
            assert told(tmp_path, some, "memory", command[0], "apollo", *command[1:])[0] == 0

    said = capsys.readouterr()
    assert [line.split("\t")[0] for line in said.out.splitlines()] == [
        "notes/build",
        "notes/build",
        "3",
        "2",
    ]
    assert "(forgotten)" in said.out
    assert said.err.splitlines() == [
        "Nothing is remembered. To begin: portico bridge memory set PROJECT KEY VALUE",
        "Nothing has all of these words.",
        "There was never anything.",
    ]


def test_what_is_forgotten_is_said_and_what_is_not_there_too(
    tmp_path: Path, capsys: Captured
) -> None:
    some = {
        f"DELETE {AT}/memory/value": {},
        f"GET {AT}/memory/value": InTurn(
            Problem(404, {"code": "memory_not_found"}), Problem(403, {"code": "not_permitted"})
        ),
    }

    _, server = told(tmp_path, some, "memory", "forget", "apollo", "k", "--label", "team")
    assert server.addresses[-1].endswith("?key=k&label=team")
    assert told(tmp_path, some, "memory", "forget", "apollo", "k")[0] == 0
    assert told(tmp_path, some, "memory", "get", "apollo", "k")[0] == Exit.FAILED
    assert told(tmp_path, some, "memory", "get", "apollo", "k")[0] == Exit.DENIED
    assert "portico bridge memory list apollo" in capsys.readouterr().err


def test_a_lease_is_taken_with_a_token(tmp_path: Path, capsys: Captured) -> None:
    some = {f"POST {AT}/leases": LEASE}

    _, server = told(tmp_path, some, "lease", "take", "apollo", "src/**", "--for", "30m")

    assert bodies(server) == [{"resource": "src/**", "seconds": 1800, "purpose": "", "wait": False}]
    assert "token 7" in capsys.readouterr().out
    assert told(tmp_path, some, "lease", "take", "apollo", "x", "--for", "long")[0] == Exit.USAGE


def test_what_is_over_soon_is_said_with_its_seconds(tmp_path: Path, capsys: Captured) -> None:
    soon = datetime.fromtimestamp(time.time() + 3, UTC).isoformat()
    some = {f"POST {AT}/leases": InTurn(LEASE, LEASE | {"expires_at": soon})}

    told(tmp_path, some, "lease", "take", "apollo", "src/**")
    told(tmp_path, some, "lease", "take", "apollo", "src/**", "--for", "3s")

    long, short = capsys.readouterr().out.splitlines()
    assert re.search(r"until [0-9-]{10} \d\d:\d\d;", long)
    assert re.search(r"until [0-9-]{10} \d\d:\d\d:\d\d;", short)


def test_who_wants_to_wait_asks_until_it_is_theirs(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
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

    assert told(tmp_path, some, "lease", "take", "apollo", "src/**", "--wait")[0] == 0

    assert len(pauses) == 2
    assert capsys.readouterr().err.count("ben holds 'src/**'. Waiting") == 1


def test_who_does_not_wait_is_told_that_they_could(tmp_path: Path, capsys: Captured) -> None:
    some = {f"POST {AT}/leases": InTurn(HELD, Problem(403, {"code": "write_down"}))}

    assert told(tmp_path, some, "lease", "take", "apollo", "src/**")[0] == Exit.FAILED
    assert "Wait. To wait for it: --wait" in capsys.readouterr().err
    assert told(tmp_path, some, "lease", "take", "apollo", "src/**", "--wait")[0] == Exit.DENIED


def test_ones_own_lease_is_renewed_and_given_back(tmp_path: Path, capsys: Captured) -> None:
    others = LEASE | {"holder": HELPER, "resource": "docs/**"}
    some = {
        f"GET {AT}/leases": {"data": [others, LEASE], "waiting": []},
        f"POST /leases/{LEASE['id']}/renew": LEASE,
        f"POST /leases/{LEASE['id']}/release": {},
    }

    _, renewed = told(tmp_path, some, "lease", "renew", "apollo", "src/**")
    _, released = told(tmp_path, some, "lease", "release", "apollo", "src/**", "--token", "6")

    assert bodies(renewed) + bodies(released) == [{"token": 7, "seconds": 600}, {"token": 6}]
    assert "src/** is free." in capsys.readouterr().out
    assert told(tmp_path, some, "lease", "release", "apollo", "docs/**")[0] == Exit.FAILED


def test_a_token_is_checked_and_what_is_held_is_listed(tmp_path: Path, capsys: Captured) -> None:
    waiting = {"principal": HELPER, "name": "helper", "resource": "src/a", "since": NOON}
    some = {
        f"POST {AT}/leases/check": LEASE,
        f"GET {AT}/leases": InTurn(
            {"data": [LEASE], "waiting": [waiting]}, {"data": [], "waiting": []}
        ),
    }

    _, server = told(tmp_path, some, "lease", "check", "apollo", "src/a", "7")
    told(tmp_path, some, "lease", "list", "apollo")
    told(tmp_path, some, "lease", "list", "apollo")

    said = capsys.readouterr()
    assert bodies(server) == [{"resource": "src/a", "token": 7}]
    assert said.out.splitlines()[0].startswith("ana holds it until")
    assert said.out.splitlines()[1].split("\t")[:3] == ["src/**", "ana", "7"]
    assert said.out.splitlines()[2].split("\t")[:2] == ["src/a", "helper"]
    assert "In this order wait:" in said.err
    assert "Nothing is held." in said.err


def test_work_is_added_after_other_work(tmp_path: Path, capsys: Captured) -> None:
    some = {f"POST {AT}/work": WORK, f"GET {AT}/work": page(WORK)}

    _, server = told(
        tmp_path, some, "work", "add", "apollo", "test it", "all of it", "--after", "psvg22"
    )

    assert bodies(server) == [
        {"title": "test it", "body": "all of it", "depends": [WORK_ID], "label": None}
    ]
    assert "…psvg22 is to be done." in capsys.readouterr().out


def test_that_something_is_more_secret_than_its_project_is_said_with_why(
    tmp_path: Path, capsys: Captured
) -> None:
    secret = {"label": "confidential"}
    some = {f"PUT {AT}/memory/value": MEMORY | secret, f"POST {AT}/work": WORK | secret}
    why = "It is confidential, and the project team: something that is as secret was read before."

    for command in (("memory", "set", "apollo", "k", "v"), ("work", "add", "apollo", "test it")):
        told(tmp_path, some, *command)
        assert why in capsys.readouterr().err
        told(tmp_path, some, *command, "--label", "confidential")
        assert why not in capsys.readouterr().err


def test_work_is_listed_with_who_has_it(tmp_path: Path, capsys: Captured) -> None:
    held = WORK | {"state": "open", "held_up": True, "claimed_by_name": None}
    some = {f"GET {AT}/work": InTurn(page(WORK, held), page(), page())}

    told(tmp_path, some, "work", "list", "apollo")
    told(tmp_path, some, "work", "list", "apollo")
    told(tmp_path, some, "work", "list", "apollo", "--state", "open")

    said = capsys.readouterr()
    assert [line.split("\t")[1:4] for line in said.out.splitlines()] == [
        ["claimed", "ana", "team"],
        ["waits for other work", "-", "team"],
    ]
    assert "portico bridge work add apollo TITLE" in said.err
    assert "Nothing is open." in said.err


def test_work_is_claimed_handed_over_done_and_dropped(tmp_path: Path, capsys: Captured) -> None:
    some = {
        f"GET /work/{WORK_ID}": WORK,
        f"POST /work/{WORK_ID}/claim": WORK,
        f"POST /work/{WORK_ID}/hand-over": WORK,
        f"POST /work/{WORK_ID}/end": WORK,
    }

    assert told(tmp_path, some, "work", "show", WORK_ID)[0] == 0
    assert told(tmp_path, some, "work", "claim", WORK_ID)[0] == 0
    _, handed = told(tmp_path, some, "work", "hand-over", WORK_ID, "--to", "helper")
    _, plainly = told(tmp_path, some, "work", "hand-over", WORK_ID, "helper")
    _, free = told(tmp_path, some, "work", "hand-over", WORK_ID, "--token", "2")
    _, done = told(tmp_path, some, "work", "done", WORK_ID, "It works.")
    _, dropped = told(tmp_path, some, "work", "drop", WORK_ID, "--token", "9")

    assert bodies(handed) + bodies(free) == [
        {"token": 3, "to": HELPER},
        {"token": 2, "to": None},
    ]
    assert bodies(plainly) == bodies(handed)
    assert bodies(done) + bodies(dropped) == [
        {"token": 3, "state": "done", "outcome": "It works."},
        {"token": 9, "state": "dropped", "outcome": ""},
    ]
    assert "mend the parser is yours; token 3." in capsys.readouterr().out


def test_work_that_is_not_there_is_said_to_be_none(tmp_path: Path, capsys: Captured) -> None:
    some = {f"GET {AT}/work": page()}

    assert told(tmp_path, some, "work", "claim", "psvg22")[0] == Exit.FAILED
    assert told(tmp_path, some, "work", "claim", "g22")[0] == Exit.USAGE
    said = capsys.readouterr().err
    assert "work_not_found" in said
    assert "portico bridge work list PROJECT" in said


def test_nothing_to_look_for_is_said_before_anything_is_asked(
    tmp_path: Path, capsys: Captured
) -> None:
    for command in (("search",), ("search", " "), ("memory", "find", "apollo")):
        code, server = told(tmp_path, {}, *command)
        assert (code, server.asked) == (Exit.USAGE, [])
        assert "There is nothing to look for." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        (("post", "plan", "hello", "--label", "secret"), "Write a level (public, team"),
        (("read", "plan", "--upto", "secret"), "Write a level (public, team"),
        (("declassify", "psvg22", "--to", "secret"), "Write a level (public, team"),
        (("declassify", "psvg22"), "portico bridge declassify psvg22 --to team"),
        (("fetch", "abc"), "portico bridge read CONVERSATION --json"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_one_option_that_is_wrong_is_told_in_the_words_of_the_command_line(
    tmp_path: Path, capsys: Captured, command: tuple[str, ...], fix: str
) -> None:
    code, server = told(tmp_path, {}, *command)

    assert (code, server.asked) == (Exit.USAGE, [])
    assert fix in " ".join(capsys.readouterr().err.split())


def test_times_to_come_are_written_as_people_do() -> None:
    assert deadline("--by", None) is None
    assert (deadline("--by", "2h") or "") > (deadline("--by", "90m") or "")
    assert [lasting("--for", text) for text in ("30", "30s", "2m", "1h", "1d")] == [
        30,
        30,
        120,
        3600,
        86400,
    ]


def test_nothing_was_sent_where_only_something_was_looked_at(tmp_path: Path) -> None:
    _, server = told(tmp_path, {}, "projects", "list", "--json")

    assert sent(server) == []
