"""What is drawn of sessions, keys, people and rules."""

from datetime import timedelta
from typing import Any

import pytest

from portico.guard.core.keys import OpenedWith, Purpose, StoredKey
from portico.guard.core.principals import Identity, Role, Scope, scopes_of
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.interfaces.console.forms import Form, InvalidForm
from portico.interfaces.console.screens.keys import key_line, scope_choices
from portico.interfaces.console.screens.policy import rule_line
from portico.interfaces.console.screens.principals import person_line, sessions
from portico.interfaces.console.screens.settings_form import levels, maybe_label, tabs, words_in
from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy

NOW = BEGINNING + timedelta(days=1)
SPACE = SpaceId.mint(BEGINNING, SeededEntropy("space"))
TEAM = Label.parse("team")


def principal(name: str, *roles: Role, clearance: str = "team") -> Principal:
    return Principal(
        id=PrincipalId.mint(BEGINNING, SeededEntropy(name)),
        space=SPACE,
        kind=PrincipalKind.PERSON,
        name=name,
        roles=frozenset(roles),
        scopes=scopes_of(roles),
        clearance=Label.parse(clearance),
    )


ANA, BO = principal("ana", Role.ADMIN, clearance="restricted"), principal("bo", Role.MEMBER)


def key(of: Principal, name: str = "k", **more: Any) -> StoredKey:
    fields: dict[str, Any] = {
        "id": name.ljust(12, "0"),
        "space": SPACE,
        "principal": of.id,
        "purpose": Purpose.ACCESS,
        "name": name,
        "scopes": None,
        "clearance": TEAM,
        "created_at": BEGINNING,
    }
    return StoredKey(**{**fields, **more})


def test_each_sees_the_pages_that_they_may_open() -> None:
    viewer = principal("vi", Role.VIEWER)

    assert [tab.name for tab in tabs(ANA)] == [
        "You",
        "Keys",
        "People",
        "Policy",
        "Secrets",
        "About",
    ]
    assert [tab.name for tab in tabs(BO)] == ["You", "Keys", "People", "Policy", "About"]
    assert [tab.name for tab in tabs(viewer)] == ["You", "About"]


def test_sessions_are_ones_own_with_this_one_first_and_those_of_others() -> None:
    def session(of: Principal, name: str) -> StoredKey:
        opened = OpenedWith("opener", None)
        return key(of, name, purpose=Purpose.SESSION, opened_with=opened)

    found = sessions(
        [session(ANA, "one"), session(ANA, "here"), session(BO, "theirs")],
        ANA,
        "here".ljust(12, "0"),
        {BO.id: "bo"},
    )

    assert [(each.browser, each.here) for each in found.own] == [("here", True), ("one", False)]
    assert [each.who for each in found.others] == ["bo"]
    assert [each.browser for each in found.elsewhere] == ["one"]


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "never used"),
        ({"last_used_at": BEGINNING}, "in use"),
        ({"expires_at": NOW + timedelta(days=1)}, "ends soon"),
        ({"expires_at": NOW}, "ended"),
        ({"revoked_at": BEGINNING, "expires_at": NOW}, "revoked"),
    ],
)
def test_how_a_key_stands(more: dict[str, Any], state: str) -> None:
    assert key_line(key(ANA, **more), ANA, {}, NOW).state == state


def test_a_key_is_changed_by_whoever_may_while_it_works() -> None:
    own, theirs = key_line(key(BO), BO, {}, NOW), key_line(key(ANA), BO, {}, NOW)
    over = key_line(key(BO, revoked_at=BEGINNING), BO, {}, NOW)

    assert (own.who, own.may_rotate, own.may_revoke) == ("you", True, True)
    assert (theirs.may_rotate, theirs.may_revoke) == (False, False)
    assert (over.may_rotate, over.may_revoke) == (False, False)


def test_only_scopes_that_one_has_are_offered() -> None:
    offered = [each.name for each in scope_choices(BO)]

    assert Scope.POLICY_WRITE not in offered
    assert set(offered) == {*BO.scopes}


def test_nobody_gives_a_higher_level_than_their_own() -> None:
    assert levels(BO) == ["public", "team"]
    assert levels(ANA) == ["public", "team", "confidential", "restricted"]


def test_a_person_is_changed_by_an_admin_and_never_by_themselves() -> None:
    def identity(of: Principal, kind: PrincipalKind = PrincipalKind.PERSON) -> Identity:
        return Identity(
            id=of.id,
            space=SPACE,
            kind=kind,
            name=of.name,
            roles=frozenset({Role.OPERATOR, Role.MEMBER}),
            clearance=Label.parse("team+b+a"),
            created_at=BEGINNING,
        )

    line = person_line(identity(BO), ANA)

    assert (line.may_change, line.may_invite) == (True, True)
    assert (line.roles, line.role) == (("member", "operator"), "operator")
    assert (line.level, line.compartments) == ("team", "a, b")
    assert not person_line(identity(ANA), ANA).may_change
    assert not person_line(identity(BO, PrincipalKind.AGENT), ANA).may_invite
    assert not person_line(identity(ANA), BO).may_change


def test_a_rule_in_words() -> None:
    rule = Rule(
        name="r",
        ruling=Ruling.ALLOW,
        tools=("mail.*",),
        effects=frozenset({Effect.EXTERNAL_WRITE, Effect.LOCAL_READ}),
        tainted=True,
        max_label=TEAM,
        context=ContextId.of_digest(b"x"),
        expires_at=NOW,
    )

    line = rule_line(rule, ANA, NOW)

    assert (line.decision, line.tone, line.over) == ("allows", "ok", True)
    assert line.effects == ("local read", "external write")
    assert line.notes == ("also after strangers' words, up to team", "in one task only")
    assert line.may_remove
    assert not rule_line(rule, BO, NOW).may_remove


def test_a_rule_of_the_file_is_not_removed_here() -> None:
    rule = Rule(name="r", ruling=Ruling.ASK, tools=("*",), reads=True, source=RuleSource.FILE)

    line = rule_line(rule, ANA, NOW)

    assert (line.source, line.may_remove, line.notes) == ("portico.toml", False, ("reads too",))


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, None),
        ({"x": ["team"]}, "team"),
        ({"x": ["team"], "x_compartments": ["b, a"]}, "team+a+b"),
    ],
)
def test_a_label_is_put_together(fields: dict[str, list[str]], label: str | None) -> None:
    found = maybe_label(Form(fields), "x")

    assert (None if found is None else str(found)) == label


@pytest.mark.parametrize(
    "fields", [{"x": ["sky"]}, {"x_compartments": ["a"]}, {"x": ["team"], "x_compartments": ["A!"]}]
)
def test_what_is_no_label_is_refused(fields: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidForm):
        maybe_label(Form(fields), "x")


def test_lists_are_separated_by_whatever_people_write() -> None:
    assert words_in(Form({"x": ["a.*, b.c\nd.e  a.*"]}), "x") == ("a.*", "b.c", "d.e")
    with pytest.raises(InvalidForm):
        words_in(Form({"x": [" ".join(f"n{each}" for each in range(201))]}), "x")
