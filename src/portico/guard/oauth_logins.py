"""OAuth logins: begin, finish, refresh, remove."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol
from urllib.parse import urlencode
from weakref import WeakValueDictionary

from portico.guard.core.audit import AuditEntry
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import GrantRefused, LoginRefused, LoginUnknown
from portico.guard.core.keys import StoredKey
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    ClientRegistration,
    DiscoveredLogin,
    LoginClient,
    LoginLink,
    LoginPlace,
    Tokens,
    browser_mark,
    digest_of,
    fresh_text,
    is_private_way,
    link_to,
    scope_for,
    whose_answer,
)
from portico.guard.core.principals import Identity
from portico.guard.core.tokens import Issuer, ShownToken
from portico.guard.ports import Audit, Principals
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import Id, SpaceId
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

    async def put_attempt(self, digest: bytes, attempt: Attempt) -> None:
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

    async def find(
        self, url: str, challenge: Challenge, issuer: str | None
    ) -> DiscoveredLogin | None:
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


_WAITS: Final = timedelta(minutes=10)
_METHODS: Final = ("client_secret_basic", "client_secret_post")

Reveal = Callable[[SpaceId, str], Awaitable[str | None]]
"""What a reference such as `secret:NAME` stands for; None if there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginLogin:
    servers: AuthorizationServers
    clients: LoginClients
    logins: Logins
    principals: Principals
    audit: Audit
    reveal: Reveal
    clock: Clock
    entropy: Entropy
    callback_url: str
    page_url: str
    """Where a person is told what they are about to do, before they do it."""

    def redirect_url(self, server: Id) -> str:
        """Where people come back to: for each server of tools another address, so that an answer
        cannot pass for one of somebody else's, not even of one that does not sign its name to it
        (RFC 9700, 4.4)."""
        return f"{self.callback_url}/{server}"

    async def __call__(
        self, place: LoginPlace, challenge: Challenge | None = None
    ) -> LoginLink | None:
        """None if nobody lets people in there. Raises `LoginRefused`, `LoginUnavailable`."""
        challenge = challenge or Challenge()
        if not is_private_way(place.url):
            raise LoginRefused(
                place.name,
                "what is sent there goes in the clear",
                fix="Set its address to one that begins with https.",
            )
        caller = as_principal(await self.principals.get(place.holder, place.principal))
        client = await self._client(caller, place)
        issuer = client.issuer if client is not None and client.configured else None
        found = await self.servers.find(place.url, challenge, issuer)
        if found is None:
            return None
        client = await self._registered(caller, place, client, found)
        known = await self._known(place, client, found)
        attempt = Attempt(
            place=place,
            verifier=fresh_text(self.entropy),
            redirect_url=self.redirect_url(place.server),
            known=known,
            scope=scope_for(client, challenge, found),
            expires_at=self.clock.now() + _WAITS,
        )
        state = fresh_text(self.entropy)
        await self.logins.put_attempt(digest_of(state), attempt)
        await self.audit.note(caller, _entry("login.begun", place, found.server.issuer))
        return LoginLink(
            server=place.name,
            who=caller.name,
            url=f"{self.page_url}?{urlencode({'state': state})}",
            expires_at=attempt.expires_at,
        )

    async def _client(self, caller: Principal, place: LoginPlace) -> LoginClient | None:
        """What was agreed upon for another address is of no use for this one."""
        client = await self.clients.get(caller, place.server)
        return client if client is not None and client.url == place.url else None

    async def _registered(
        self,
        caller: Principal,
        place: LoginPlace,
        client: LoginClient | None,
        found: DiscoveredLogin,
    ) -> LoginClient:
        """As what we are known there; whoever does not know us is asked to, where that is
        offered."""
        issuer, redirect_url = found.server.issuer, self.redirect_url(place.server)
        if client is not None and client.client_id is not None and client.issuer in (None, issuer):
            return client
        if found.server.register_url is None:
            raise LoginRefused(
                place.name,
                f"{issuer} does not know Portico, and cannot be asked to",
                fix=f"Register Portico there with the redirect {redirect_url}, then: "
                f"portico servers login-config {place.name} --client-id ID",
            )
        try:
            made = await self.servers.register(found.server, redirect_url)
        except GrantRefused as error:
            raise LoginRefused(place.name, f"{issuer} does not register Portico") from error
        said = client or LoginClient(url=place.url)
        new = replace(
            said,
            issuer=issuer,
            client_id=made.client_id,
            secret=made.secret,
            secret_reference=None,
            method=made.method,
        )
        await self.clients.put(caller, place.server, new)
        return new

    async def _known(
        self, place: LoginPlace, client: LoginClient, found: DiscoveredLogin
    ) -> ClientRegistration:
        secret = client.secret
        if client.secret_reference is not None:
            secret = await self.reveal(place.space, client.secret_reference)
            if secret is None:
                raise LoginRefused(
                    place.name,
                    f"there is nothing at {client.secret_reference}",
                    fix="Set it: portico secrets set NAME",
                )
        offered = found.server.methods or _METHODS[:1]
        fitting = next((each for each in _METHODS if each in offered), _METHODS[0])
        return ClientRegistration(
            server=found.server,
            client_id=client.client_id or "",
            secret=secret,
            method="none" if secret is None else client.method or fitting,
            resource=found.resource,
        )


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """What somebody is about to do, if they go on."""

    server: str
    server_url: str
    principal: str
    issuer: str
    url: str
    """Where they would be sent."""
    mark: str
    """What their browser has to bring back."""
    private: bool
    """Whether it comes back by a way that nobody else can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPendingLogin:
    """A link can be sent to anybody; who opens it has to see whom it was made for."""

    logins: Logins
    principals: Principals
    clock: Clock

    async def __call__(self, state: str) -> PendingLogin:
        """Raises `LoginUnknown`."""
        attempt = await self.logins.find(digest_of(state), self.clock.now())
        if attempt is None:
            raise LoginUnknown
        place = attempt.place
        holder = await self.principals.get(place.holder, place.principal)
        return PendingLogin(
            server=place.name,
            server_url=place.url,
            principal=holder.name,
            issuer=attempt.known.server.issuer,
            url=link_to(attempt, state),
            mark=browser_mark(state),
            private=attempt.redirect_url.startswith("https:"),
        )


@dataclass(frozen=True, slots=True)
class Returned:
    """What somebody came back with."""

    state: str
    to: str
    """The server whose address they came back to."""
    mark: str | None = None
    """What their browser was given when they said that they want this login."""
    code: str | None = None
    issuer: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedIn:
    server: str
    principal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishLogin:
    servers: AuthorizationServers
    logins: Logins
    principals: Principals
    audit: Audit
    clock: Clock

    async def __call__(self, returned: Returned) -> LoggedIn:
        """The state works once, for the principal and the server that it was made for, and in the
        browser in which somebody has said that they want that. Raises `LoginUnknown`,
        `LoginRefused`, `LoginUnavailable`."""
        attempt = await self.logins.take(digest_of(returned.state), self.clock.now())
        if attempt is None:
            raise LoginUnknown
        place, issuer = attempt.place, attempt.known.server.issuer
        holder = await self.principals.get(place.holder, place.principal)
        if holder.disabled_at is not None:
            raise LoginRefused(place.name, f"{holder.name!r} is disabled here")
        code = _code(attempt, returned)
        try:
            tokens = await self.servers.exchange(attempt, code, self.clock.now())
        except GrantRefused as error:
            raise LoginRefused(place.name, f"{issuer} says {error.reason}") from error
        await self.logins.put(place, tokens)
        await self.audit.note(as_principal(holder), _entry("login.finished", place, issuer))
        return LoggedIn(place.name, holder.name)


def _code(attempt: Attempt, returned: Returned) -> str:
    """Raises `LoginRefused`. Whose answer it is comes first: an error may be a stranger's too."""
    name, issuer = attempt.place.name, attempt.known.server.issuer
    mark = (returned.mark or "").encode()
    if not hmac.compare_digest(mark, browser_mark(returned.state).encode()):
        raise LoginRefused(
            name,
            "nobody in front of this browser was asked whether they want it",
            fix="Begin again, and go on from the page that the link opens. If somebody sent you "
            "here, close this page.",
        )
    here = attempt.redirect_url.endswith(f"/{returned.to}")
    if not here or not whose_answer(attempt.known, returned.issuer):
        raise LoginRefused(name, "the answer is not from where you were sent")
    if returned.error is not None:
        raise LoginRefused(name, f"{issuer} says {returned.error[:80]}")
    if not returned.code:
        raise LoginRefused(name, "the answer brings nothing along")
    return returned.code


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOut:
    servers: AuthorizationServers
    logins: Logins
    audit: Audit

    async def __call__(self, caller: Principal, place: LoginPlace) -> bool:
        """False if there was no login. Gone here at once; there, as far as it can be told."""
        tokens = await self.logins.get(place)
        gone = await self.logins.forget(place)
        if gone:
            issuer = "" if tokens is None else tokens.known.server.issuer
            await self.audit.note(caller, _entry("login.ended", place, issuer))
        if tokens is not None:
            await self.servers.revoke(tokens)
        return gone


def _entry(action: str, place: LoginPlace, issuer: str) -> AuditEntry:
    return AuditEntry(action=action, subject=place.name, details={"issuer": issuer})


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshToken:
    servers: AuthorizationServers
    logins: Logins
    clock: Clock
    _turns: "WeakValueDictionary[LoginPlace, asyncio.Lock]" = field(
        default_factory=WeakValueDictionary
    )
    """In this process; others are kept out by `Logins.holding`, which is dear to wait in."""

    async def __call__(self, place: LoginPlace, *, refused: str | None = None) -> str | None:
        """None if they have to log in. `refused` is one that the server did not take any more.
        Raises `LoginUnavailable`."""
        tokens = await self.logins.get(place)
        if tokens is None or tokens.url != place.url:
            return None
        if self._good(tokens, refused):
            return tokens.access
        turn = self._turns.setdefault(place, asyncio.Lock())
        async with turn, self.logins.holding(place) as now:
            return None if now is None else await self._refreshed(place, now, refused)

    def _good(self, tokens: Tokens, refused: str | None) -> bool:
        return tokens.access != refused and tokens.good(self.clock.now())

    async def _refreshed(
        self, place: LoginPlace, tokens: Tokens, refused: str | None
    ) -> str | None:
        """Somebody else may have been faster. One that cannot be had is not tried for again."""
        if self._good(tokens, refused):
            return tokens.access
        if tokens.refresh is not None:
            try:
                new = await self.servers.refresh(tokens, self.clock.now())
            except GrantRefused:
                pass
            else:
                await self.logins.put(place, new)
                return new.access
        await self.logins.forget(place)
        return None
