"""Requests for approval from the command line: a person at a terminal answers, nobody else."""

from typing import Any

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.requests import ID, ONE, OTHER, a_request, an_answer, waiting

SHORT = ID[-6:]
ITS = f"/approvals/{ID}"


def approvals(cli: CommandLine, words: str, some: Any = None, **how: Any) -> Outcome:
    return cli(f"approvals {words}", {**ONE, **(some or {})}, **how)


def test_what_waits_is_listed(cli: CommandLine) -> None:
    [row] = approvals(cli, "list").rows

    assert row[:5] == ["…psvgnn", "waiting", "mail.send", "irreversible", "desktop (agent)"]
    assert approvals(cli, "list --all --json").json["data"] == [a_request()]


def test_approved_ones_are_listed_by_how_they_went(cli: CommandLine) -> None:
    some = waiting(an_answer("once") | {"outcome": "uncertain"}, a_request(OTHER, outcome="done"))

    got = approvals(cli, "list --status uncertain --json", {"GET /approvals": some})

    assert [each["id"] for each in got.json["data"]] == [ID]


@pytest.mark.parametrize("name", [ID, SHORT, f"…{SHORT}"])
def test_one_is_shown_whole_with_how_it_stands(cli: CommandLine, name: str) -> None:
    done = an_answer("once") | {"outcome": "failed", "error": "it was gone"}

    got = approvals(cli, f"show {name}", {f"GET {ITS}": done})

    assert got.code == 0
    assert "portico policy explain key:k1k1k1k1k1k1 mail.send" in got.out
    assert "approved; approved once by ana (cli)" in got.out
    assert "failed: it was gone" in got.out
    assert approvals(cli, f"show {name} --json").json == a_request()


TWINS = {"GET /approvals": waiting(a_request(), a_request(f"apr_other{ID[-20:]}"))}


@pytest.mark.parametrize(
    ("words", "some", "code"),
    [
        ("show nnnnnn", {}, Exit.FAILED),
        ("show abc", {}, Exit.USAGE),
        (f"show {OTHER}", {}, Exit.FAILED),
        (f"show {SHORT}", TWINS, Exit.USAGE),
        (f"approve {ID} --for-run --always", {}, Exit.USAGE),
        (f"approve {ID} --pattern mail.*", {}, Exit.USAGE),
    ],
)
def test_what_is_not_there_or_not_said_right_is_refused(
    cli: CommandLine, words: str, some: dict[str, Any], code: int
) -> None:
    got = approvals(cli, words, some, typed="y\n")

    assert (got.code, got.sent) == (code, [])


@pytest.mark.parametrize(
    "words", [f"approve {ID}", f"reject {ID}", f"resolve {ID} done", f"approve {ID} --always"]
)
def test_where_no_person_is_nothing_is_answered(cli: CommandLine, words: str) -> None:
    piped = approvals(cli, words, piped="y\n")
    unasked = approvals(cli, f"{words} --no-input", typed="y\n")

    assert (piped.code, piped.asked) == (unasked.code, unasked.asked) == (Exit.APPROVAL, [])
    assert "In a terminal of your own" in piped.err


@pytest.mark.parametrize(
    ("words", "typed", "body"),
    [
        ("approve {}", "y\n", {"answer": "once", "pattern": None, "via": "cli"}),
        ("approve {} --for-run", "y\n", {"answer": "run", "pattern": None, "via": "cli"}),
        ("approve {} --always", "always\n", {"answer": "always", "pattern": None, "via": "cli"}),
        ("approve {} --always --pattern mail.*", "always\n",
         {"answer": "always", "pattern": "mail.*", "via": "cli"}),
        ("reject {} --reason 'not today'", "y\n",
         {"answer": "reject", "reason": "not today", "via": "cli"}),
        ("resolve {} retry", "y\n", {"outcome": "retry"}),
    ],
)  # fmt: skip
def test_a_person_answers_after_they_were_shown_it(
    cli: CommandLine, words: str, typed: str, body: dict[str, Any]
) -> None:
    got = approvals(cli, words.format(ID), typed=typed)

    assert (got.code, got.sent) == (0, [body])
    assert "bob@else.example" in got.out


@pytest.mark.parametrize(
    ("option", "typed"),
    [("", "\n"), ("", "n\n"), ("", "once\n"), ("", ""), ("--always", "y\n")],
)
def test_anything_but_a_yes_answers_nothing(cli: CommandLine, option: str, typed: str) -> None:
    got = approvals(cli, f"approve {ID} {option}", typed=typed)

    assert (got.code, got.sent) == (Exit.APPROVAL, [])
    assert ("also after it has read strangers' words" in got.err) == bool(option)


SECRET = {f"GET {ITS}": a_request(arguments={"key": "********"})}


@pytest.mark.parametrize(
    ("editor", "some", "code"),
    [
        ("sed -i s/bob/eve/", {}, 0),
        ('sed -i s/bob/\\"/', {}, Exit.USAGE),
        ("sed -i -n s/x//", {}, Exit.USAGE),
        ("false", {}, Exit.USAGE),
        ("sed -i s/bob/eve/", SECRET, Exit.USAGE),
    ],
    ids=["changed", "no JSON", "emptied", "failed", "a secret"],
)
def test_arguments_are_changed_in_an_editor(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, editor: str, some: Any, code: int
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)

    got = approvals(cli, f"approve {ID} --edit", some, typed="y\n")

    wanted = {"to": "eve@else.example", "text": "one\ntwo"}
    assert got.code == code
    assert [body["arguments"] for body in got.sent] == ([wanted] if code == 0 else [])
    assert ("hold a secret" in got.err) == bool(some)


@pytest.mark.parametrize("option", ["--always", "--for-run"])
def test_where_a_rule_asks_nothing_lasting_is_said(cli: CommandLine, option: str) -> None:
    ruled = {f"GET {ITS}": a_request(rule="ask-mail", answers=["once", "reject"])}

    got = approvals(cli, f"approve {ID} {option}", ruled, typed="always\n")

    assert (got.code, got.sent) == (Exit.USAGE, [])
    assert "The rule ask-mail goes on asking" in got.err


@pytest.mark.parametrize("act", ["approve", "reject"])
def test_ones_own_is_refused_before_anything_is_asked(cli: CommandLine, act: str) -> None:
    mia = {"GET /me": {"id": "prn_1", "name": "mia"}}

    got = approvals(cli, f"{act} {ID}", mia, typed="y\n")

    assert got.code != 0
    assert got.sent == []
    assert f"portico approvals withdraw {ID}" in got.err
    assert "[y/N]" not in got.err


def test_ones_own_is_taken_back(cli: CommandLine) -> None:
    closed = {f"POST {ITS}/withdraw": a_request(status="withdrawn")}

    assert approvals(cli, f"withdraw {SHORT}", closed).out == f"{ID}: withdrawn.\n"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": "done"}, "The call: done"),
        ({"outcome": "done", "error": "It failed."}, "The call: done, with an error: It failed."),
        ({}, f"The call is under way: portico approvals show {SHORT}"),
    ],
)
def test_what_came_of_a_yes_is_said(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr("portico.interfaces.cli.approvals._MOMENT", 0.0)

    made = {f"GET {ITS}": an_answer("once") | changes}

    assert said in approvals(cli, f"approve {ID}", made, typed="y\n").err
