"""What a rule is about, what its wildcards stand for, and what is wrong with one."""

import fnmatch
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.guard.core.access_request import AccessRequest, ActionTarget, TaintContext
from portico.guard.core.rules import (
    Rule,
    RuleSource,
    Ruling,
    fits,
    flaws_of,
    in_any_task,
    matching,
    naming,
    within,
)
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy

TASK = ContextId.mint(BEGINNING, SeededEntropy("task"))
OTHER = ContextId.mint(BEGINNING, SeededEntropy("other"))
HERE = TaintContext(id=TASK)
ANA = replace(a_person("ana"), key="k1")
AGENT = replace(a_person("agent"), kind=PrincipalKind.AGENT)
DENY = Rule(name="no", ruling=Ruling.DENY, tools=("git.*",))


def an_act(effect: Effect = Effect.LOCAL_WRITE, tool: str = "git.use") -> AccessRequest:
    return AccessRequest(
        caller=ANA, target=ActionTarget(tool=tool, server="git", effect=effect, pin="p")
    )


@pytest.mark.parametrize(
    ("who", "found"),
    [
        ((), True),
        (("ana",), True),
        (("a*",), True),
        (("Ana",), False),
        (("ben", "ana"), True),
        (("ben",), False),
        (("role:member",), True),
        (("role:viewer",), False),
        (("kind:person",), True),
        (("kind:agent",), False),
        (("key:k1",), True),
        (("key:k2",), False),
    ],
)
def test_a_rule_is_about_whom_it_names(who: tuple[str, ...], found: bool) -> None:
    assert replace(DENY, who=who).about(an_act(), HERE) is found


def test_nobody_passes_for_a_role_or_a_key_by_a_name() -> None:
    pretender = replace(an_act(), caller=a_person("role:admin", roles=[]))

    assert not replace(DENY, who=("role:admin",)).about(pretender, HERE)

    keyless = replace(an_act(), caller=AGENT)

    assert not replace(DENY, who=("key:None",)).about(keyless, HERE)


def test_a_rule_is_about_its_tools_in_its_task() -> None:
    rule = replace(DENY, tools=("git.*", "mail.send"), but=("git.get_*",))

    assert rule.about(an_act(tool="git.drop"), HERE)
    assert rule.about(an_act(tool="mail.send"), HERE)
    assert not rule.about(an_act(tool="git.get_it"), HERE)
    assert not rule.about(an_act(tool="mail.read"), HERE)

    assert replace(DENY, context=TASK).about(an_act(), HERE)
    assert not replace(DENY, context=OTHER).about(an_act(), HERE)


@pytest.mark.parametrize(
    ("ruling", "effect", "found"),
    [
        (Ruling.DENY, Effect.EXTERNAL_READ, False),
        (Ruling.DENY, Effect.EXTERNAL_WRITE, True),
        (Ruling.DENY, Effect.UNKNOWN, True),
        (Ruling.ASK, Effect.LOCAL_WRITE, False),
        (Ruling.ASK, Effect.IRREVERSIBLE, True),
        (Ruling.ALLOW, Effect.PURE, True),
        (Ruling.ALLOW, Effect.EXTERNAL_WRITE, True),
        (Ruling.ALLOW, Effect.IRREVERSIBLE, False),
        (Ruling.ALLOW, Effect.UNKNOWN, False),
    ],
)
def test_an_effect_stands_for_what_is_worse_or_for_what_is_milder(
    ruling: Ruling, effect: Effect, found: bool
) -> None:
    rule = replace(DENY, ruling=ruling, effects=frozenset({Effect.EXTERNAL_WRITE}))

    assert rule.about(an_act(effect), HERE) is found


def test_a_rule_that_asks_is_about_reads_only_if_it_says_so() -> None:
    asks = replace(DENY, ruling=Ruling.ASK)

    assert not asks.about(an_act(Effect.EXTERNAL_READ), HERE)
    assert replace(asks, reads=True).about(an_act(Effect.EXTERNAL_READ), HERE)


def test_rules_are_found_by_name_wherever_they_stand() -> None:
    first, second = replace(DENY, name="a"), replace(DENY, name="b")
    of_the_file = replace(first, source=RuleSource.FILE)

    found = matching([second, of_the_file, first], an_act(), HERE, BEGINNING)

    assert found == [first, of_the_file, second]


def test_where_the_task_is_not_known_what_one_was_allowed_counts_in_none() -> None:
    allowed = replace(DENY, ruling=Ruling.ALLOW, context=TASK)
    denied, everywhere = replace(DENY, context=TASK), replace(allowed, context=None)

    assert in_any_task([allowed, denied, everywhere]) == [DENY, everywhere]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "with spaces"}, "name"),
        ({"name": "default:reads"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"tools": ()}, "tools"),
        ({"tools": ("git .*",)}, "tools"),
        ({"tools": ("a,b",)}, "tools"),
        ({"tools": ("a.b",) * 201}, "tools"),
        ({"tools": ("notadot",)}, "tools"),
        ({"but": ("notadot",)}, "except"),
        ({"but": ("",)}, "except"),
        ({"who": ("role:boss",)}, "who"),
        ({"who": ("kind:robot",)}, "who"),
        ({"who": ("key:short",)}, "who"),
        ({"who": ("rol:member",)}, "who"),
        ({"who": ("",)}, "who"),
        ({"reads": True}, "reads"),
        ({"tainted": True}, "tainted"),
        ({"max_label": Label(Level.TEAM)}, "upto"),
        ({"ruling": Ruling.ASK, "effects": frozenset({Effect.PURE})}, "effects"),
    ],
)
def test_a_rule_that_cannot_be_meant_says_why(change: dict[str, object], field: str) -> None:
    flaws = flaws_of(replace(DENY, **change))  # type: ignore[arg-type] # one field of many

    assert [flaw.field for flaw in flaws] == [field]


@pytest.mark.parametrize(
    "rule",
    [
        DENY,
        replace(DENY, who=("ana", "a*", "role:admin", "kind:worker", "key:0123456789ab")),
        replace(DENY, ruling=Ruling.ASK, reads=True, effects=frozenset({Effect.PURE})),
        replace(DENY, ruling=Ruling.ASK, effects=frozenset({Effect.PURE, Effect.LOCAL_WRITE})),
        replace(DENY, ruling=Ruling.ALLOW, tainted=True),
        replace(DENY, ruling=Ruling.ALLOW, tainted=True, max_label=Label(Level.TEAM)),
        replace(DENY, name="apr_01jq-x.y"),
    ],
)
def test_a_rule_that_can_be_meant_has_no_flaw(rule: Rule) -> None:
    assert flaws_of(rule) == []


def test_rules_that_name_somebody_are_told_from_those_about_everybody() -> None:
    rules = [
        replace(DENY, name=name, who=who)
        for name, who in {
            "all": (),
            "any": ("*",),
            "role": ("role:ana", "kind:person"),
            "her": ("ben", "ana"),
            "some": ("a*",),
            "others": ("b*",),
        }.items()
    ]

    assert [rule.name for rule in naming(rules, "ana")] == ["her", "some"]


NAMES = st.text(alphabet="abA.\n", max_size=8)
WILDCARDS = st.text(alphabet="abA.*?\n", max_size=8)


@pytest.mark.parametrize(
    ("name", "wildcard", "found"),
    [
        ("github.create_issue", "github.*", True),
        ("github.create_issue", "github.create_issue", True),
        ("github.create_issue", "github.create_?ssue", True),
        ("github.a.b", "github.*", True),
        ("github.a", "*", True),
        ("github.a", "*.a", True),
        ("github.abab", "git*ab*ab", True),
        ("github.ab", "git*ab*ab", False),
        ("github.a", "GitHub.*", False),
        ("github.a", "github", False),
        ("github.a", "github.", False),
        ("github", "github?", False),
        ("githubXa", "github.a", False),
        ("github.[a]", "github.[a]", True),
        ("github.a", "github.[a]", False),
        ("a\nb", "a?b", True),
        ("", "", True),
        ("", "*", True),
    ],
)
def test_a_wildcard_stands_for_names(name: str, wildcard: str, found: bool) -> None:
    assert fits(name, (wildcard,)) is found


def test_no_wildcard_stands_for_nothing() -> None:
    assert not fits("github.a", ())


@given(NAMES, WILDCARDS)
def test_it_agrees_with_the_shell(name: str, wildcard: str) -> None:
    shell = re.compile(fnmatch.translate(wildcard))

    assert fits(name, (wildcard,)) is (shell.match(name) is not None)


def test_a_hostile_wildcard_takes_no_longer_than_another() -> None:
    assert not fits("a" * 5_000 + "c", ("a*" * 90 + "b",))


@pytest.mark.parametrize(
    ("narrow", "wide", "found"),
    [
        (["github.get_*"], ["github.*"], True),
        (["github.*"], ["github.get_*"], False),
        (["github.*"], ["github.*"], True),
        (["a.*", "b.*"], ["*"], True),
        (["a.*", "b.*"], ["a.*"], False),
        (["a.?"], ["a.?"], True),
        (["a.*"], ["a.?"], False),
        (["a.b"], ["a.?"], True),
        ([], ["a.*"], True),
        (["a.b"], [], False),
    ],
)
def test_one_list_is_within_another(narrow: list[str], wide: list[str], found: bool) -> None:
    assert within(narrow, wide) is found


@given(NAMES, WILDCARDS, WILDCARDS)
def test_what_is_within_names_nothing_more(name: str, narrow: str, wide: str) -> None:
    if within([narrow], [wide]) and fits(name, [narrow]):
        assert fits(name, [wide])
