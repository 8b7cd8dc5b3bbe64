"""What those who vouch for people are asked: issuers of tokens, and where people log in."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from portico.guard.core.access_token import Issuer, ShownToken
from portico.guard.core.api_key import StoredKey
from portico.guard.core.identity import Identity
from portico.guard.core.login import (
    Attempt,
    AuthorizationServer,
    Challenge,
    Found,
    LoginClient,
    LoginPlace,
    Tokens,
)
from portico.kernel.ids import Id
from portico.kernel.principal import Principal


class TokenKeys(Protocol):
    """The public keys of those whose tokens are taken."""

    async def signed(self, issuer: Issuer, token: ShownToken) -> bool:
        """Whether a key of the issuer's has signed it. Raises `IssuerUnavailable`."""
        ...


class TokenSubjects(Protocol):
    """Whom tokens of others stand for."""

    async def named(self, doorman: Principal, name: str) -> Identity | None: ...

    async def bound(self, doorman: Principal, issuer: str, subject: str) -> Identity | None:
        """Who was made for this subject."""
        ...

    async def bind(
        self, doorman: Principal, identity: Identity, issuer: str, subject: str
    ) -> Identity:
        """Make them, for good; of two at once both get the one that was made. Raises
        `NameTaken`."""
        ...

    async def grant(self, doorman: Principal, key: StoredKey, digest: bytes) -> None:
        """Write down what a token brings, unless it is there already."""
        ...


class LoginClients(Protocol):
    """As what Portico is known where people log in to servers of others."""

    async def get(self, caller: Principal, server: Id) -> LoginClient | None: ...

    async def put(self, caller: Principal, server: Id, client: LoginClient) -> None: ...

    async def remove(self, caller: Principal, server: Id) -> None: ...


class Logins(Protocol):
    """The tokens of each person at each server, and no way to them but by both."""

    async def get(self, place: LoginPlace) -> Tokens | None: ...

    def holding(self, place: LoginPlace) -> AbstractAsyncContextManager[Tokens | None]:
        """As it is, for whoever is about to change it: nobody else does so, in no process, until
        this ends."""
        ...

    async def put(self, place: LoginPlace, tokens: Tokens) -> None: ...

    async def forget(self, place: LoginPlace) -> bool:
        """False if there was none."""
        ...

    async def begun(self, digest: bytes, attempt: Attempt) -> None:
        """Of the attempts of one person at one server only the latest few stay."""
        ...

    async def find(self, digest: bytes, now: datetime) -> Attempt | None:
        """None if it has expired, or was taken."""
        ...

    async def take(self, digest: bytes, now: datetime) -> Attempt | None:
        """Once, and then never again; None if it has expired."""
        ...


class AuthorizationServers(Protocol):
    """Those who let people log in. Everything here raises `LoginUnavailable`."""

    async def find(self, url: str, challenge: Challenge, issuer: str | None) -> Found | None:
        """Who lets people in to the server of tools at `url`; with an issuer, exactly that one.
        None if nobody does."""
        ...

    async def register(self, server: AuthorizationServer, redirect_url: str) -> LoginClient:
        """Raises `GrantRefused`."""
        ...

    async def exchange(self, attempt: Attempt, code: str, now: datetime) -> Tokens:
        """Raises `GrantRefused`."""
        ...

    async def refresh(self, tokens: Tokens, now: datetime) -> Tokens:
        """Raises `GrantRefused`."""
        ...

    async def revoke(self, tokens: Tokens) -> None:
        """As far as it can be; whoever cannot be told finds out when they expire."""
        ...
