"""OAuth logins: providers, clients, tokens and their state."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode, urlsplit

from portico.kernel.clock import Entropy
from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind

OFFLINE: Final = "offline_access"
_FIELD: Final = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_SERVER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"
_EARLY: Final = timedelta(seconds=10)
"""So much before its end a token is not used any more: it has to arrive, too."""
_LONGEST: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPlace:
    """Whose login, and where: every token belongs to exactly one of these."""

    space: SpaceId
    principal: PrincipalId
    server: Id
    name: str = field(compare=False)
    url: str
    """Where the server is: what was given to us for one address is never sent to another."""

    @property
    def context(self) -> bytes:
        """What its tokens are sealed in."""
        return login_context(self.space, self.principal, self.server)

    @property
    def holder(self) -> Principal:
        """In whose name it is looked up: nobody else's tokens are there for them."""
        return Principal(
            id=self.principal, space=self.space, kind=PrincipalKind.PERSON, name="(its holder)"
        )


def login_context(space: Id, principal: Id, server: Id) -> bytes:
    return b"login" + space.value.bytes + principal.value.bytes + server.value.bytes


def client_context(space: Id, server: Id) -> bytes:
    return b"login client" + space.value.bytes + server.value.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What a server says to whoever it does not know."""

    metadata_url: str | None = None
    scope: str | None = None

    @classmethod
    def parse(cls, header: str) -> "Challenge | None":
        """From `WWW-Authenticate`; None if it does not ask for a token."""
        header = header[:_LONGEST]
        if not re.search(r"(?:^|,)\s*bearer\b", header, re.IGNORECASE):
            return None
        found = {name.lower(): quoted or plain for name, quoted, plain in _FIELD.findall(header)}
        return cls(metadata_url=found.get("resource_metadata"), scope=found.get("scope"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationServer:
    """Where people log in, as it describes itself."""

    issuer: str
    authorize_url: str
    token_url: str
    register_url: str | None = None
    revoke_url: str | None = None
    says_issuer: bool = False
    """It says in each answer whose it is (RFC 9207)."""
    methods: tuple[str, ...] = ()
    """How a client may prove itself to it."""
    scopes: tuple[str, ...] = ()
    written: bool = False
    """An operator named it: it may be anywhere, a neighbour too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredLogin:
    server: AuthorizationServer
    resource: str
    """What tokens are asked for: the server of tools, as it calls itself."""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginClient:
    """As what Portico is known where people log in to one server."""

    url: str
    """Of the server of tools."""
    issuer: str | None = None
    client_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    secret_reference: str | None = None
    """Where an operator keeps it instead, as `secret:NAME`."""
    method: str | None = None
    scope: str | None = None
    configured: bool = False
    """An operator has said so; nothing that a server says changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRegistration:
    """One client at one authorization server, with all that is needed to ask it for tokens."""

    server: AuthorizationServer
    client_id: str
    secret: str | None = field(default=None, repr=False)
    method: str = "none"
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tokens:
    access: str
    refresh: str | None = None
    expires_at: datetime | None = None
    scope: str | None = None
    url: str
    known: ClientRegistration

    def good(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at - _EARLY


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Attempt:
    """A login that somebody has begun."""

    place: LoginPlace
    verifier: str
    redirect_url: str
    known: ClientRegistration
    scope: str | None = None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLink:
    server: str
    who: str
    """Whom it is for."""
    url: str
    expires_at: datetime


def fresh_text(entropy: Entropy) -> str:
    """256 bits, as they are written in addresses."""
    return base64.urlsafe_b64encode(entropy(32)).rstrip(b"=").decode()


def digest_of(state: str) -> bytes:
    return hashlib.sha256(state.encode(errors="replace")).digest()


def browser_mark(state: str) -> str:
    """What a browser is given once somebody in front of it has said that they want this login, and
    has to bring back: a link that begins behind that question brings none."""
    return hashlib.sha256(f"wanted here {state}".encode(errors="replace")).hexdigest()


def link_to(attempt: Attempt, state: str) -> str:
    """Where the person has to go."""
    known, scope = attempt.known, attempt.scope
    hashed = hashlib.sha256(attempt.verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": known.client_id,
        "redirect_uri": attempt.redirect_url,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(hashed).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": known.resource,
    }
    if scope:
        asked["scope"] = scope
    if OFFLINE in (scope or "").split():
        asked["prompt"] = "consent"
    parting = "&" if urlsplit(known.server.authorize_url).query else "?"
    return f"{known.server.authorize_url}{parting}{urlencode(asked)}"


def scope_for(
    client: LoginClient | None, challenge: Challenge, found: DiscoveredLogin
) -> str | None:
    """What is asked for: what an operator said, else what the server wants; and to be let come
    again without the person, where that is offered."""
    said = client.scope if client is not None else None
    words = (said or challenge.scope or " ".join(found.scopes)).split()
    if said is None and OFFLINE in found.server.scopes:
        words.append(OFFLINE)
    return " ".join(dict.fromkeys(words)) or None


def whose_answer(known: ClientRegistration, issuer: str | None) -> bool:
    """Whether an answer comes from where the person was sent (RFC 9207)."""
    return not known.server.says_issuer if issuer is None else issuer == known.server.issuer


def resource_urls(url: str, challenge: Challenge) -> list[str]:
    """Where a server of tools may say who lets people in (RFC 9728)."""
    base, path = _parts(url)
    named = [] if challenge.metadata_url is None else [challenge.metadata_url]
    below = [f"{base}{_RESOURCE}{path}"] if path else []
    return [*named, *below, f"{base}{_RESOURCE}"]


def server_urls(issuer: str) -> list[str]:
    """Where an authorization server may describe itself (RFC 8414, OpenID Connect Discovery)."""
    base, path = _parts(issuer)
    if not path:
        return [f"{base}{_SERVER}", f"{base}{_OPENID}"]
    return [f"{base}{_SERVER}{path}", f"{base}{_OPENID}{path}", f"{base}{path}{_OPENID}"]


def is_resource_of(resource: str, url: str) -> bool:
    """Whether what a server calls itself can be its own name: the same host, and its path or one
    that leads to it."""
    (base, path), (its_base, its_path) = _parts(url), _parts(resource)
    below = path == its_path or path.startswith(f"{its_path}/")
    return base == its_base and below


def may_be_visited(url: str, issuer: str) -> bool:
    """An address that a person is sent to, or a secret: not in the clear, unless the issuer, which
    somebody has written down, is."""
    mine, its = urlsplit(url), urlsplit(issuer)
    secure = mine.scheme == "https" or (mine.scheme == "http" and its.scheme == "http")
    return secure and bool(mine.hostname) and not mine.fragment and mine.username is None


def is_private_way(url: str) -> bool:
    """Whether a token can go there without being read on the way."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in {"127.0.0.1", "::1", "localhost"}


def first_text(document: Mapping[str, object], name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST else None


def texts(document: Mapping[str, object], name: str) -> tuple[str, ...]:
    values = document.get(name)
    found = values if isinstance(values, list) else []
    return tuple(each for each in found if isinstance(each, str) and len(each) <= _LONGEST)[:100]


def _parts(url: str) -> tuple[str, str]:
    """Scheme and host, in small letters; the path without what it may end with."""
    parts = urlsplit(url)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}", parts.path.rstrip("/")
