"""Whom a token stands for here, and how much of what they may it brings along."""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from portico.guard.core.access_token import ShownToken, is_plain
from portico.guard.core.roles import FOR_AGENTS, NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.wildcard import fits
from portico.kernel.label import PUBLIC, Label

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


def most(grants: Grants) -> frozenset[Scope]:
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
