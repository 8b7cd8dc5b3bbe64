"""What servers may reach, at a terminal: shown plainly, said with options, and red where it is
everything."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering
from tests.faces.cli.test_servers import (
    CONFINED,
    GRANTS,
    Captured,
    Patch,
    a_review,
    a_server,
    asked,
    gateway,
    typing,
)

TIGHT = {"read": [], "write": ["/srv/lab"], "network": "none", "reach": ["api.lab.example:443"]}
UNBOXED = CONFINED | {"hold": "unboxed", "reaches": "NOT BOXED: all rights of Portico itself"}
WHERE = "/servers/lab/profile"


def a_profile(**changes: Any) -> dict[str, Any]:
    return {
        **CONFINED,
        "name": "lab",
        "command": "npx lab /srv/lab",
        "default": GRANTS,
        "proposed": None,
        "consent": None,
        "let_out": "lab:0123456789ab",
    } | changes


@contextmanager
def holding(root: Path, **changes: Any) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    found = a_profile(**changes)
    with answering({f"GET {WHERE}": found, f"PUT {WHERE}": found, f"DELETE {WHERE}": found}) as it:
        house = ScriptedHouse(root)
        house.remote = it.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, it


def test_without_options_it_is_shown(tmp_path: Path, capsys: Captured) -> None:
    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab"]) == 0

    said = capsys.readouterr()
    assert "may_reach\tnetwork: public · writes /srv/lab · own home" in said.out
    assert "nobody: it follows from the command" in said.out
    assert asked(server) == [f"GET {WHERE}"]


def test_a_program_gets_all_of_it(tmp_path: Path, capsys: Captured) -> None:
    with holding(tmp_path, proposed=TIGHT) as (house, _):
        assert run(house, ["--json", "servers", "profile", "lab"]) == 0

    said = capsys.readouterr()
    assert json.loads(said.out) == a_profile(proposed=TIGHT)
    assert said.err == ""


def test_what_is_proposed_is_said_with_the_way_to_take_it(tmp_path: Path, capsys: Captured) -> None:
    with holding(tmp_path, proposed=TIGHT) as (house, server):
        assert run(house, ["servers", "profile", "lab"]) == 0
        told = capsys.readouterr().err
        assert run(house, ["servers", "profile", "lab", "--proposed"]) == 0

    assert "network: none · reach: api.lab.example:443 · write: /srv/lab" in told
    assert "portico servers profile lab --proposed" in told
    assert (f"PUT {WHERE}", TIGHT) in server.asked


@pytest.mark.parametrize("only", [True, False])
def test_what_is_said_is_added_unless_it_is_all(tmp_path: Path, only: bool) -> None:
    options = ["--reach", "db:5432", *(["--only"] if only else [])]

    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab", *options]) == 0

    [(_, body)] = [each for each in server.asked if each[0].startswith("PUT")]
    assert body == {
        "read": [],
        "write": [] if only else ["/srv/lab"],
        "reach": ["db:5432"],
        "network": "public",
    }


def test_what_is_said_is_what_this_machine_understands(
    tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.chdir(tmp_path)
    options = ["--read", "~/keys", "--write", "notes", "--write", "/srv", "--network", "none"]

    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab", *options, "--reach", "db:5432"]) == 0

    body = {
        "read": ["/home/ana/keys"],
        "write": ["/srv/lab", str(tmp_path / "notes"), "/srv"],
        "reach": ["db:5432"],
        "network": "none",
    }
    assert (f"PUT {WHERE}", body) in server.asked
    assert "started anew" in capsys.readouterr().err


def test_of_the_network_nothing_changes_where_nothing_is_said_of_it(tmp_path: Path) -> None:
    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab", "--write", "/srv"]) == 0

    [(_, body)] = [each for each in server.asked if each[0].startswith("PUT")]
    assert body["network"] == "public"


def test_it_goes_back_to_the_default(tmp_path: Path) -> None:
    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab", "--default"]) == 0

    assert asked(server) == [f"DELETE {WHERE}", f"GET {WHERE}"]


@pytest.mark.parametrize(
    "options",
    [
        ["--default", "--proposed"],
        ["--default", "--read", "/a"],
        ["--proposed"],
        ["--only"],
        ["--write", ""],
    ],
)
def test_what_contradicts_itself_or_is_not_known_is_refused(
    tmp_path: Path, options: list[str]
) -> None:
    with holding(tmp_path) as (house, server):
        assert run(house, ["servers", "profile", "lab", *options]) == Exit.USAGE

    assert not any(each.startswith(("PUT", "DELETE")) for each in asked(server))


def test_who_is_not_boxed_is_shown_in_red(tmp_path: Path, monkeypatch: Patch) -> None:
    screen = typing(monkeypatch, "")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    consent = {"by": "ana", "at": "2026-11-15T12:00:00+00:00", "holds": True}
    listed = {"GET /servers": [a_server(), a_server(confinement=UNBOXED)]}

    with holding(tmp_path, **UNBOXED, consent=consent) as (house, _):
        assert run(house, ["servers", "profile", "lab"]) == 0
    with gateway(tmp_path, listed) as (house, _):
        assert run(house, ["servers", "list"]) == 0

    shown = screen.getvalue()
    assert "\x1b[1;31mNOT BOXED: lab runs with all rights" in shown
    assert shown.count("\x1b[1;31mNOT BOXED\x1b[0m") == 1
    assert "network: public · writes /srv/lab · own home" in shown
    assert "ana, 2026-11-15" in shown


def test_what_it_may_reach_is_shown_before_it_is_started(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = typing(monkeypatch, "n\n")
    answers = {"GET /servers/lab/review": a_review(launch_approved=False)}

    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["servers", "approve", "lab"]) == Exit.APPROVAL

    assert "It may reach: network: public · writes /srv/lab · own home" in screen.getvalue()


def test_where_there_is_no_box_that_is_said_with_the_way_out(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = typing(monkeypatch, "n\n")
    refused = CONFINED | {"hold": "refused", "reaches": "no box here: does not start"}
    answers = {"GET /servers/lab/review": a_review(launch_approved=False, confinement=refused)}

    with gateway(tmp_path, answers) as (house, _):
        assert run(house, ["servers", "approve", "lab"]) == Exit.APPROVAL

    assert "There is no box on this machine" in screen.getvalue()
    assert "--unboxed" in screen.getvalue()


def test_consent_is_asked_for_with_the_command_in_sight_and_sent_along(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = typing(monkeypatch, "y\ny\n")
    refused = CONFINED | {"hold": "refused"}
    answers = {"GET /servers/lab/review": a_review(confinement=refused)}

    with gateway(tmp_path, answers) as (house, server):
        assert run(house, ["servers", "approve", "lab", "--unboxed"]) == 0

    shown = screen.getvalue()
    assert "npx lab" in shown
    assert "NOT BOXED" in shown
    assert "Start lab without a box?" in shown
    body = {"launch_pin": "p1", "unboxed": True}
    assert ("POST /servers/lab/approve-launch", body) in server.asked
