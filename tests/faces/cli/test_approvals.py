"""Requests for approval from the command line: a person at a terminal answers, nobody else."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.exits import Exit
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.requests import ID, ONE, OTHER, a_request, an_answer, waiting
from tests.faces.cli.screen import TtyText
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]


@contextmanager
def served(root: Path, answers: dict[str, Any]) -> Iterator[tuple[ScriptedHouse, ScriptedServer]]:
    with answering(answers) as server:
        house = ScriptedHouse(root)
        house.remote = server.url
        house.whereabouts().key_file.write_text("ptc_mine")
        yield house, server


def types(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", TtyText(text))


def sent(server: ScriptedServer) -> list[Any]:
    return [body for asked, body in server.asked if asked.startswith("POST")]


def test_what_waits_is_listed(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, ONE) as (house, _):
        assert run(house, ["approvals", "list"]) == 0

    said = capsys.readouterr().out
    assert said.split("\t")[:5] == [
        "…psvgnn",
        "waiting",
        "mail.send",
        "irreversible",
        "desktop (agent)",
    ]


def test_a_program_gets_them_as_they_are(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, ONE) as (house, _):
        assert run(house, ["--json", "approvals", "list", "--all"]) == 0
        assert run(house, ["--json", "approvals", "show", ID]) == 0

    listed, shown = capsys.readouterr().out.splitlines()
    assert json.loads(listed)["data"] == [a_request()]
    assert json.loads(shown) == a_request()


def test_nothing_that_waits_is_said(tmp_path: Path, capsys: Captured) -> None:
    with served(tmp_path, {"GET /approvals": waiting()}) as (house, _):
        assert run(house, ["approvals", "list"]) == 0

    assert "Nothing waits" in capsys.readouterr().err


@pytest.mark.parametrize("name", [ID, ID[-6:], f"…{ID[-6:]}"])
def test_one_is_shown_whole_with_how_it_stands(tmp_path: Path, capsys: Captured, name: str) -> None:
    done = an_answer("once") | {"outcome": "failed", "error": "it was gone"}
    with served(tmp_path, {**ONE, f"GET /approvals/{ID}": done}) as (house, _):
        assert run(house, ["approvals", "show", name]) == 0

    told = capsys.readouterr()
    assert "portico policy explain key:k1k1k1k1k1k1 mail.send" in told.out
    assert "approved; approved once by ana (cli)" in told.out
    assert "failed: it was gone" in told.out


@pytest.mark.parametrize(("name", "code"), [("nnnnnn", Exit.FAILED), ("abc", Exit.USAGE)])
def test_one_that_is_not_there_is_not_found(tmp_path: Path, name: str, code: Exit) -> None:
    with served(tmp_path, ONE) as (house, _):
        assert run(house, ["approvals", "show", name]) == code


def test_an_end_that_fits_several_is_not_guessed(tmp_path: Path) -> None:
    twins = {"GET /approvals": waiting(a_request(), a_request(f"apr_other{ID[-20:]}"))}
    with served(tmp_path, twins) as (house, _):
        assert run(house, ["approvals", "show", ID[-6:]]) == Exit.USAGE


@pytest.mark.parametrize(
    "words",
    [["approve", ID], ["reject", ID], ["resolve", ID, "done"], ["approve", ID, "--always"]],
)
def test_where_no_person_is_nothing_is_answered(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", *words]) == Exit.APPROVAL

    assert server.asked == []
    assert "In a terminal of your own" in capsys.readouterr().err


def test_neither_where_nobody_is_to_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(monkeypatch, "y\n")
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["--no-input", "approvals", "approve", ID]) == Exit.APPROVAL

    assert server.asked == []


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {"answer": "once", "pattern": None}),
        (["--for-run"], {"answer": "run", "pattern": None}),
        (["--always"], {"answer": "always", "pattern": None}),
        (["--always", "--pattern", "mail.*"], {"answer": "always", "pattern": "mail.*"}),
    ],
)
def test_a_person_says_yes_after_they_were_shown_it(
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    body: dict[str, Any],
) -> None:
    types(monkeypatch, "always\n" if "--always" in options else "y\n")
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "approve", ID, *options]) == 0

    assert sent(server) == [{**body, "via": "cli"}]
    assert "bob@else.example" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["\n", "n\n", "once\n", ""])
def test_anything_but_a_yes_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    types(monkeypatch, typed)
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "approve", ID]) == Exit.APPROVAL

    assert sent(server) == []


def test_a_person_says_no_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    types(monkeypatch, "y\n")
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "reject", ID, "--reason", "not today"]) == 0

    assert sent(server) == [{"answer": "reject", "reason": "not today", "via": "cli"}]


@pytest.mark.parametrize("options", [["--for-run", "--always"], ["--pattern", "mail.*"]])
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, options: list[str]) -> None:
    with served(tmp_path, ONE) as (house, _):
        assert run(house, ["approvals", "approve", ID, *options]) == Exit.USAGE


def test_a_person_says_what_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    types(monkeypatch, "y\n")
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "resolve", ID, "retry"]) == 0

    assert sent(server) == [{"outcome": "retry"}]


@pytest.mark.parametrize(
    ("editor", "code"),
    [
        ("sed -i s/bob/eve/", 0),
        ('sed -i s/bob/\\"/', Exit.USAGE),
        ("sed -i -n s/x//", Exit.USAGE),
        ("false", Exit.USAGE),
    ],
)
def test_arguments_are_changed_in_an_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str, code: int
) -> None:
    types(monkeypatch, "y\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "approve", ID, "--edit"]) == code

    wanted = {"to": "eve@else.example", "text": "one\ntwo"}
    assert [body["arguments"] for body in sent(server)] == ([wanted] if code == 0 else [])


def test_what_holds_a_secret_is_not_written_anew(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(monkeypatch, "y\n")
    secret = {f"GET /approvals/{ID}": a_request(arguments={"key": "********"})}
    with served(tmp_path, {**ONE, **secret}) as (house, server):
        assert run(house, ["approvals", "approve", ID, "--edit"]) == Exit.USAGE

    assert sent(server) == []
    assert "hold a secret" in capsys.readouterr().err


def test_other_requests_are_other_requests(tmp_path: Path) -> None:
    with served(tmp_path, ONE) as (house, _):
        assert run(house, ["approvals", "show", OTHER]) == Exit.FAILED


def test_a_rule_takes_the_whole_word(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(monkeypatch, "y\n")
    with served(tmp_path, ONE) as (house, server):
        assert run(house, ["approvals", "approve", ID, "--always"]) == Exit.APPROVAL

    assert sent(server) == []
    assert "also after it has read strangers' words" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--always", "--for-run"])
def test_where_a_rule_asks_nothing_lasting_is_said(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    types(monkeypatch, "always\n")
    ruled = {f"GET /approvals/{ID}": a_request(rule="ask-mail", answers=["once", "reject"])}
    with served(tmp_path, {**ONE, **ruled}) as (house, server):
        assert run(house, ["approvals", "approve", ID, option]) == Exit.USAGE

    assert sent(server) == []
    assert "The rule ask-mail goes on asking" in capsys.readouterr().err


@pytest.mark.parametrize("act", ["approve", "reject"])
def test_ones_own_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    types(monkeypatch, "y\n")
    with served(tmp_path, {**ONE, "GET /me": {"id": "prn_1", "name": "mia"}}) as (house, server):
        assert run(house, ["approvals", act, ID]) != 0

    assert sent(server) == []
    said = capsys.readouterr().err
    assert f"portico approvals withdraw {ID}" in said
    assert "[y/N]" not in said


def test_ones_own_is_taken_back(tmp_path: Path, capsys: Captured) -> None:
    closed = {f"POST /approvals/{ID}/withdraw": a_request(status="withdrawn")}
    with served(tmp_path, {**ONE, **closed}) as (house, _):
        assert run(house, ["approvals", "withdraw", ID[-6:]]) == 0

    assert capsys.readouterr().out == f"{ID}: withdrawn.\n"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": "done"}, "The call: done"),
        ({"outcome": "done", "error": "It failed."}, "The call: done, with an error: It failed."),
        ({}, f"The call is under way: portico approvals show {ID[-6:]}"),
    ],
)
def test_what_came_of_a_yes_is_said(
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    said: str,
) -> None:
    types(monkeypatch, "y\n")
    monkeypatch.setattr("portico.faces.cli.approvals._MOMENT", 0.0)
    made = {f"GET /approvals/{ID}": an_answer("once") | changes}
    with served(tmp_path, {**ONE, **made}) as (house, _):
        assert run(house, ["approvals", "approve", ID]) == 0

    assert said in capsys.readouterr().err


def test_approved_ones_are_listed_by_how_they_went(tmp_path: Path, capsys: Captured) -> None:
    some = waiting(an_answer("once") | {"outcome": "uncertain"}, a_request(OTHER, outcome="done"))
    with served(tmp_path, {"GET /approvals": some}) as (house, _):
        assert run(house, ["--json", "approvals", "list", "--status", "uncertain"]) == 0

    [found] = json.loads(capsys.readouterr().out)["data"]
    assert found["id"] == ID
