"""Secrets, logins and the vault in memory."""

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from portico.adapters.secrets import Change, SecretEntry
from portico.guard.core.errors import BudgetNotFound, BudgetTaken, GrantRefused, NameTaken
from portico.guard.core.keys import StoredKey
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    DiscoveredLogin,
    LoginClient,
    LoginPlace,
)
from portico.guard.core.oauth_logins import Tokens as LoginTokens
from portico.guard.core.principals import Identity
from portico.guard.core.secrets import StoredSecret
from portico.guard.core.tokens import Issuer, ShownToken
from portico.guard.core.vault import VaultClosed
from portico.kernel.budget import Budget, Cost, OverBudget, Tokens
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.principal import Principal
from portico.testing.memory_store import HeldKey, InMemoryStore, RowRefused, within

_FORM: Final = b"memory"


class MemoryVault:
    """Any two of them open what the other has sealed, as two processes with the same keys do."""

    def __init__(self) -> None:
        self._seals = count(1)

    def encrypt(self, plain: bytes, context: bytes) -> bytes:
        nonce = next(self._seals).to_bytes(8)
        closed = _blurred(plain, nonce + context)
        return _FORM + nonce + _mark(closed, nonce + context) + closed

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:
        form, nonce, mark, closed = sealed[:6], sealed[6:14], sealed[14:46], sealed[46:]
        if form != _FORM or mark != _mark(closed, nonce + context):
            return None
        return _blurred(closed, nonce + context)


class ClosedVault:
    """Of a machine that has no keys."""

    def encrypt(self, plain: bytes, context: bytes) -> bytes:  # noqa: ARG002 # it is closed
        raise VaultClosed

    def decrypt(self, sealed: bytes, context: bytes) -> bytes | None:  # noqa: ARG002 # see above
        return None


def _blurred(text: bytes, context: bytes) -> bytes:
    noise = hashlib.shake_256(context).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, noise, strict=True))


def _mark(closed: bytes, context: bytes) -> bytes:
    return hashlib.sha256(len(context).to_bytes(8) + context + closed).digest()


# Secrets and budgets in memory, and a place for secrets that every process would share.


class MemoryDrawer:
    title = "memory"

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, SecretEntry]] = {}

    def get(self, space: str, name: str) -> SecretEntry | None:
        return self._kept.get(space, {}).get(name)

    def change(self, space: str, name: str, to: Change) -> SecretEntry | None:
        place = self._kept.setdefault(space, {})
        before = place.get(name)
        after = to(before)
        if after is None:
            place.pop(name, None)
        else:
            place[name] = after
        return before

    def all(self, space: str) -> Mapping[str, SecretEntry]:
        return self._kept.get(space, {})

    def spaces(self) -> Iterator[str]:
        return iter([space for space, kept in self._kept.items() if kept])


class MemorySecrets:
    def __init__(self) -> None:
        self._kept: dict[tuple[SpaceId, str], tuple[StoredSecret, str]] = {}

    async def where(self) -> str:
        return "memory"

    async def get(self, caller: Principal, name: str) -> str | None:
        found = self._kept.get((caller.space, name))
        return None if found is None else found[1]

    async def put(self, caller: Principal, secret: StoredSecret, value: str) -> None:
        self._kept[caller.space, secret.name] = secret, value

    async def remove(self, caller: Principal, name: str) -> bool:
        return self._kept.pop((caller.space, name), None) is not None

    async def all(self, caller: Principal) -> Sequence[StoredSecret]:
        own = [kept for (space, _), (kept, _) in self._kept.items() if space == caller.space]
        return sorted(own, key=lambda kept: kept.name)


class NamedUses:
    """What a test says is given which secret."""

    def __init__(self, uses: Mapping[str, Sequence[str]] | None = None) -> None:
        self._uses = uses or {}

    async def __call__(self, caller: Principal) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 # whoever asks
        return self._uses


class MemoryBudgets:
    def __init__(self) -> None:
        self._budgets: dict[tuple[SpaceId, str], Budget] = {}

    async def open(self, caller: Principal, budget: str, cap: Cost) -> None:
        if (caller.space, budget) in self._budgets:
            raise BudgetTaken(budget)
        self._budgets[caller.space, budget] = Budget(cap)

    async def reserve(
        self, caller: Principal, budget: str, name: str, amount: Cost
    ) -> OverBudget | None:
        now = self._get(caller, budget)
        if name in now.reserved:
            raise BudgetTaken(f"{budget}/{name}")
        after = now.reserve(name, amount)
        if isinstance(after, OverBudget):
            return after
        self._budgets[caller.space, budget] = after
        return None

    async def settle(self, caller: Principal, budget: str, name: str, actual: Cost) -> None:
        now = self._get(caller, budget)
        if name not in now.reserved:
            raise BudgetNotFound(f"{budget}/{name}")
        self._budgets[caller.space, budget] = now.settle(name, actual)

    async def release(self, caller: Principal, budget: str, name: str) -> None:
        await self.settle(caller, budget, name, Cost())

    async def left(self, caller: Principal, budget: str) -> Cost:
        now = self._get(caller, budget)
        cap, held = now.cap, now.committed
        return replace(
            cap,
            tokens=Tokens(cap.tokens - held.tokens),
            money=cap.money - held.money,
            time=cap.time - held.time,
            calls=cap.calls - held.calls,
        )

    async def close(self, caller: Principal, budget: str) -> None:
        self._budgets.pop((caller.space, budget), None)

    def _get(self, caller: Principal, budget: str) -> Budget:
        found = self._budgets.get((caller.space, budget))
        if found is None:
            raise BudgetNotFound(budget)
        return found


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
    def __init__(self, world: InMemoryStore) -> None:
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
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def get(self, caller: Principal, server: Id) -> LoginClient | None:
        return self._world.login_clients.get((caller.space, server.value))

    async def put(self, caller: Principal, server: Id, client: LoginClient) -> None:
        _known_server(self._world, caller.space, server)
        self._world.login_clients[caller.space, server.value] = client

    async def remove(self, caller: Principal, server: Id) -> None:
        self._world.login_clients.pop((caller.space, server.value), None)


class MemoryLogins:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def get(self, place: LoginPlace) -> LoginTokens | None:
        return self._world.logins.get(_row(place))

    @asynccontextmanager
    async def holding(self, place: LoginPlace) -> AsyncIterator[LoginTokens | None]:
        async with self._world.turns["login", *_row(place)]:
            yield await self.get(place)

    async def put(self, place: LoginPlace, tokens: LoginTokens) -> None:
        _known_place(self._world, place)
        self._world.logins[_row(place)] = tokens

    async def forget(self, place: LoginPlace) -> bool:
        return self._world.logins.pop(_row(place), None) is not None

    async def put_attempt(self, digest: bytes, attempt: Attempt) -> None:
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
    refreshed: list[LoginTokens] = field(default_factory=list)
    revoked: list[LoginTokens] = field(default_factory=list)
    registered: list[str] = field(default_factory=list)

    async def find(
        self, url: str, challenge: Challenge, issuer: str | None
    ) -> DiscoveredLogin | None:
        if not self.offers and issuer is None:
            return None
        scopes = () if challenge.scope is None else (challenge.scope,)
        return DiscoveredLogin(server=self.server, resource=url, scopes=scopes)

    async def register(self, server: AuthorizationServer, redirect_url: str) -> LoginClient:
        if self.refuses is not None:
            raise GrantRefused(server.issuer, self.refuses)
        self.registered.append(redirect_url)
        name = f"client-{len(self.registered)}"
        return LoginClient(url="", issuer=server.issuer, client_id=name, method="none")

    async def exchange(self, attempt: Attempt, code: str, now: datetime) -> LoginTokens:
        self.exchanged.append((attempt, code))
        return self._made(LoginTokens(access="", url=attempt.place.url, known=attempt.known), now)

    async def refresh(self, tokens: LoginTokens, now: datetime) -> LoginTokens:
        self.refreshed.append(tokens)
        return self._made(tokens, now)

    async def revoke(self, tokens: LoginTokens) -> None:
        self.revoked.append(tokens)

    def _made(self, tokens: LoginTokens, now: datetime) -> LoginTokens:
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


def _known_place(world: InMemoryStore, place: LoginPlace) -> None:
    if (place.space, place.principal) not in world.identities:
        raise RowRefused(f"There is no principal {place.principal}.")
    _known_server(world, place.space, place.server)


def _known_server(world: InMemoryStore, space: SpaceId, server: Id) -> None:
    if not any(its[0] == space and its[1].value == server.value for its in world.servers):
        raise RowRefused(f"There is no server {server}.")
