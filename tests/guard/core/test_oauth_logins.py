"""The nouns of a login: what is asked for, and of whom."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from inline_snapshot import snapshot

from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    ClientRegistration,
    DiscoveredLogin,
    LoginClient,
    LoginPlace,
    Tokens,
    client_context,
    digest_of,
    first_text,
    fresh_text,
    is_private_way,
    is_resource_of,
    link_to,
    may_be_visited,
    resource_urls,
    scope_for,
    server_urls,
    texts,
    whose_answer,
)
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.testing.memory_store import SeededEntropy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVER = AuthorizationServer(
    issuer="https://login.example",
    authorize_url="https://login.example/auth",
    token_url="https://login.example/token",
)
KNOWN = ClientRegistration(server=SERVER, client_id="c", resource="https://tools.example/mcp")


def a_place(number: int = 1) -> LoginPlace:
    one = UUID(int=number)
    return LoginPlace(
        space=SpaceId(one),
        principal=PrincipalId(one),
        server=Id(one),
        name="tools",
        url="https://tools.example/mcp",
    )


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        (
            'Bearer resource_metadata="https://a/b", scope="x y"',
            Challenge(metadata_url="https://a/b", scope="x y"),
        ),
        ("bearer", Challenge()),
        ("Basic realm=x, Bearer scope=y", Challenge(scope="y")),
        ('Basic realm="bearers"', None),
        ("", None),
    ],
)
def test_a_challenge_is_read(header: str, challenge: Challenge | None) -> None:
    assert Challenge.parse(header) == challenge


def test_where_a_server_may_describe_itself() -> None:
    named = Challenge(metadata_url="https://t.example/m")

    assert resource_urls("https://t.example/a/mcp", named) == snapshot(
        [
            "https://t.example/m",
            "https://t.example/.well-known/oauth-protected-resource/a/mcp",
            "https://t.example/.well-known/oauth-protected-resource",
        ]
    )
    assert resource_urls("https://t.example/", Challenge()) == snapshot(
        ["https://t.example/.well-known/oauth-protected-resource"]
    )
    assert server_urls("https://l.example") == snapshot(
        [
            "https://l.example/.well-known/oauth-authorization-server",
            "https://l.example/.well-known/openid-configuration",
        ]
    )
    assert server_urls("https://l.example/t/") == snapshot(
        [
            "https://l.example/.well-known/oauth-authorization-server/t",
            "https://l.example/.well-known/openid-configuration/t",
            "https://l.example/t/.well-known/openid-configuration",
        ]
    )


@pytest.mark.parametrize(
    ("resource", "url", "its"),
    [
        ("https://t.example/mcp", "https://t.example/mcp", True),
        ("https://T.example", "https://t.example/mcp", True),
        ("https://t.example/m", "https://t.example/mcp", False),
        ("https://o.example/mcp", "https://t.example/mcp", False),
        ("http://t.example/mcp", "https://t.example/mcp", False),
        ("https://t.example/mcp/deeper", "https://t.example/mcp", False),
    ],
)
def test_a_server_may_only_call_itself_what_it_is(resource: str, url: str, its: bool) -> None:
    assert is_resource_of(resource, url) is its


@pytest.mark.parametrize(
    ("url", "issuer", "may"),
    [
        ("https://l.example/auth", "https://l.example", True),
        ("http://l.example/auth", "https://l.example", False),
        ("http://127.0.0.1:1/auth", "http://127.0.0.1:1", True),
        ("ftp://l.example/auth", "http://l.example", False),
        ("javascript:alert(1)", "https://l.example", False),
        ("https://u@l.example/auth", "https://l.example", False),
        ("https://l.example/auth#x", "https://l.example", False),
    ],
)
def test_nobody_is_sent_anywhere_in_the_clear(url: str, issuer: str, may: bool) -> None:
    assert may_be_visited(url, issuer) is may


def test_a_token_goes_only_where_it_cannot_be_read_on_the_way() -> None:
    assert is_private_way("https://t.example/mcp")
    assert is_private_way("http://127.0.0.1:9/mcp")
    assert not is_private_way("http://t.example/mcp")


def test_a_link_asks_for_what_it_should() -> None:
    attempt = Attempt(
        place=a_place(),
        verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        redirect_url="https://us/cb",
        known=KNOWN,
        scope="a offline_access",
        expires_at=NOW,
    )

    asked = parse_qs(urlsplit(link_to(attempt, "state")).query)

    assert asked == snapshot(
        {
            "response_type": ["code"],
            "client_id": ["c"],
            "redirect_uri": ["https://us/cb"],
            "state": ["state"],
            "code_challenge": ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
            "code_challenge_method": ["S256"],
            "resource": ["https://tools.example/mcp"],
            "scope": ["a offline_access"],
            "prompt": ["consent"],
        }
    )


def test_a_link_keeps_what_an_address_asks_already() -> None:
    there = AuthorizationServer(
        issuer="https://l.example", authorize_url="https://l.example/a?x=1", token_url="https://l"
    )
    known = ClientRegistration(server=there, client_id="c", resource="r")
    attempt = Attempt(
        place=a_place(), verifier="v", redirect_url="https://us/cb", known=known, expires_at=NOW
    )

    asked = parse_qs(urlsplit(link_to(attempt, "s")).query)

    assert asked["x"] == ["1"]
    assert "scope" not in asked
    assert "prompt" not in asked


def test_what_is_asked_for_is_what_an_operator_said_or_else_what_the_server_wants() -> None:
    offers = AuthorizationServer(
        issuer="i", authorize_url="a", token_url="t", scopes=("offline_access",)
    )
    found = DiscoveredLogin(server=offers, resource="r", scopes=("x", "y"))
    bare = DiscoveredLogin(server=SERVER, resource="r")
    said = LoginClient(url="u", scope="mine")

    assert scope_for(said, Challenge(scope="z"), found) == "mine"
    assert scope_for(LoginClient(url="u"), Challenge(scope="z"), found) == "z offline_access"
    assert scope_for(None, Challenge(), found) == "x y offline_access"
    assert scope_for(None, Challenge(), bare) is None


def test_an_answer_must_come_from_where_somebody_was_sent() -> None:
    telling = AuthorizationServer(
        issuer="https://l.example", authorize_url="a", token_url="t", says_issuer=True
    )
    known = ClientRegistration(server=telling, client_id="c", resource="r")

    assert whose_answer(known, "https://l.example")
    assert not whose_answer(known, "https://o.example")
    assert not whose_answer(known, None)
    assert whose_answer(KNOWN, None)
    assert not whose_answer(KNOWN, "https://o.example")


def test_tokens_are_not_used_to_the_last_second() -> None:
    tokens = Tokens(access="a", expires_at=NOW + timedelta(seconds=11), url="u", known=KNOWN)

    assert tokens.good(NOW)
    assert not tokens.good(NOW + timedelta(seconds=1))
    assert Tokens(access="a", url="u", known=KNOWN).good(NOW)


def test_every_place_is_sealed_for_itself_and_only_the_hash_of_a_state_is_kept() -> None:
    assert a_place(1).context != a_place(2).context
    assert client_context(SpaceId(UUID(int=1)), Id(UUID(int=1))) != a_place(1).context
    assert a_place(1).holder.id == a_place(1).principal

    entropy = SeededEntropy()
    first, second = fresh_text(entropy), fresh_text(entropy)

    assert first != second
    assert len(first) == 43
    assert len(digest_of(first)) == 32


def test_what_strangers_write_is_read_with_care() -> None:
    document = {"a": "x", "b": 7, "c": "", "d": ["x", 7], "e": "y"}

    assert (first_text(document, "a"), first_text(document, "b")) == ("x", None)
    assert first_text(document, "c") is None
    assert texts(document, "d") == ("x",)
    assert texts(document, "e") == ()
