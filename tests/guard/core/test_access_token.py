"""What can be said of a token without a key."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portico.guard.core.tokens import Issuer, ShownToken, flaw

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
