"""Access tokens of other issuers: their claims, and whom they stand for here."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portico.guard.core.principals import FOR_AGENTS, NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.tokens import (
    EVERY,
    Issuer,
    ShownToken,
    SubjectRule,
    flaw,
    grant_id,
    granted,
    grants_of,
    max_scopes,
    rule_for,
    wanted,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = int(NOW.timestamp())
US = "https://portico.example/mcp"
ISSUER = Issuer(url="https://login.example", audience=US, beside=frozenset({"https://beside"}))
HEADER = {"alg": "RS256", "typ": "at+jwt", "kid": "k"}
CLAIMS = {"iss": ISSUER.url, "aud": US, "sub": "ana", "exp": AT + 60}


def shown(header: dict[str, Any] | None = None, **claims: object) -> ShownToken:
    both = [json.dumps({**HEADER, **(header or {})}), json.dumps({**CLAIMS, **claims})]
    parts = [base64.urlsafe_b64encode(each.encode()).rstrip(b"=").decode() for each in both]
    made = ShownToken.parse(".".join([*parts, "c2ln"]))
    assert made is not None
    return made


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"aud": [US]},
        {"aud": [US, "https://beside"]},
        {"nbf": AT, "iat": AT - 5},
        {"exp": AT - 29},
        {"exp": AT + 0.5},
        {"typ": "Bearer"},
        {"typ": "at+jwt"},
    ],
)
def test_a_token_that_was_made_for_us_has_no_flaw(claims: dict[str, Any]) -> None:
    assert flaw(shown(**claims), ISSUER, NOW) is None


@pytest.mark.parametrize(
    ("header", "claims", "said"),
    [
        ({"jku": "https://evil.example"}, {}, "jku"),
        ({"alg": "HS256"}, {}, "algorithm"),
        ({"alg": 1}, {}, "algorithm"),
        ({"typ": "JWT"}, {}, "access token"),
        ({"typ": None}, {}, "access token"),
        ({"kid": "a b"}, {}, "no key"),
        ({"kid": None}, {}, "no key"),
        ({}, {"exp": True}, "times"),
        ({}, {"exp": -1}, "times"),
        ({}, {"nbf": "x"}, "times"),
        ({}, {"exp": AT - 30}, "expired"),
        ({}, {"nbf": AT + 31}, "not yet"),
        ({}, {"iss": "https://other.example"}, "somebody else's"),
        ({}, {"aud": "https://other.example"}, "another server"),
        ({}, {"aud": [US, "https://other.example"]}, "another server"),
        ({}, {"aud": 7}, "another server"),
        ({}, {"aud": [US, 7]}, "another server"),
        ({}, {"nonce": "n"}, "nonce"),
        ({}, {"typ": "ID"}, "says itself"),
        ({}, {"sub": 7}, "nobody"),
        ({}, {"sub": "a\u0000"}, "nobody"),
        ({}, {"sub": " ana"}, "nobody"),
        ({}, {"sub": "x" * 301}, "nobody"),
    ],
)
def test_every_flaw_is_named(header: dict[str, Any], claims: dict[str, Any], said: str) -> None:
    found = flaw(shown(header, **claims), ISSUER, NOW)

    assert found is not None
    assert said in found


def test_an_issuer_may_sign_its_tokens_otherwise() -> None:
    other = Issuer(url=ISSUER.url, audience=US, types=frozenset({"JWT"}), leeway=timedelta(0))

    assert flaw(shown({"typ": "jwt"}), other, NOW) is None
    assert flaw(shown(), other, NOW) is not None

    open_to_all = Issuer(url=ISSUER.url, audience=US, algorithms=frozenset({"none", "HS256"}))

    assert flaw(shown({"alg": "HS256"}), open_to_all, NOW) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c.d",
        "a.b.c",
        "e30.W10.c2ln",
        "e30=.e30.c2ln",
        "e31.e30.c2ln",
        "x" * 20_000,
        "e30.eyJhIjpOYU59.c2ln",
        "e30.eyJhIjoxLCJhIjoyfQ.c2ln",
        "gICA.e30.c2ln",
    ],
)
def test_what_cannot_be_a_token_is_none(text: str) -> None:
    assert ShownToken.parse(text) is None


def test_a_token_tells_what_it_says_and_does_not_show_itself() -> None:
    token = shown(client_id="c", scope="a b")

    assert (token.issuer, token.subject, token.client) == (ISSUER.url, "ana", "c")
    assert (token.key_id, token.algorithm, token.expires_at) == ("k", "RS256", AT + 60)
    assert token.scopes == {"a", "b"}
    assert repr(token) == "ShownToken(…)"


@pytest.mark.parametrize(
    ("claims", "scopes", "client"),
    [
        ({"scp": ["a", 7, "b"], "azp": "z"}, {"a", "b"}, "z"),
        ({"scope": {"a": 1}, "client_id": 7}, set(), ""),
        ({}, set(), ""),
    ],
)
def test_scopes_and_clients_come_in_several_forms(
    claims: dict[str, Any], scopes: set[str], client: str
) -> None:
    token = shown(**claims)

    assert token.scopes == scopes
    assert token.client == client


SUBJECT_ISSUER = "https://login.example"


def shown_subject(**claims: Any) -> ShownToken:
    return ShownToken("text", {}, {"iss": SUBJECT_ISSUER, "sub": "s-1", **claims})


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
    assert rule.fits(shown_subject(**claims)) is fits


def test_the_first_rule_that_fits_counts() -> None:
    rules = [SubjectRule(subject="s-1", principal="a"), SubjectRule(claim="sub", principal="b")]

    assert rule_for(rules, shown_subject()) is rules[0]
    assert rule_for(rules, shown_subject(sub="s-2")) is rules[1]
    assert rule_for([], shown_subject()) is None


def test_somebody_new_is_named_after_what_they_were_known_by() -> None:
    by_mail = SubjectRule(claim="email", create=Role.MEMBER)
    by_group = SubjectRule(claim="groups", create=Role.MEMBER)
    by_subject = SubjectRule(subject="s-1", create=Role.MEMBER)

    assert by_mail.name_of(shown_subject(email="x@a.example")) == "x@a.example"
    assert by_group.name_of(shown_subject(groups=["staff"])) == "s-1"
    assert by_subject.name_of(shown_subject()) == "s-1"


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
    first = grant_id(b"p", shown_subject(jti="1", scope="one"), "ana")

    assert grant_id(b"p", shown_subject(jti="2", scope="one two"), "ana") == first
    others = {
        grant_id(b"q", shown_subject(), "ana"),
        grant_id(b"p", shown_subject(), "ben"),
        grant_id(b"p", shown_subject(client_id="c"), "ana"),
        grant_id(b"p", shown_subject(sub="s-2"), "ana"),
        grant_id(b"p", shown_subject(iss="https://o.example"), "ana"),
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

    assert by_nick.name_of(shown_subject(nick=name)) is None
    assert SubjectRule(claim="groups", create=Role.MEMBER).name_of(shown_subject(sub=name)) is None


def test_a_grant_holds_all_that_its_tokens_may_bring() -> None:
    grants = grants_of({"all": ["admin"], "few": ["status:read"]})

    assert max_scopes(grants) >= granted(["all", "few"], grants)
    assert max_scopes({}) == FOR_AGENTS
