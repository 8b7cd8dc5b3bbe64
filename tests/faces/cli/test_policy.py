"""Who may do what, at a terminal: explained in words, said in one line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from portico.faces.cli.app import run
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, answering

Captured = pytest.CaptureFixture[str]


def a_rule(**changes: Any) -> dict[str, Any]:
    return {
        "name": "no-mail",
        "decision": "deny",
        "tools": ["mail.*"],
        "except": [],
        "who": [],
        "effects": [],
        "reads": False,
        "tainted": False,
        "upto": "public",
        "context": None,
        "expires_at": None,
        "source": "database",
        "made_by": "ana",
        "made_at": "2026-01-01T12:00:00+00:00",
        "approval": None,
    } | changes


RULES = [
    a_rule(),
    a_rule(
        name="of-the-file",
        decision="allow",
        **{"except": ["git.drop"]},
        who=["role:member"],
        effects=["external_write"],
        tainted=True,
        upto="team",
        context="ctx_1",
        source="file",
        made_by=None,
    ),
]
EXPLAINED = {
    "principal": "ana",
    "key": "0123456789ab",
    "tool": "mail.send",
    "effect": "external_write",
    "decision": "denied",
    "rule": "no-mail",
    "reason": "a rule that ana made denies it",
    "matched": [RULES[0]],
    "context": {"id": "ctx_1", "label": "team", "untrusted": True},
    "otherwise": [
        {
            "when": "without the rule no-mail",
            "decision": "needs_approval",
            "rule": "default:taint",
            "reason": "…",
        }
    ],
}
ANSWERS = {
    "GET /policy/explain?principal=key%3A0123456789ab&tool=mail.send": EXPLAINED,
    "GET /policy/explain?principal=ana&tool=mail.send": {
        **EXPLAINED,
        "key": None,
        "context": {"id": "ctx_2", "label": "public", "untrusted": False},
    },
    "GET /policy/rules": {"data": RULES, "next": None},
    "POST /policy/rules": a_rule(),
    "DELETE /policy/rules/no-mail": {},
    "POST /keys": {"key": "ptc_new"},
    "POST /principals": {"id": "prn_1"},
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


def test_a_decision_is_told_with_what_would_change_it(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["policy", "explain", "key:0123456789ab", "mail.send"]) == 0

    assert capsys.readouterr().out == snapshot("""\
ana may not use mail.send: a rule that ana made denies it
  rule     no-mail
  effect   external_write
  task     of key 0123456789ab, has read team and what strangers wrote
  matched  no-mail (deny, database)
  without the rule no-mail: needs approval
""")


def test_what_is_told_of_a_name_is_told_of_no_key_and_how_to_ask_for_one(
    house: ScriptedHouse, capsys: Captured
) -> None:
    assert run(house, ["policy", "explain", "ana", "mail.send"]) == 0

    assert (
        "  task     of no key, has read public and no strangers' words\n"
        "  keys     each has a task of its own, and may have fewer scopes and tools than this: "
        "portico policy explain key:ID TOOL\n"
    ) in capsys.readouterr().out


def test_a_decision_is_told_whole_to_a_program(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["policy", "explain", "key:0123456789ab", "mail.send", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == EXPLAINED


def test_the_rules_are_listed_in_a_few_words(house: ScriptedHouse, capsys: Captured) -> None:
    assert run(house, ["policy", "list"]) == 0

    assert capsys.readouterr().out == snapshot("""\
no-mail	deny	mail.*	everybody		database	ana	-
of-the-file	allow	mail.*	role:member	but git.drop, external_write, tainted up to team, in ctx_1	file	-	-
""")  # noqa: E501 # a line as it is printed


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (
            ["allow", "git.*", "mail.send", "--but", "git.drop", "--who", "ana", "--tainted"],
            {
                "decision": "allow",
                "tools": ["git.*", "mail.send"],
                "except": ["git.drop"],
                "who": ["ana"],
                "effects": [],
                "tainted": True,
                "upto": "public",
                "days": None,
                "name": None,
            },
        ),
        (
            ["ask", "*", "--reads", "--who", "kind:agent", "--who", "key:0", "--name", "careful"],
            {
                "decision": "ask",
                "tools": ["*"],
                "except": [],
                "who": ["kind:agent", "key:0"],
                "effects": [],
                "reads": True,
                "days": None,
                "name": "careful",
            },
        ),
        (
            ["deny", "*", "--effects", "irreversible", "--days", "7"],
            {
                "decision": "deny",
                "tools": ["*"],
                "except": [],
                "who": [],
                "effects": ["irreversible"],
                "days": 7,
                "name": None,
            },
        ),
    ],
)
def test_a_rule_is_said_in_one_line(
    house: ScriptedHouse,
    server: ScriptedServer,
    capsys: Captured,
    words: list[str],
    sent: dict[str, Any],
) -> None:
    assert run(house, ["policy", *words]) == 0

    assert server.asked[0] == ("POST /policy/rules", sent)
    assert capsys.readouterr().out == "The rule no-mail is in force.\n"


def test_a_rule_is_removed_by_its_name(
    house: ScriptedHouse, server: ScriptedServer, capsys: Captured
) -> None:
    assert run(house, ["policy", "remove", "no-mail"]) == 0

    assert server.asked == [("DELETE /policy/rules/no-mail", None)]
    assert capsys.readouterr().out == "Removed no-mail.\n"


def test_a_name_that_is_no_name_reaches_no_other_place(
    house: ScriptedHouse, server: ScriptedServer
) -> None:
    assert run(house, ["policy", "remove", "../../keys/0123"]) != 0

    assert server.asked == []


def test_a_key_and_an_agent_are_made_for_some_tools(
    house: ScriptedHouse, server: ScriptedServer
) -> None:
    assert run(house, ["keys", "create", "ci", "--tools", "git.*", "--tools", "mail.send"]) == 0
    assert run(house, ["people", "add", "scout", "--tools", "git.*"]) == 0

    assert [sent["tools"] for _, sent in server.asked] == [["git.*", "mail.send"], ["git.*"]]


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (["mail.*", "post.*"], "post.* fits no tool that there is now."),
        (["*.resource"], None),
        (["mail.send"], None),
    ],
)
def test_a_rule_about_nothing_that_there_is_says_so(
    house: ScriptedHouse,
    server: ScriptedServer,
    capsys: Captured,
    made: list[str],
    named: str | None,
) -> None:
    server.answers = {
        "POST /policy/rules": a_rule(tools=made),
        "GET /tools": {"data": [{"tool": "mail.send"}], "next": None},
        "GET /servers": [{"name": "mail"}],
    }

    assert run(house, ["policy", "deny", *made]) == 0

    err = capsys.readouterr().err
    assert (named in err) if named else ("fits no tool" not in err)
