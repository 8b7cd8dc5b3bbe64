"""How the keys of an issuer are fetched: when they are needed, and not when somebody wishes."""

from dataclasses import dataclass, replace

import pytest
from inline_snapshot import snapshot

from portico.adapters.oauth.documents import Documents
from portico.adapters.oauth.jwks import PublishedKeys
from portico.guard.core.access_token import Issuer, ShownToken
from portico.guard.core.errors import IssuerUnavailable
from tests.adapters.oauth.issuing import EC, OTHER_RSA, RSA, Issuing, issuing, public, token


@dataclass
class Hands:
    """A clock that stands still unless it is moved."""

    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at


def shown(key_id: str, key: object = RSA, algorithm: str = "RS256") -> ShownToken:
    assert key in (RSA, OTHER_RSA)
    made = ShownToken.parse(
        token({"alg": algorithm, "kid": key_id}, {"sub": "ana"}, RSA if key is RSA else OTHER_RSA)
    )
    assert made is not None
    return made


def of(made: Issuing) -> Issuer:
    return Issuer(url=made.url, audience="us")


async def test_keys_are_fetched_once_for_many_tokens() -> None:
    async with issuing() as made:
        keys = PublishedKeys(Documents())

        assert [await keys.signed(of(made), shown("first")) for _ in range(5)] == [True] * 5

        assert made.fetched == 1


async def test_a_new_key_is_found_and_a_flood_of_unknown_ones_asks_nobody() -> None:
    async with issuing() as made:
        clock = Hands()
        keys = PublishedKeys(Documents(), clock)
        assert await keys.signed(of(made), shown("first"))
        made.keys.append(public(OTHER_RSA, "second"))

        flood = [await keys.signed(of(made), shown(f"unknown-{each}")) for each in range(50)]
        soon = await keys.signed(of(made), shown("second", OTHER_RSA))
        clock.at += 31
        later = await keys.signed(of(made), shown("second", OTHER_RSA))

        assert (set(flood), soon, later, made.fetched) == snapshot(({False}, False, True, 2))


async def test_a_key_that_was_taken_back_is_forgotten_after_ten_minutes() -> None:
    async with issuing() as made:
        clock = Hands()
        keys = PublishedKeys(Documents(), clock)
        assert await keys.signed(of(made), shown("first"))
        made.keys = []

        assert await keys.signed(of(made), shown("first"))
        clock.at += 601
        assert not await keys.signed(of(made), shown("first"))


async def test_an_issuer_that_is_away_for_a_while_keeps_nobody_out() -> None:
    async with issuing() as made:
        clock = Hands()
        keys = PublishedKeys(Documents(), clock)
        assert await keys.signed(of(made), shown("first"))
        made.broken = True
        clock.at += 1_000
        assert await keys.signed(of(made), shown("first"))

        clock.at += 3_000
        with pytest.raises(IssuerUnavailable):
            await keys.signed(of(made), shown("first"))


async def test_an_issuer_that_never_answered_is_no_reason_to_say_that_a_token_is_false() -> None:
    keys = PublishedKeys(Documents())
    nobody = Issuer(url="http://127.0.0.1:9", audience="us")

    with pytest.raises(IssuerUnavailable):
        await keys.signed(nobody, shown("first"))


@pytest.mark.parametrize(
    "more",
    [
        {"issuer": "https://other.example"},
        {"jwks_uri": "ftp://127.0.0.1/keys"},
        {"jwks_uri": "http://169.254.169.254/latest"},
        {"jwks_uri": "http://127.0.0.1:9/keys"},
        {"jwks_uri": 7},
    ],
)
async def test_an_issuer_that_describes_itself_falsely_is_not_believed(
    more: dict[str, object],
) -> None:
    async with issuing() as made:
        made.more = more

        with pytest.raises(IssuerUnavailable):
            await PublishedKeys(Documents()).signed(of(made), shown("first"))


async def test_keys_can_be_at_an_address_that_was_set() -> None:
    async with issuing() as made:
        made.more = {"issuer": "somebody else"}
        there = replace(of(made), keys_url=f"{made.url}/keys")

        assert await PublishedKeys(Documents()).signed(there, shown("first"))


async def test_a_key_that_cannot_be_read_is_passed_over() -> None:
    async with issuing() as made:
        broken = {"kty": "RSA", "kid": "first", "n": "?", "e": "AQAB"}
        made.keys = [broken, {"kty": "RSA"}, public(EC, "third", crv="P-384")]
        keys = PublishedKeys(Documents())

        assert not await keys.signed(of(made), shown("first"))
        assert not await keys.signed(of(made), shown("third", algorithm="ES256"))
