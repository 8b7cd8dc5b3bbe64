"""Whom a token stands for, and what it brings."""

from typing import Any

import pytest

from portico.guard.core.principals import FOR_AGENTS, NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.tokens import (
    EVERY,
    ShownToken,
    SubjectRule,
    grant_id,
    granted,
    grants_of,
    most,
    rule_for,
    wanted,
)

ISSUER = "https://login.example"


def shown(**claims: Any) -> ShownToken:
    return ShownToken("text", {}, {"iss": ISSUER, "sub": "s-1", **claims})


@pytest.mark.parametrize(
    ("rule", "claims", "fits"),
    [
        (SubjectRule(subject="s-1", principal="ana"), {}, True),
        (SubjectRule(subject="s-2", principal="ana"), {}, False),
        (SubjectRule(issuer="https://o.example", subject="s-1", principal="ana"), {}, False),
        (SubjectRule(claim="groups", like="staff-*", principal="p"), {"groups": ["staff-a"]}, True),
        (SubjectRule(claim="groups", like="staff-*", principal="p"), {"groups": ["guests"]}, False),
        (SubjectRule(claim="groups", principal="p"), {"groups": [7]}, False),
        (SubjectRule(claim="groups", principal="p"), {}, False),
        (
            SubjectRule(claim="email", like="*@a.example", principal="p"),
            {"email": "x@a.example"},
            False,
        ),
        (
            SubjectRule(claim="email", like="*@a.example", principal="p"),
            {"email": "x@a.example", "email_verified": True},
            True,
        ),
        (
            SubjectRule(claim="email", like="*@a.example", principal="p"),
            {"email": "x@a.example.evil", "email_verified": True},
            False,
        ),
    ],
)
def test_a_rule_fits_what_it_says(rule: SubjectRule, claims: dict[str, Any], fits: bool) -> None:
    assert rule.fits(shown(**claims)) is fits


def test_the_first_rule_that_fits_counts() -> None:
    rules = [SubjectRule(subject="s-1", principal="a"), SubjectRule(claim="sub", principal="b")]

    assert rule_for(rules, shown()) is rules[0]
    assert rule_for(rules, shown(sub="s-2")) is rules[1]
    assert rule_for([], shown()) is None


def test_somebody_new_is_named_after_what_they_were_known_by() -> None:
    by_mail = SubjectRule(claim="email", create=Role.MEMBER)
    by_group = SubjectRule(claim="groups", create=Role.MEMBER)
    by_subject = SubjectRule(subject="s-1", create=Role.MEMBER)

    assert by_mail.name_of(shown(email="x@a.example")) == "x@a.example"
    assert by_group.name_of(shown(groups=["staff"])) == "s-1"
    assert by_subject.name_of(shown()) == "s-1"


def test_scopes_of_a_token_bring_roles_and_scopes_of_ours() -> None:
    grants = grants_of({"read": ["viewer"], "call": ["tools:call", "tools:write"], EVERY: []})

    assert granted(["call"], grants) == {Scope.TOOLS_CALL, Scope.TOOLS_WRITE}
    assert granted(["read", "strange"], grants) == SCOPES_OF[Role.VIEWER]
    assert granted([], grants) == frozenset()
    assert granted([], grants_of({EVERY: ["status:read"]})) == {Scope.STATUS_READ}
    with pytest.raises(ValueError, match="nothing"):
        grants_of({"x": ["nothing"]})


def test_what_is_for_whoever_sits_in_front_of_a_program_is_only_brought_by_its_own_name() -> None:
    personal = {Scope.APPROVALS_ANSWER, *NEVER_OF_PROGRAMS}

    assert granted(["all"], grants_of({"all": ["admin"]})) == SCOPES_OF[Role.ADMIN] - personal
    assert granted(["all"], grants_of({"all": sorted(personal)})) == personal


def test_who_lacks_a_scope_is_told_the_least_that_brings_it() -> None:
    grants = grants_of({"all": ["admin"], "read": ["viewer"], EVERY: ["metrics:read"]})

    assert wanted("tools:read", grants) == "read"
    assert wanted("space:delete", grants) == "all"
    assert wanted("metrics:read", grants) is None


def test_tokens_of_one_kind_are_one_grant_and_of_another_another() -> None:
    first = grant_id(b"p", shown(jti="1", scope="one"), "ana")

    assert grant_id(b"p", shown(jti="2", scope="one two"), "ana") == first
    others = {
        grant_id(b"q", shown(), "ana"),
        grant_id(b"p", shown(), "ben"),
        grant_id(b"p", shown(client_id="c"), "ana"),
        grant_id(b"p", shown(sub="s-2"), "ana"),
        grant_id(b"p", shown(iss="https://o.example"), "ana"),
    }
    assert len(others) == 5
    assert first not in others
    assert len(first) == 12


def test_whoever_is_made_is_the_same_by_whichever_rule() -> None:
    member, viewer = SubjectRule(create=Role.MEMBER), SubjectRule(create=Role.VIEWER)

    assert member.whom == viewer.whom != SubjectRule(principal="made").whom


@pytest.mark.parametrize(
    "name",
    ["ci-*", "ci-?", "role:admin", "a\u202eb", "a\nb", " ana", "", "\uff41\uff4e\uff41", "n" * 65],
)
def test_what_is_no_plain_name_is_nobodys(name: str) -> None:
    by_nick = SubjectRule(claim="nick", create=Role.MEMBER)

    assert by_nick.name_of(shown(nick=name)) is None
    assert SubjectRule(claim="groups", create=Role.MEMBER).name_of(shown(sub=name)) is None


def test_a_grant_holds_all_that_its_tokens_may_bring() -> None:
    grants = grants_of({"all": ["admin"], "few": ["status:read"]})

    assert most(grants) >= granted(["all", "few"], grants)
    assert most({}) == FOR_AGENTS
