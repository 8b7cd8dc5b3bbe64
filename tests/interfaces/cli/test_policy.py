"""Who may do what, at a terminal: explained in words, said in one line."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.interfaces.cli.command_line import CommandLine, Outcome


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


def said(cli: CommandLine, words: str, some: Any = None) -> Outcome:
    return cli(words, ANSWERS | (some or {}))


def test_a_decision_is_told_with_what_would_change_it(cli: CommandLine) -> None:
    words = "policy explain key:0123456789ab mail.send"

    assert said(cli, words).out == snapshot("""\
ana may not use mail.send: a rule that ana made denies it
  rule     no-mail
  effect   external_write
  task     of key 0123456789ab, has read team and what strangers wrote
  matched  no-mail (deny, database)
  without the rule no-mail: needs approval
""")
    assert said(cli, f"{words} --json").json == EXPLAINED


def test_what_is_told_of_a_name_is_told_of_no_key_and_how_to_ask_for_one(cli: CommandLine) -> None:
    assert (
        "  task     of no key, has read public and no strangers' words\n"
        "  keys     each has a task of its own, and may have fewer scopes and tools than this: "
        "portico policy explain key:ID TOOL\n"
    ) in said(cli, "policy explain ana mail.send").out


def test_the_rules_are_listed_in_a_few_words(cli: CommandLine) -> None:
    assert said(cli, "policy list").out == snapshot("""\
no-mail	deny	mail.*	everybody		database	ana	-
of-the-file	allow	mail.*	role:member	but git.drop, external_write, tainted up to team, in ctx_1	file	-	-
""")  # noqa: E501 # a line as it is printed


BARE: dict[str, Any] = {"except": [], "who": [], "effects": [], "days": None, "name": None}


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ("allow git.* mail.send --but git.drop --who ana --tainted",
         {"decision": "allow", "tools": ["git.*", "mail.send"], "except": ["git.drop"],
          "who": ["ana"], "tainted": True, "upto": "public"}),
        ("ask * --reads --who kind:agent --who key:0 --name careful",
         {"decision": "ask", "tools": ["*"], "who": ["kind:agent", "key:0"], "reads": True,
          "name": "careful"}),
        ("deny * --effects irreversible --days 7",
         {"decision": "deny", "tools": ["*"], "effects": ["irreversible"], "days": 7}),
    ],
)  # fmt: skip
def test_a_rule_is_said_in_one_line(cli: CommandLine, words: str, sent: dict[str, Any]) -> None:
    got = said(cli, f"policy {words}")

    assert got.asked[0] == ("POST /policy/rules", BARE | sent)
    assert got.out == "The rule no-mail is in force.\n"


def test_a_rule_is_removed_by_its_name(cli: CommandLine) -> None:
    got = said(cli, "policy remove no-mail")

    assert got.asked == [("DELETE /policy/rules/no-mail", None)]
    assert got.out == "Removed no-mail.\n"


def test_a_key_and_an_agent_are_made_for_some_tools(cli: CommandLine) -> None:
    key = said(cli, "keys create ci --tools git.* --tools mail.send")
    agent = said(cli, "people add scout --tools git.*")

    assert key.sent[0]["tools"] == ["git.*", "mail.send"]
    assert agent.sent[0]["tools"] == ["git.*"]


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (["mail.*", "post.*"], "post.* fits no tool that there is now."),
        (["*.resource"], ""),
        (["mail.send"], ""),
    ],
)
def test_a_rule_about_nothing_that_there_is_says_so(
    cli: CommandLine, made: list[str], named: str
) -> None:
    some = {
        "POST /policy/rules": a_rule(tools=made),
        "GET /tools": {"data": [{"tool": "mail.send"}], "next": None},
        "GET /servers": [{"name": "mail"}],
    }

    err = said(cli, f"policy deny {' '.join(made)}", some).err

    assert named in err
    assert ("fits no tool" in err) == bool(named)
