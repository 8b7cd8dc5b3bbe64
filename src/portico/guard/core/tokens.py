"""Access tokens of other issuers: their claims, and whom they stand for here."""

import base64
import binascii
import hmac
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Self, TypeGuard

from portico.guard.core.principals import FOR_AGENTS, NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.rules import fits
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label

# Is this an access token that somebody made for us? All of it that needs no key to be said.
#
# What is read here is not trusted before its signature has been checked; what is refused here is
# refused without anybody being asked for a key.

_LONGEST: Final = 16_384
_PART: Final = re.compile(r"[A-Za-z0-9_-]+")
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._~:=+/-]{1,200}")
_HEADERS: Final = frozenset({"alg", "typ", "kid", "x5t", "x5t#S256"})
"""No others: a token that brings its own key, leads to one, or has to be understood otherwise than
we do (`jwk`, `jku`, `x5u`, `x5c`, `crit`, `b64`, `cty`, `zip`, `enc`) is not for us."""
_OF_OTHER_TOKENS: Final = frozenset(
    {"nonce", "at_hash", "c_hash", "s_hash", "events", "cnf", "logout_token"}
)
"""Those of who has logged in (ID tokens), of logging out, and of tokens that are worth nothing
without a proof that is not looked for here."""
_LAST_SECOND: Final = 253_370_764_800
"""When the year 9999 begins: whatever is reckoned from a moment before it still is one."""

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Of those with a public key: who can check a token cannot make one."""
ACCESS_TOKEN: Final = frozenset({"at+jwt", "application/at+jwt"})


class _Twice(ValueError):
    """A name that stands there twice means one thing to some readers and another to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Somebody whose tokens are taken, and on which terms."""

    url: str
    audience: str
    """What a token must have been made for: this server."""
    beside: AbstractSet[str] = field(default_factory=frozenset)
    """What it may have been made for too."""
    algorithms: AbstractSet[str] = ALGORITHMS
    types: AbstractSet[str] = ACCESS_TOKEN
    keys_url: str | None = None
    """Where its keys are, if that is not to be found out."""
    leeway: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, repr=False)
class ShownToken:
    text: str
    header: JsonObject
    claims: JsonObject

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what cannot be a token: it never costs a look-up."""
        parts = text.split(".") if len(text) <= _LONGEST else []
        if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
            return None
        header, claims = _object(parts[0]), _object(parts[1])
        return None if header is None or claims is None else cls(text, header, claims)

    @property
    def issuer(self) -> str:
        return str(self.claims.get("iss", ""))

    @property
    def key_id(self) -> str:
        return str(self.header["kid"])

    @property
    def algorithm(self) -> str:
        return str(self.header["alg"])

    @property
    def subject(self) -> str:
        return str(self.claims["sub"])

    @property
    def client(self) -> str:
        found = self.claims.get("client_id", self.claims.get("azp", ""))
        return found if isinstance(found, str) else ""

    @property
    def scopes(self) -> frozenset[str]:
        found = self.claims.get("scope", self.claims.get("scp", ""))
        if isinstance(found, str):
            return frozenset(found.split())
        words = found if isinstance(found, list) else []
        return frozenset(word for word in words if isinstance(word, str))

    @property
    def expires_at(self) -> float:
        found = self.claims["exp"]
        assert isinstance(found, int | float)  # noqa: S101 # by `flaw`, which comes first
        return found

    def __repr__(self) -> str:
        return "ShownToken(…)"


def flaw(token: ShownToken, issuer: Issuer, now: datetime) -> str | None:
    """What is wrong with it, for the log; None if only its signature is left to be checked."""
    at, leeway = now.timestamp(), issuer.leeway.total_seconds()
    return (
        _header_flaw(token.header, issuer)
        or _time_flaw(token.claims, at, leeway)
        or _claims_flaw(token.claims, issuer)
    )


def _header_flaw(header: JsonObject, issuer: Issuer) -> str | None:
    algorithm, kind, key = (header.get(name) for name in ("alg", "typ", "kid"))
    if strange := sorted(header.keys() - _HEADERS):
        return f"its header has {strange[0][:40]!r}"
    if not isinstance(algorithm, str) or algorithm not in issuer.algorithms & ALGORITHMS:
        return "its algorithm is not one of the issuer's"
    if not isinstance(kind, str) or kind.lower() not in {each.lower() for each in issuer.types}:
        return "it does not say that it is an access token"
    if not isinstance(key, str) or not _KEY_ID.fullmatch(key):
        return "it names no key"
    return None


def _time_flaw(claims: JsonObject, now: float, leeway: float) -> str | None:
    named = [claims[name] for name in ("nbf", "iat") if claims.get(name) is not None]
    moments = [each for each in (claims.get("exp"), *named) if _is_moment(each)]
    if len(moments) != 1 + len(named):
        return "its times are none"
    ends, *begins = moments
    if now >= ends + leeway:
        return "it has expired"
    if any(each > now + leeway for each in begins):
        return "it is not yet valid"
    return None


def _claims_flaw(claims: JsonObject, issuer: Issuer) -> str | None:
    if claims.get("iss") != issuer.url:
        return "it is somebody else's"
    if not _is_for(claims.get("aud"), issuer):
        return "it was made for another server"
    if strange := sorted(claims.keys() & _OF_OTHER_TOKENS):
        return f"it is another kind of token: it has {strange[0]!r}"
    if str(claims.get("typ", "Bearer")).lower() not in {"bearer", *issuer.types}:
        return "it says itself that it is another kind of token"
    subject = claims.get("sub")
    if not isinstance(subject, str) or not is_plain(subject):
        return "it names nobody"
    return None


def _is_for(audience: object, issuer: Issuer) -> bool:
    """Whoever else it was made for could bring it here in the name of its subject."""
    named = [audience] if isinstance(audience, str) else audience
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        return False
    return issuer.audience in named and set(named) <= {issuer.audience, *issuer.beside}


def _is_moment(value: object) -> TypeGuard[float]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 < value < _LAST_SECOND


def is_plain(text: str) -> bool:
    """Nothing in it that cannot be seen, or that looks like something else."""
    same = unicodedata.normalize("NFKC", text) == text
    return 0 < len(text) <= 300 and same and text.isprintable() and text == text.strip()


def _object(part: str) -> dict[str, Any] | None:
    """Only in the one form in which it can be written."""
    try:
        raw = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        found = json.loads(raw.decode(), object_pairs_hook=_once, parse_constant=_refuse)
    except (binascii.Error, ValueError, RecursionError):
        return None
    written = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return found if isinstance(found, dict) and written == part else None


def _once(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found


def _refuse(_constant: str) -> None:
    raise ValueError("no number of JSON")


_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 12
_LONGEST_NAME: Final = 64
_OF_RULES: Final = frozenset("*?:")
"""What means something else where a rule says who it is for."""
_ONLY_BY_NAME: Final = NEVER_OF_PROGRAMS | {Scope.APPROVALS_ANSWER}
"""What no role brings to a token: a token is in the hands of a program, and this is for whoever
sits in front of it."""
EVERY: Final = "*"
"""The scope that every token has."""

Grants = Mapping[str, frozenset[Scope]]
"""What each scope of a token brings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRule:
    """Either a principal that there is, or the role of one who is made when first seen."""

    issuer: str | None = None
    """Only of this one's tokens."""
    subject: str | None = None
    """Exactly this one."""
    claim: str | None = None
    like: str = EVERY
    """What the claim must be like, with wildcards."""
    principal: str | None = None
    create: Role | None = None
    clearance: Label = field(default=PUBLIC)

    def fits(self, token: ShownToken) -> bool:
        if self.issuer not in (None, token.issuer) or self.subject not in (None, token.subject):
            return False
        return self.claim is None or self._claimed(token, self.claim)

    def _claimed(self, token: ShownToken, claim: str) -> bool:
        """An address that nobody has verified can be anybody's."""
        value = token.claims.get(claim)
        proven = claim != "email" or token.claims.get("email_verified") is True
        values = value if isinstance(value, list) else [value]
        return proven and any(isinstance(each, str) and fits(each, [self.like]) for each in values)

    @property
    def whom(self) -> str:
        """All who are made are known by their subject alone, whichever rule made them."""
        return f"named {self.principal}" if self.principal is not None else "made"

    def name_of(self, token: ShownToken) -> str | None:
        """Of one who is made: what they were recognised by, if that is theirs alone. None if it is
        no name: it would be shown as something else, or stand for others in a rule."""
        claimed = token.claims.get(self.claim) if self.claim is not None else None
        name = claimed if isinstance(claimed, str) else token.subject
        plain = is_plain(name) and len(name) <= _LONGEST_NAME
        return name if plain and _OF_RULES.isdisjoint(name) else None


def rule_for(rules: Iterable[SubjectRule], token: ShownToken) -> SubjectRule | None:
    """The first that fits."""
    return next((rule for rule in rules if rule.fits(token)), None)


def granted(scopes: Iterable[str], grants: Grants) -> frozenset[Scope]:
    """What the token may at most; it never is more than its principal may."""
    named = (grants.get(scope, frozenset()) for scope in (*scopes, EVERY))
    return frozenset().union(*named)


def wanted(scope: str, grants: Grants) -> str | None:
    """Which scope of a token to ask for, to be let do this: the one that brings least else."""
    bringing = sorted((len(brings), name) for name, brings in grants.items() if scope in brings)
    return next((name for _, name in bringing if name != EVERY), None)


def grants_of(written: Mapping[str, Sequence[str]]) -> Grants:
    """From roles and scopes by name. Raises `ValueError`."""
    return {name: frozenset().union(*map(_brought, each)) for name, each in written.items()}


def _brought(name: str) -> frozenset[Scope]:
    if name in set(Role):
        return frozenset(SCOPES_OF[Role(name)] - _ONLY_BY_NAME)
    return frozenset({Scope(name)})


def max_scopes(grants: Grants) -> frozenset[Scope]:
    """What stands in the grant itself, which no token shows: a token narrows it. With all that a
    program may, so that what was asked for by a token can still be done when it has ended."""
    return FOR_AGENTS.union(*grants.values())


def grant_id(pepper: bytes, token: ShownToken, whom: str) -> str:
    """The same for all tokens of one client for one subject, whatever their scopes: who asks for
    others does not thereby forget what it has read, nor is it somebody who was not revoked."""
    parts = [token.issuer, token.subject, token.client, whom]
    whole = "".join(f"{len(part)}:{part}" for part in parts)
    number = int.from_bytes(hmac.digest(pepper, f"token {whole}".encode(), "sha256"))
    letters = []
    for _ in range(_ID_LENGTH):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(letters)
