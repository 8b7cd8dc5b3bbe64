"""Authenticate by an access token of another issuer."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from portico.guard.core.errors import NameTaken, NotAuthenticated
from portico.guard.core.keys import KeyHolder, Purpose, StoredKey
from portico.guard.core.principals import Identity
from portico.guard.core.tokens import (
    Grants,
    Issuer,
    ShownToken,
    SubjectRule,
    flaw,
    grant_id,
    granted,
    max_scopes,
    rule_for,
)
from portico.guard.oauth_logins import TokenKeys, TokenSubjects
from portico.guard.ports import KeyRing
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind

# From an access token of somebody else's making to the principal it stands for here.
#
# What a token brings is written down once, as a key that nobody holds: so it is listed, revoked and
# found again like the keys that we make ourselves.

_log: Final = logging.getLogger("portico.tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticateToken:
    issuers: Mapping[str, Issuer]
    rules: Sequence[SubjectRule]
    grants: Grants
    token_keys: TokenKeys
    subjects: TokenSubjects
    key_ring: KeyRing
    space: Callable[[], Awaitable[SpaceId | None]]
    """Whose principals tokens stand for."""
    clock: Clock
    entropy: Entropy
    pepper: bytes

    async def __call__(self, text: str) -> KeyHolder:
        """The key that stands for it, which ends when the token does. Raises `NotAuthenticated`, in
        the same words whatever was wrong, and `IssuerUnavailable` if nobody can say."""
        token = await self._genuine(text)
        rule = rule_for(self.rules, token)
        if rule is None:
            raise _refused("no rule of oauth.subjects fits it")
        key_id = grant_id(self.pepper, token, rule.whom)
        holder = await self.key_ring.find(key_id) or await self._first(token, rule, key_id)
        scopes = granted(token.scopes, self.grants)
        leeway = self.issuers[token.issuer].leeway
        ends = datetime.fromtimestamp(token.expires_at, UTC) + leeway
        return replace(holder, key=replace(holder.key, scopes=scopes, expires_at=ends))

    async def _genuine(self, text: str) -> ShownToken:
        token = ShownToken.parse(text)
        issuer = None if token is None else self.issuers.get(token.issuer)
        if token is None or issuer is None:
            raise _refused("it is no token of an issuer that is set in oauth.issuers")
        if wrong := flaw(token, issuer, self.clock.now()):
            raise _refused(wrong)
        if not await self.token_keys.signed(issuer, token):
            raise _refused("no key of its issuer has signed it")
        return token

    async def _first(self, token: ShownToken, rule: SubjectRule, key_id: str) -> KeyHolder:
        """Of two at once one writes it down, and the other finds it."""
        identity = await self._identity(token, rule)
        stored = StoredKey(
            id=key_id,
            space=identity.space,
            principal=identity.id,
            purpose=Purpose.ACCESS,
            name=f"token for {token.client or 'somebody'} from {token.issuer}"[:300],
            scopes=max_scopes(self.grants),
            clearance=_up_to(identity.clearance),
            created_at=self.clock.now(),
        )
        await self.subjects.grant(_doorman(identity.space), stored, self.entropy(32))
        holder = await self.key_ring.find(key_id)
        if holder is None:
            raise _refused("its grant cannot be written down")
        return holder

    async def _identity(self, token: ShownToken, rule: SubjectRule) -> Identity:
        space = await self.space()
        if space is None:
            raise _refused("there is no space of this machine's own")
        doorman = _doorman(space)
        if rule.principal is not None:
            found = await self.subjects.named(doorman, rule.principal)
        else:
            found = await self.subjects.bound(doorman, token.issuer, token.subject)
            found = found or await self._made(doorman, token, rule)
        if found is None:
            raise _refused(f"there is no principal {rule.principal!r}")
        return found

    async def _made(self, doorman: Principal, token: ShownToken, rule: SubjectRule) -> Identity:
        """Somebody new; never somebody who is there already under the same name."""
        if rule.create is None:
            raise _refused("its rule names nobody")
        name = rule.name_of(token)
        if name is None:
            raise _refused("what it is recognised by is no name for somebody")
        now = self.clock.now()
        identity = Identity(
            id=PrincipalId.mint(now, self.entropy),
            space=doorman.space,
            kind=PrincipalKind.PERSON,
            name=name,
            roles=frozenset({rule.create}),
            clearance=rule.clearance,
            created_at=now,
        )
        try:
            return await self.subjects.bind(doorman, identity, token.issuer, token.subject)
        except NameTaken as error:
            raise _refused(f"there is another principal {identity.name!r} already") from error


def _doorman(space: SpaceId) -> Principal:
    """Who looks somebody up before it is known who they are."""
    return Principal(
        id=PrincipalId(UUID(int=0)), space=space, kind=PrincipalKind.WORKER, name="portico"
    )


def _up_to(clearance: Label) -> Label:
    """The key never is what holds somebody back whose level is raised later; what is read through
    it is never above what it was made for."""
    return Label(Level.RESTRICTED, clearance.compartments)


def _refused(reason: str) -> NotAuthenticated:
    """Why is for whoever runs this server; the other side hears nothing of it."""
    _log.info("a token was refused: %s", reason)
    return NotAuthenticated()
