"""Tokens and logins in memory: with the same walls, and without anybody to log in at."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from portico.guard.core.errors import GrantRefused, NameTaken
from portico.guard.core.keys import StoredKey
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    Found,
    LoginClient,
    LoginPlace,
    Tokens,
)
from portico.guard.core.principals import Identity
from portico.guard.core.tokens import Issuer, ShownToken
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.principal import Principal
from portico.testing.world import HeldKey, MemoryWorld, RowRefused, within

_ATTEMPTS = 4

SIGN_IN = AuthorizationServer(
    issuer="https://login.example",
    authorize_url="https://login.example/authorize",
    token_url="https://login.example/token",  # noqa: S106 # an address
    register_url="https://login.example/register",
    says_issuer=True,
    methods=("none",),
    scopes=("offline_access",),
)
"""Where people log in, in tests."""


@dataclass(slots=True)
class BelievedTokens:
    """Who has signed a token is whom a test says."""

    signed_by: set[str] = field(default_factory=set)
    """Texts of tokens that are genuine."""

    async def signed(self, issuer: Issuer, token: ShownToken) -> bool:  # noqa: ARG002 # one for all
        return token.text in self.signed_by


class MemoryTokenSubjects:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def named(self, doorman: Principal, name: str) -> Identity | None:
        return next((each for each in self._all(doorman) if each.name == name), None)

    async def bound(self, doorman: Principal, issuer: str, subject: str) -> Identity | None:
        principal = self._world.token_subjects.get((doorman.space, issuer, subject))
        return next((each for each in self._all(doorman) if each.id == principal), None)

    async def bind(
        self, doorman: Principal, identity: Identity, issuer: str, subject: str
    ) -> Identity:
        within(doorman, identity.space)
        if found := await self.bound(doorman, issuer, subject):
            return found
        if await self.named(doorman, identity.name):
            raise NameTaken(identity.name)
        self._world.identities.insert((identity.space, identity.id), identity)
        self._world.token_subjects.insert((identity.space, issuer, subject), identity.id)
        return identity

    async def grant(self, doorman: Principal, key: StoredKey, digest: bytes) -> None:
        within(doorman, key.space)
        if key.id not in self._world.keys:
            self._world.keys.insert(key.id, HeldKey(key, digest))

    def _all(self, doorman: Principal) -> Sequence[Identity]:
        every = self._world.identities.values()
        return [each for each in every if each.space == doorman.space]


class MemoryLoginClients:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def get(self, caller: Principal, server: Id) -> LoginClient | None:
        return self._world.login_clients.get((caller.space, server.value))

    async def put(self, caller: Principal, server: Id, client: LoginClient) -> None:
        _known_server(self._world, caller.space, server)
        self._world.login_clients[caller.space, server.value] = client

    async def remove(self, caller: Principal, server: Id) -> None:
        self._world.login_clients.pop((caller.space, server.value), None)


class MemoryLogins:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def get(self, place: LoginPlace) -> Tokens | None:
        return self._world.logins.get(_row(place))

    @asynccontextmanager
    async def holding(self, place: LoginPlace) -> AsyncIterator[Tokens | None]:
        async with self._world.turns["login", *_row(place)]:
            yield await self.get(place)

    async def put(self, place: LoginPlace, tokens: Tokens) -> None:
        _known_place(self._world, place)
        self._world.logins[_row(place)] = tokens

    async def forget(self, place: LoginPlace) -> bool:
        return self._world.logins.pop(_row(place), None) is not None

    async def begun(self, digest: bytes, attempt: Attempt) -> None:
        _known_place(self._world, attempt.place)
        rows = self._world.login_attempts
        rows.insert(digest, attempt)
        theirs = [each for each, its in rows.items() if _row(its.place) == _row(attempt.place)]
        for old in theirs[:-_ATTEMPTS]:
            del rows[old]

    async def find(self, digest: bytes, now: datetime) -> Attempt | None:
        found = self._world.login_attempts.get(digest)
        return found if found is not None and found.expires_at > now else None

    async def take(self, digest: bytes, now: datetime) -> Attempt | None:
        found = self._world.login_attempts.pop(digest, None)
        return found if found is not None and found.expires_at > now else None


@dataclass(slots=True)
class ScriptedSignIn:
    """Where people log in: everybody is let in, and each token is another."""

    server: AuthorizationServer = SIGN_IN
    offers: bool = True
    """Whether anybody lets people in at all."""
    refuses: str | None = None
    """Why it gives no tokens, if it does not."""
    lasts: timedelta | None = timedelta(hours=1)
    renews: bool = True
    given: list[str] = field(default_factory=list)
    exchanged: list[tuple[Attempt, str]] = field(default_factory=list)
    refreshed: list[Tokens] = field(default_factory=list)
    revoked: list[Tokens] = field(default_factory=list)
    registered: list[str] = field(default_factory=list)

    async def find(self, url: str, challenge: Challenge, issuer: str | None) -> Found | None:
        if not self.offers and issuer is None:
            return None
        scopes = () if challenge.scope is None else (challenge.scope,)
        return Found(server=self.server, resource=url, scopes=scopes)

    async def register(self, server: AuthorizationServer, redirect_url: str) -> LoginClient:
        if self.refuses is not None:
            raise GrantRefused(server.issuer, self.refuses)
        self.registered.append(redirect_url)
        name = f"client-{len(self.registered)}"
        return LoginClient(url="", issuer=server.issuer, client_id=name, method="none")

    async def exchange(self, attempt: Attempt, code: str, now: datetime) -> Tokens:
        self.exchanged.append((attempt, code))
        return self._made(Tokens(access="", url=attempt.place.url, known=attempt.known), now)

    async def refresh(self, tokens: Tokens, now: datetime) -> Tokens:
        self.refreshed.append(tokens)
        return self._made(tokens, now)

    async def revoke(self, tokens: Tokens) -> None:
        self.revoked.append(tokens)

    def _made(self, tokens: Tokens, now: datetime) -> Tokens:
        if self.refuses is not None:
            raise GrantRefused(self.server.issuer, self.refuses)
        self.given.append(f"access-{len(self.given) + 1}")
        return replace(
            tokens,
            access=self.given[-1],
            refresh=f"refresh-{len(self.given)}" if self.renews else None,
            expires_at=None if self.lasts is None else now + self.lasts,
        )


def _row(place: LoginPlace) -> tuple[SpaceId, PrincipalId, object]:
    return place.space, place.principal, place.server.value


def _known_place(world: MemoryWorld, place: LoginPlace) -> None:
    if (place.space, place.principal) not in world.identities:
        raise RowRefused(f"There is no principal {place.principal}.")
    _known_server(world, place.space, place.server)


def _known_server(world: MemoryWorld, space: SpaceId, server: Id) -> None:
    if not any(its[0] == space and its[1].value == server.value for its in world.servers):
        raise RowRefused(f"There is no server {server}.")
