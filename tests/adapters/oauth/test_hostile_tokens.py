"""Tokens that would like to be let in: each is a valid one but for what is wrong with it."""

import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from inline_snapshot import snapshot

from portico.adapters.oauth import Documents, PublishedKeys
from portico.guard.authentication import Authenticate
from portico.guard.core.errors import IssuerUnavailable, NotAuthenticated
from portico.guard.core.principals import Role
from portico.guard.core.tokens import Issuer, ShownToken, SubjectRule, grants_of
from portico.guard.tokens import AuthenticateToken
from portico.kernel.ids import SpaceId
from portico.testing.guard import MemoryKeyRing, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from portico.testing.secrets import MemoryTokenSubjects
from tests.adapters.oauth.issuing import (
    EC,
    OTHER_RSA,
    RSA,
    SHORT_RSA,
    Issuing,
    issuing,
    packed,
    public,
    token,
    written,
)

US = "https://portico.example/mcp"
NOW = BEGINNING + timedelta(days=1)
AT = int(NOW.timestamp())
PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
DER = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

Claims = dict[str, Any]


@dataclass
class Door:
    issuing: Issuing
    authenticate: Authenticate

    @property
    def claims(self) -> Claims:
        return {
            "iss": self.issuing.url,
            "aud": US,
            "sub": "ana-at-login",
            "exp": AT + 300,
            "iat": AT - 5,
            "client_id": "a client",
            "scope": "portico:member",
        }


HEADER: Mapping[str, Any] = {"alg": "RS256", "typ": "at+jwt", "kid": "first"}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Of the one issuer that all share."""
    return "asyncio"


@pytest.fixture(scope="module")
async def issuer() -> AsyncIterator[Issuing]:
    async with issuing() as found:
        yield found


@pytest.fixture
def made(issuer: Issuing) -> Issuing:
    return issuer.begin_anew()


@pytest.fixture
def door(made: Issuing) -> Door:
    world, home = InMemoryStore(), a_space()
    world.spaces[home.id] = home
    ana = an_identity("ana")
    world.identities[ana.space, ana.id] = ana
    clock, ring = TickingClock(NOW), MemoryKeyRing(world)

    async def space() -> SpaceId:
        return home.id

    of_token = AuthenticateToken(
        issuers={made.url: Issuer(url=made.url, audience=US)},
        rules=[SubjectRule(subject="ana-at-login", principal="ana")],
        grants=grants_of({f"portico:{role}": [role] for role in Role}),
        token_keys=PublishedKeys(Documents()),
        subjects=MemoryTokenSubjects(world),
        key_ring=ring,
        space=space,
        clock=clock,
        entropy=SeededEntropy(),
        pepper=b"pepper",
    )
    return Door(made, Authenticate(key_ring=ring, clock=clock, pepper=b"p", of_token=of_token))


def claiming(**other: object) -> Callable[[Door], str]:
    """A valid token, but for these claims; None takes one away."""

    def made(door: Door) -> str:
        both = {**door.claims, **other}
        return token(HEADER, {name: value for name, value in both.items() if value is not None})

    return made


def headed(**other: object) -> Callable[[Door], str]:
    def made(door: Door) -> str:
        both = {**HEADER, **other}
        header = {name: value for name, value in both.items() if value is not None}
        return token(header, door.claims)

    return made


def issued_as(spelling: Callable[[str], str]) -> Callable[[Door], str]:
    return lambda door: token(HEADER, {**door.claims, "iss": spelling(door.issuing.url)})


def unsigned(algorithm: str, signature: str = "") -> Callable[[Door], str]:
    def made(door: Door) -> str:
        text = written({**HEADER, "alg": algorithm}, door.claims).decode()
        return f"{text}.{signature}"

    return made


def by_the_public_key(key: bytes) -> Callable[[Door], str]:
    """As if the public key, which everybody has, were a shared secret."""

    def made(door: Door) -> str:
        text = written({**HEADER, "alg": "HS256"}, door.claims)
        return f"{text.decode()}.{packed(hmac.digest(key, text, 'sha256'))}"

    return made


def bent(bend: Callable[[list[str]], list[str]]) -> Callable[[Door], str]:
    """A valid token, of which a part is another afterwards."""
    return lambda door: ".".join(bend(token(HEADER, door.claims).split(".")))


def as_it_stands(header: str, claims: Callable[[str], str]) -> Callable[[Door], str]:
    """With JSON that no writer of JSON would write."""
    return lambda door: token(header.encode(), claims(json.dumps(door.claims)).encode())


def other_claims(parts: list[str]) -> list[str]:
    claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=="))
    return [parts[0], packed(json.dumps({**claims, "sub": "root"}).encode()), parts[2]]


def other_header(parts: list[str]) -> list[str]:
    return [packed(json.dumps({**HEADER, "typ": "application/at+jwt"}).encode()), *parts[1:]]


def flipped(parts: list[str]) -> list[str]:
    raw = bytearray(base64.urlsafe_b64decode(parts[2] + "=="))
    raw[7] ^= 1
    return [*parts[:2], packed(bytes(raw))]


def nested(door: Door) -> str:
    inner = token(HEADER, door.claims)
    return token({**HEADER, "cty": "JWT"}, inner.encode())


def by_its_own_key(door: Door) -> str:
    own = public(OTHER_RSA, "own")
    return token({**HEADER, "kid": "own", "jwk": own}, door.claims, OTHER_RSA)


def rotated_out(door: Door) -> str:
    door.issuing.keys = [public(OTHER_RSA, "second", use="sig", alg="RS256")]
    return token(HEADER, door.claims)


def published(
    *keys: Mapping[str, Any], header: Mapping[str, Any] | None = None
) -> Callable[[Door], str]:
    def made(door: Door) -> str:
        door.issuing.keys = [*keys]
        return token({**HEADER, **(header or {})}, door.claims)

    return made


def by_a_short_key(door: Door) -> str:
    door.issuing.keys = [public(SHORT_RSA, "first", use="sig", alg="RS256")]
    return token(HEADER, door.claims, SHORT_RSA)


HOSTILE: dict[str, Callable[[Door], str]] = {
    "made for another server": claiming(aud="https://other.example/mcp"),
    "made for nobody": claiming(aud=None),
    "made for us and for another": claiming(aud=[US, "https://other.example/mcp"]),
    "made for an empty list": claiming(aud=[]),
    "made for what is no text": claiming(aud=[US, 7]),
    "made for our address with a slash more": claiming(aud=f"{US}/"),
    "made for our address in capitals": claiming(aud=US.upper()),
    "made for what begins like us": claiming(aud=f"{US}.evil.example"),
    "of an issuer with a slash more": issued_as(lambda url: f"{url}/"),
    "of an issuer in capitals": issued_as(str.upper),
    "of an issuer that looks the same": issued_as(lambda url: url.replace("1", "\uff11")),
    "of an issuer with something behind it": issued_as(lambda url: f"{url}@evil.example"),
    "of no issuer": claiming(iss=None),
    "of two issuers": claiming(iss=["https://a.example", "https://b.example"]),
    "expired": claiming(exp=AT - 60),
    "without an end": claiming(exp=None),
    "with an end that is a text": claiming(exp=str(AT + 300)),
    "with an end that is true": claiming(exp=True),
    "with an end beyond all time": claiming(exp=10**18),
    "not yet valid": claiming(nbf=AT + 600),
    "made in the future": claiming(iat=AT + 600),
    "with a beginning that is no number": claiming(nbf="now"),
    "for nobody": claiming(sub=None),
    "for an empty name": claiming(sub=""),
    "for a name with a hidden letter": claiming(sub="ana-at-login\u200b"),
    "for a name in other letters": claiming(sub="\uff41na-at-login"),
    "for somebody no rule knows": claiming(sub="mallory"),
    "for what is no text": claiming(sub={"name": "ana-at-login"}),
    "an ID token by its nonce": claiming(nonce="n"),
    "an ID token by its hash of a token": claiming(at_hash="h"),
    "an ID token by its type": headed(typ="JWT"),
    "a token without a type": headed(typ=None),
    "a logout token": claiming(events={"http://schemas.openid.net/event/backchannel-logout": {}}),
    "a refresh token by its own word": claiming(typ="Refresh"),
    "bound to a proof that is not shown": claiming(cnf={"jkt": "thumb"}),
    "without an algorithm": headed(alg=None),
    "none": unsigned("none"),
    "None": unsigned("None"),
    "NONE": unsigned("NONE"),
    "nOnE": unsigned("nOnE"),
    "none with a signature": unsigned("none", packed(b"anything")),
    "an empty algorithm": unsigned(""),
    "RS256 without a signature": unsigned("RS256"),
    "HS256 with the public key as PEM": by_the_public_key(PEM),
    "HS256 with the public key as DER": by_the_public_key(DER),
    "another algorithm than its key is for": headed(alg="PS256"),
    "an algorithm of another kind of key": headed(alg="ES256"),
    "an algorithm that is a list": headed(alg=["RS256"]),
    "with its own key in it": by_its_own_key,
    "leading to its key": headed(jku="https://evil.example/keys"),
    "leading to a certificate": headed(x5u="https://evil.example/chain"),
    "with a certificate in it": headed(x5c=["MIIB"]),
    "with something that must be understood": headed(crit=["exp"]),
    "with a body that is not packed": headed(b64=False, crit=["b64"]),
    "with a key named by a path": headed(kid="../../../../dev/null"),
    "with a key named by a statement": headed(kid="first' OR '1'='1"),
    "with a key named by an address": headed(kid="https://evil.example/keys#first"),
    "with a key nobody has published": headed(kid="third"),
    "without a key named": headed(kid=None),
    "with a key named by a number": headed(kid=1),
    "with a key named by nothing": headed(kid=""),
    "by another key": lambda door: token(HEADER, door.claims, OTHER_RSA),
    "by a key that was rotated out": rotated_out,
    "by a key that is too short": by_a_short_key,
    "by a key for something else": published(public(RSA, "first", use="enc")),
    "by a key that only signs": published(public(RSA, "first", key_ops=["sign"])),
    "by a key that is published twice": published(public(RSA, "first"), public(OTHER_RSA, "first")),
    "by a key of another kind": published(public(EC, "first")),
    "by a key that is a secret": published({"kty": "oct", "k": packed(PEM), "kid": "first"}),
    "with a signature that was changed": bent(flipped),
    "with a signature that was cut": bent(lambda parts: [*parts[:2], parts[2][:-4]]),
    "with claims that were changed": bent(other_claims),
    "with a header that was changed": bent(other_header),
    "in two parts": bent(lambda parts: parts[:2]),
    "in four parts": bent(lambda parts: [*parts, "e30"]),
    "in five parts, as if sealed": bent(lambda parts: [*parts, "e30", "e30"]),
    "with padding": bent(lambda parts: [f"{parts[0]}=", *parts[1:]]),
    "with a line break": bent(lambda parts: [parts[0], f"{parts[1]}\n", parts[2]]),
    "in the other alphabet": bent(lambda parts: [*parts[:2], f"+/{parts[2][2:]}"]),
    "in letters that look the same": bent(lambda parts: [f"\uff45{parts[0][1:]}", *parts[1:]]),
    "one in another": nested,
    "with a claim twice": as_it_stands(
        json.dumps(HEADER), lambda claims: f'{claims[:-1]}, "sub": "ana-at-login"}}'
    ),
    "with a header twice": as_it_stands(
        '{"alg": "none", "alg": "RS256", "typ": "at+jwt", "kid": "first"}', str
    ),
    "with a number that is none": as_it_stands(
        json.dumps(HEADER), lambda claims: claims.replace(str(AT + 300), "NaN")
    ),
    "with claims that are a list": as_it_stands(json.dumps(HEADER), lambda claims: f"[{claims}]"),
    "with claims in another encoding": lambda door: token(
        HEADER, json.dumps(door.claims).encode("utf-16")
    ),
    "too long": claiming(padding="x" * 20_000),
    "too deep": as_it_stands(
        json.dumps(HEADER), lambda claims: f'{claims[:-1]}, "x": {"[" * 5_000}{"]" * 5_000}}}'
    ),
    "nothing": lambda _: "",
    "a key of ours that is none": lambda _: "ptc_000000000000_0",
    "three empty parts": lambda _: "..",
}


async def test_a_valid_token_lets_its_subject_in(door: Door) -> None:
    entry = await door.authenticate(token(HEADER, door.claims))

    assert entry.principal.name == "ana"
    assert entry.principal.until is not None
    assert entry.principal.key == entry.key_id


@pytest.mark.requirement("guard:tokens:hostile-refused")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_token_is_refused_that_is(door: Door, name: str) -> None:
    hostile = HOSTILE[name](door)

    with pytest.raises(NotAuthenticated):
        await door.authenticate(hostile)


async def test_the_table_is_long_enough_and_its_tokens_differ(door: Door) -> None:
    made = [make(door) for make in HOSTILE.values()]

    assert len(set(made)) >= 80


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


async def test_keys_are_fetched_once_for_many_tokens(made: Issuing) -> None:
    keys = PublishedKeys(Documents())

    assert [await keys.signed(of(made), shown("first")) for _ in range(5)] == [True] * 5

    assert made.fetched == 1


async def test_a_new_key_is_found_and_a_flood_of_unknown_ones_asks_nobody(made: Issuing) -> None:
    clock = Hands()
    keys = PublishedKeys(Documents(), clock)
    assert await keys.signed(of(made), shown("first"))
    made.keys.append(public(OTHER_RSA, "second"))

    flood = [await keys.signed(of(made), shown(f"unknown-{each}")) for each in range(50)]
    soon = await keys.signed(of(made), shown("second", OTHER_RSA))
    clock.at += 31
    later = await keys.signed(of(made), shown("second", OTHER_RSA))

    assert (set(flood), soon, later, made.fetched) == snapshot(({False}, False, True, 2))


async def test_a_key_that_was_taken_back_is_forgotten_after_ten_minutes(made: Issuing) -> None:
    clock = Hands()
    keys = PublishedKeys(Documents(), clock)
    assert await keys.signed(of(made), shown("first"))
    made.keys = []

    assert await keys.signed(of(made), shown("first"))
    clock.at += 601
    assert not await keys.signed(of(made), shown("first"))


async def test_an_issuer_that_is_away_for_a_while_keeps_nobody_out(made: Issuing) -> None:
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
    made: Issuing,
    more: dict[str, object],
) -> None:
    made.more = more

    with pytest.raises(IssuerUnavailable):
        await PublishedKeys(Documents()).signed(of(made), shown("first"))


async def test_keys_can_be_at_an_address_that_was_set(made: Issuing) -> None:
    made.more = {"issuer": "somebody else"}
    there = replace(of(made), keys_url=f"{made.url}/keys")

    assert await PublishedKeys(Documents()).signed(there, shown("first"))


async def test_a_key_that_cannot_be_read_is_passed_over(made: Issuing) -> None:
    broken = {"kty": "RSA", "kid": "first", "n": "?", "e": "AQAB"}
    made.keys = [broken, {"kty": "RSA"}, public(EC, "third", crv="P-384")]
    keys = PublishedKeys(Documents())

    assert not await keys.signed(of(made), shown("first"))
    assert not await keys.signed(of(made), shown("third", algorithm="ES256"))
