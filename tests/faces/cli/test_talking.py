"""Commands that talk to a server, and what they make of its answers."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.faces.cli.app import run
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.screen import a_screen
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]


def a_key(**changes: Any) -> dict[str, Any]:
    return {
        "id": "0A0V8CXbKro2",
        "name": "command line",
        "principal": "prn_1",
        "scopes": None,
        "tools": None,
        "clearance": "restricted",
        "created_at": "2026-01-01T12:00:00+00:00",
        "expires_at": None,
        "last_used_at": "2026-01-02T12:00:00+00:00",
        "revoked_at": None,
    } | changes


def a_principal(**changes: Any) -> dict[str, Any]:
    return {
        "id": "prn_1",
        "kind": "person",
        "name": "ana",
        "roles": ["admin"],
        "clearance": "restricted",
        "created_at": "2026-01-01T12:00:00+00:00",
        "disabled_at": None,
    } | changes


KEYS = [
    a_key(),
    a_key(id="04GueJLDy2js", name="ci", scopes=["a", "b"], expires_at="2099-02-13T12:00:00+00:00"),
    a_key(id="06cHBiQiz74Q", name="old", revoked_at="2026-01-03T12:00:00+00:00", last_used_at=None),
    a_key(id="07cHBiQiz74Q", name="older", expires_at="2026-01-03T12:00:00+00:00"),
]
PEOPLE = [
    a_principal(),
    a_principal(id="prn_2", kind="agent", name="scout", roles=["member", "operator"]),
    a_principal(id="prn_3", name="ben", disabled_at="2026-01-03T12:00:00+00:00", clearance="team"),
]
INVITATION = {"link": "http://x/join#ptc_y", "expires_at": "2026-01-08T12:00:00+00:00"}
ANSWERS = {
    "GET /keys": {"data": KEYS, "next": None},
    "GET /principals": {"data": PEOPLE, "next": None},
    "GET /spaces": {
        "data": [{"id": "spc_1", "name": "our home", "created_at": "2026-01-01T12:00:00+00:00"}],
        "next": None,
    },
    "POST /spaces": {"space": {}, "invitation": INVITATION},
    "POST /invitations": INVITATION,
    "POST /invitations/accept": {"key": "ptc_new"},
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with answering(ANSWERS) as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> ScriptedHouse:
    house = ScriptedHouse(tmp_path)
    house.remote = server.url
    house.whereabouts().key_file.write_text("ptc_mine")
    return house


@pytest.fixture
def newcomer(tmp_path: Path) -> ScriptedHouse:
    """Somebody with a machine of their own, and no key yet."""
    return ScriptedHouse(tmp_path / "newcomer")


def seen(monkeypatch: pytest.MonkeyPatch, house: ScriptedHouse, *arguments: str) -> list[str]:
    """What is on a screen of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "25")
    screen = a_screen(monkeypatch)
    assert run(house, arguments) == 0
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def test_keys_fit_a_screen_of_80_columns(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = seen(monkeypatch, house, "keys", "list")

    assert max(map(len, lines)) <= 80
    assert lines == snapshot(
        [
            "id           name         holder scopes clearance  expires    last used  state",
            "0A0V8CXbKro2 command line ana    all    restricted -          2026-01-02 active",
            "04GueJLDy2js ci           ana    2      restricted 2099-02-13 2026-01-02 active",
            "06cHBiQiz74Q old          ana    all    restricted -          -          revoked",
            "07cHBiQiz74Q older        ana    all    restricted 2026-01-03 2026-01-02 expired",
        ]
    )


def test_people_fit_a_screen_of_80_columns(
    house: ScriptedHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = seen(monkeypatch, house, "people", "list")

    assert lines == snapshot(
        [
            "name   kind    roles             clearance   since       state",
            "ana    person  admin             restricted  2026-01-01  active",
            "scout  agent   member, operator  restricted  2026-01-01  active",
            "ben    person  admin             team        2026-01-01  disabled",
        ]
    )


@pytest.mark.requirement("cli:output:json-everywhere")
def test_a_program_gets_everything(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["people", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"data": PEOPLE}

    assert run(house, ["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"data": KEYS}


def a_status(*, ready: bool) -> dict[str, Any]:
    store = {
        "server_version": "18.1",
        "source": "embedded",
        "migrations_applied": 2,
        "migrations_pending": 0,
    }
    house = {"version": "1.2.3", "ready": ready, "boxes": None, "secrets": "age"}
    return {**house, "store": store}


def test_a_server_that_is_starting_is_waited_for_when_told_to(
    tmp_path: Path, capsys: Captured
) -> None:
    house = ScriptedHouse(tmp_path)
    house.whereabouts().key_file.write_text("ptc_mine")
    with answering({"GET /status": a_status(ready=True)}, late=True) as server:
        house.remote = server.url

        assert run(house, ["status", "--wait", "10"]) == 0

    assert "ready\tyes" in capsys.readouterr().out


def test_a_server_that_does_not_get_ready_is_told_as_it_is(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    server.answers = {"GET /status": a_status(ready=False)}

    assert run(house, ["status", "--wait", "0.01"]) == 4

    assert "ready\tno" in capsys.readouterr().out


def test_where_things_are_kept_is_told_when_asked_for(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    server.answers = {"GET /status": a_status(ready=True), "GET /me": a_principal()}

    assert run(house, ["status", "--verbose"]) == 0

    log_file = house.whereabouts().log_file
    assert f"log_file\t{log_file}\n" in capsys.readouterr().out


def test_a_link_is_given_with_the_day_until_which_it_works(
    house: ScriptedHouse, capsys: Captured
) -> None:
    for command in (["spaces", "create", "acme", "--admin", "dora"], ["people", "invite", "dora"]):
        assert run(house, command) == 0

        captured = capsys.readouterr()
        assert captured.out == "http://x/join#ptc_y\n"
        assert captured.err == "Send this link to dora; it works once, until 2026-01-08.\n"


def test_who_is_invited_is_a_member_with_the_teams_clearance_unless_told(
    house: ScriptedHouse, server: ScriptedServer
) -> None:
    run(house, ["people", "invite", "dora"])

    wish = {"name": "dora", "roles": ["member"], "clearance": "team"}
    assert server.asked == [("POST /invitations", wish)]


def test_a_space_is_deleted_only_by_its_name(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    assert run(house, ["spaces", "delete", "--confirm", "home"]) == 2

    assert "portico spaces delete --confirm 'our home'" in capsys.readouterr().err
    assert [asked for asked, _ in server.asked] == ["GET /spaces"]


def test_a_key_is_printed_unless_it_is_to_be_saved(
    newcomer: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    assert run(newcomer, ["join", f"{server.url}/join#ptc_x"]) == 0

    said = capsys.readouterr()
    assert said.out == "ptc_new\n"
    assert str(newcomer.whereabouts().key_file) in said.err
    assert f"portico config set client.server {server.url}" in said.err
    assert newcomer.asked == []


def test_a_key_that_is_there_already_stays(
    newcomer: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    file = newcomer.whereabouts().key_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("ptc_old")

    assert run(newcomer, ["join", f"{server.url}/join#ptc_x"]) == 0

    assert f"{file} has another key" in capsys.readouterr().err
    assert file.read_text() == "ptc_old"


def test_a_link_may_come_from_standard_input(
    newcomer: ScriptedHouse,
    server: ScriptedServer,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{server.url}/join#ptc_x\n"))

    assert run(newcomer, ["join", "-"]) == 0

    assert capsys.readouterr().out == "ptc_new\n"


def test_a_saved_key_takes_its_server_along(
    newcomer: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    newcomer.overruled_by = "environment PORTICO_CLIENT__SERVER"

    assert run(newcomer, ["join", f"{server.url}/join#ptc_x", "--save"]) == 0

    assert newcomer.asked == ["ptc_new", ("client.server", server.url)]
    told = capsys.readouterr().err
    assert f"Commands now talk to {server.url}" in told
    assert "… but environment PORTICO_CLIENT__SERVER wins" in told


def test_a_server_on_the_port_that_ours_would_have_is_somebody_else_s_where_we_have_none(
    newcomer: ScriptedHouse, server: ScriptedServer
) -> None:
    newcomer.server_url = server.url

    assert run(newcomer, ["join", f"{server.url}/join#ptc_x", "--save"]) == 0

    assert newcomer.asked == ["ptc_new", ("client.server", server.url)]


def test_a_saved_key_of_the_server_that_is_set_already_changes_no_setting(
    newcomer: ScriptedHouse, server: ScriptedServer
) -> None:
    newcomer.remote = server.url

    assert run(newcomer, ["join", f"{server.url}/join#ptc_x", "--save"]) == 0

    assert newcomer.asked == ["ptc_new"]


def test_a_key_that_is_there_is_replaced_only_when_told_to(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    command = ["join", f"{server.url}/join#ptc_x", "--save"]

    assert run(house, command) == 1
    assert "--replace" in capsys.readouterr().err
    assert server.asked == []

    assert run(house, [*command, "--replace"]) == 0
    assert house.asked == ["ptc_new"]


def test_a_key_that_cannot_be_saved_is_not_lost(
    tmp_path: Path, server: ScriptedServer, capsys: Captured
) -> None:
    house = ScriptedHouse(tmp_path / "newcomer", failure=OSError(28, "No space left on device"))

    assert run(house, ["join", f"{server.url}/join#ptc_x", "--save"]) == 1

    captured = capsys.readouterr()
    assert captured.out == "ptc_new\n"
    assert "No space left on device" in captured.err
