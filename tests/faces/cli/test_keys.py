"""Keys from the command line: for programs, and whose word they pass on."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.test_approvals import served
from tests.faces.cli.test_talking import a_key

Captured = pytest.CaptureFixture[str]

MADE: dict[str, Any] = {"id": "abcdefghijkl", "principal": "prn_1", "key": "ptc_abcdefghijkl_x"}
PEOPLE = {"data": [{"id": "prn_2", "name": "ana", "kind": "person"}], "next": None}
TRUST = "/keys/abcdefghijkl/trust"


def test_a_program_gets_a_key_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, {"POST /keys": MADE}) as (house, server):
        assert run(house, ["keys", "create", "editor", "--agent"]) == 0

    assert server.asked[0][1]["agent"] is True
    assert capsys.readouterr().out == f"{MADE['key']}\n"


def test_it_may_be_kept_where_desktop_clients_find_it(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, {"POST /keys": MADE}) as (house, _):
        assert run(house, ["--json", "keys", "create", "editor", "--agent", "--save"]) == 0

    assert house.asked == [MADE["key"]]
    assert json.loads(capsys.readouterr().out) == {"key_file": str(tmp_path / "agent.key")}


@pytest.mark.parametrize("options", [["--agent", "--to", "bob"], ["--save"]])
def test_options_that_do_not_go_together_make_no_key(tmp_path: Path, options: list[str]) -> None:
    with served(tmp_path, {"POST /keys": MADE}) as (house, server):
        assert run(house, ["keys", "create", "editor", *options]) == Exit.USAGE

    assert server.asked == []


@pytest.mark.parametrize(
    ("options", "told"), [([], None), (["--as", "ana"], "prn_2"), (["--nobody"], None)]
)
def test_whose_word_a_program_passes_on_is_shown_and_set(
    tmp_path: Path, capsys: Captured, options: list[str], told: str | None
) -> None:
    method = "PUT" if options else "GET"
    name = "ana" if told else "nobody"
    answers = {
        "GET /principals": PEOPLE,
        f"{method} {TRUST}": {"key": "abcdefghijkl", "person": told},
    }
    with served(tmp_path, answers) as (house, server):
        assert run(house, ["keys", "trust", "abcdefghijkl", *options]) == 0

    assert (f"{method} {TRUST}", {"person": told} if method == "PUT" else None) in server.asked
    assert capsys.readouterr().out.endswith(f"the word of {name}.\n")


def test_it_is_somebodys_or_nobodys(tmp_path: Path) -> None:
    with served(tmp_path, {}) as (house, _):
        words = ["keys", "trust", "abcdefghijkl", "--as", "ana", "--nobody"]
        assert run(house, words) == Exit.USAGE


@pytest.mark.parametrize("may", [True, False])
def test_whoever_joins_gets_a_second_key_for_programs_if_they_may_make_one(
    tmp_path: Path, capsys: Captured, may: bool
) -> None:
    answers: dict[str, Any] = {
        "POST /invitations/accept": {"key": "ptc_mine", "principal": "prn_2"},
        "GET /me": {"name": "ana"},
    }
    if may:
        answers["POST /keys"] = MADE
    with served(tmp_path, answers) as (house, server):
        house.whereabouts().key_file.unlink()
        link = f"{server.url}/join#ptc_invitation"
        assert run(house, ["join", link, "--save"]) == 0

    saved = [each for each in house.asked if isinstance(each, str)]
    assert saved == ["ptc_mine", *([MADE["key"]] if may else [])]
    assert ("POST /keys", {"name": "ana-desktop", "agent": True}) in server.asked
    assert ("portico keys create NAME --agent --save" in capsys.readouterr().err) is not may


def test_a_saved_key_is_not_lost_to_a_new_one_unless_somebody_says_so(
    tmp_path: Path, capsys: Captured
) -> None:
    create = ["keys", "create", "editor", "--agent", "--save"]
    with served(tmp_path, {"POST /keys": MADE}) as (house, server):
        house.whereabouts().agent_key_file.write_text("ptc_old")
        assert run(house, create) == Exit.FAILED
        assert server.asked == []
        assert "--replace" in capsys.readouterr().err
        assert run(house, [*create, "--replace"]) == 0

    assert house.asked == [MADE["key"]]


def test_a_list_of_tools_is_a_column_where_any_key_has_one(
    tmp_path: Path, capsys: Captured
) -> None:
    keys = [a_key(), a_key(id="04GueJLDy2js", tools=["mail.*", "files.read"])]
    answers = {"GET /keys": {"data": keys, "next": None}, "GET /principals": PEOPLE}
    with served(tmp_path, answers) as (house, _):
        assert run(house, ["keys", "list"]) == 0

    first, second = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert (first[4], second[4]) == ("all", "mail.* files.read")
