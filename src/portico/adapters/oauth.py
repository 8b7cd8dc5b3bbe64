"""OAuth over HTTP: authorization servers to log in at, and signatures of their tokens (JWKS)."""

import asyncio
import base64
import json
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError

from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.egress.dialer import Dialer
from portico.guard.core.errors import GrantRefused, IssuerUnavailable, LoginUnavailable
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    ClientRegistration,
    DiscoveredLogin,
    LoginClient,
    Tokens,
    first_text,
    is_resource_of,
    may_be_visited,
    resource_urls,
    server_urls,
    texts,
)
from portico.guard.core.tokens import Issuer, ShownToken
from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import NetworkEndpoint

# Small JSON documents of strangers, fetched through the gate, and no longer than they need be.

_BOUNDS: Final = Bounds(seconds=10.0, largest=256 * 1024, redirects=0)
"""Nobody is followed anywhere: what a document says holds for where it stands."""


class NotFetched(Exception):
    """Nobody there, nothing that may be asked, or nothing that can be read."""


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    document: Mapping[str, Any]
    """Empty if it is none."""


@dataclass(slots=True)
class Documents:
    dialer: Dialer = field(default_factory=Dialer)
    _tls: ssl.SSLContext | None = None

    async def get(self, url: str, allow: Collection[str] = ()) -> Answered:
        """`allow` are addresses that somebody wrote here: their hosts may be anywhere. Raises
        `NotFetched`."""
        return await self._asked("GET", url, allow, headers={"accept": "application/json"})

    async def post(
        self,
        url: str,
        allow: Collection[str] = (),
        *,
        form: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """A form, or else a document. Raises `NotFetched`."""
        given = {"accept": "application/json", **(headers or {})}
        more: dict[str, Any] = {"data": dict(form)} if form is not None else {"json": body}
        return await self._asked("POST", url, allow, headers=given, **more)

    async def _asked(
        self,
        method: str,
        url: str,
        allow: Collection[str],
        **sent: Any,  # noqa: ANN401 # as the library has it
    ) -> Answered:
        try:
            places = frozenset(map(written, allow))
            client = guarded_client(
                allow=places,
                dialer=self.dialer,
                tls=await self._context(),
                bounds=_BOUNDS,
                proxied=_proxied(url, places),
            )
            async with client:
                answer = await client.request(method, url, **sent)
        except (httpx2.HTTPError, httpx2.InvalidURL, AddressRefused, UnicodeError) as error:
            # What it says may quote what was sent, and that may be a secret.
            reason = str(error) if isinstance(error, AddressRefused) else type(error).__name__
            raise NotFetched(reason) from error
        return Answered(answer.status_code, _document(answer.content))

    async def _context(self) -> ssl.SSLContext:
        """Dear to build, so there is one for all."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._tls


def _proxied(url: str, places: Collection[NetworkEndpoint]) -> httpx2.URL | None:
    return httpx2.URL(url) if written(url) in places else None


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_LONGEST_LIFE: Final = 366 * 86_400


@dataclass(frozen=True, slots=True)
class HttpAuthorizationServers:
    documents: Documents

    async def find(
        self, url: str, challenge: Challenge, issuer: str | None
    ) -> DiscoveredLogin | None:
        named = await self._resource(url, challenge, issuer)
        if named is None and issuer is None:
            return None
        resource, issuers, scopes = named or (url, (), ())
        if issuer is not None and issuers and issuer not in issuers:
            raise LoginUnavailable(url, f"it does not let people in by {issuer}")
        chosen = issuer or issuers[0]
        server = await self._described(chosen, written=issuer is not None)
        return DiscoveredLogin(server=server, resource=resource, scopes=scopes)

    async def _resource(
        self, url: str, challenge: Challenge, issuer: str | None
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        """What the server of tools says: its own name, who lets people in, and to what."""
        allow = [url] if issuer is None else [url, issuer]
        for place in resource_urls(url, challenge):
            try:
                answer = await self.documents.get(place, allow)
            except NotFetched:
                continue
            resource = first_text(answer.document, "resource")
            servers = texts(answer.document, "authorization_servers")
            if answer.status != 200 or resource is None or not servers:
                continue
            if not is_resource_of(resource, url):
                raise LoginUnavailable(url, f"it calls itself {resource[:200]}, which is another")
            return resource, servers, texts(answer.document, "scopes_supported")
        return None

    async def _described(self, issuer: str, *, written: bool) -> AuthorizationServer:
        if not written and not issuer.startswith("https://"):
            raise LoginUnavailable(issuer, "nobody is sent there in the clear")
        reason = "it does not describe itself"
        for place in server_urls(issuer):
            try:
                answer = await self.documents.get(place, [issuer] if written else [])
            except NotFetched as error:
                reason = str(error)
                continue
            if answer.status == 200 and answer.document.get("issuer") == issuer:
                return _server(issuer, answer.document, written=written)
        raise LoginUnavailable(issuer, reason)

    async def register(self, server: AuthorizationServer, redirect_url: str) -> LoginClient:
        if server.register_url is None:
            raise GrantRefused(server.issuer, "it registers nobody")
        method = "none" if "none" in server.methods else "client_secret_basic"
        wish = {
            "client_name": "Portico",
            "redirect_uris": [redirect_url],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native" if _is_loopback(redirect_url) else "web",
        }
        answer = await self._posted(server, server.register_url, body=wish)
        client_id = first_text(answer.document, "client_id")
        if answer.status not in {200, 201} or client_id is None:
            raise _refused(server.issuer, answer)
        return LoginClient(
            url="",
            issuer=server.issuer,
            client_id=client_id,
            secret=first_text(answer.document, "client_secret"),
            method=first_text(answer.document, "token_endpoint_auth_method") or method,
        )

    async def exchange(self, attempt: Attempt, code: str, now: datetime) -> Tokens:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.redirect_url,
            "code_verifier": attempt.verifier,
        }
        document = await self._tokens(attempt.known, form)
        return _read(document, attempt.known, attempt.place.url, now)

    async def refresh(self, tokens: Tokens, now: datetime) -> Tokens:
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh or ""}
        document = await self._tokens(tokens.known, form)
        new = _read(document, tokens.known, tokens.url, now)
        # Who gives no new one lets the old one be used again.
        return replace(new, refresh=new.refresh or tokens.refresh, scope=new.scope or tokens.scope)

    async def revoke(self, tokens: Tokens) -> None:
        known = tokens.known
        if known.server.revoke_url is None:
            return
        form = {"token": tokens.refresh or tokens.access}
        try:
            headers, proof = _proof(known)
            await self._posted(
                known.server, known.server.revoke_url, form=form | proof, headers=headers
            )
        except LoginUnavailable:
            return

    async def _tokens(
        self, known: ClientRegistration, form: Mapping[str, str]
    ) -> Mapping[str, Any]:
        headers, proof = _proof(known)
        sent = {**form, "resource": known.resource, **proof}
        server = known.server
        answer = await self._posted(server, server.token_url, form=sent, headers=headers)
        if answer.status >= 500:
            raise LoginUnavailable(known.server.issuer, f"HTTP {answer.status}")
        if answer.status != 200:
            raise _refused(known.server.issuer, answer)
        return answer.document

    async def _posted(
        self,
        server: AuthorizationServer,
        url: str,
        **sent: Any,  # noqa: ANN401 # passed on
    ) -> Answered:
        try:
            return await self.documents.post(url, [server.issuer] if server.written else [], **sent)
        except NotFetched as error:
            raise LoginUnavailable(server.issuer, str(error)) from error


def _server(issuer: str, document: Mapping[str, Any], *, written: bool) -> AuthorizationServer:
    """Raises `LoginUnavailable` if it cannot do what we need: a code, proven by S256."""
    authorize = first_text(document, "authorization_endpoint")
    token = first_text(document, "token_endpoint")
    optional = [first_text(document, f"{name}_endpoint") for name in ("registration", "revocation")]
    register, revoke = (
        each if each and may_be_visited(each, issuer) else None for each in optional
    )
    if authorize is None or token is None:
        raise LoginUnavailable(issuer, "it does not say where to log in")
    if not may_be_visited(authorize, issuer) or not may_be_visited(token, issuer):
        raise LoginUnavailable(issuer, "it would let people log in in the clear")
    if "S256" not in texts(document, "code_challenge_methods_supported"):
        raise LoginUnavailable(issuer, "it does not offer PKCE, without which a code can be stolen")
    return AuthorizationServer(
        issuer=issuer,
        authorize_url=authorize,
        token_url=token,
        register_url=register,
        revoke_url=revoke,
        written=written,
        says_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        methods=texts(document, "token_endpoint_auth_methods_supported"),
        scopes=texts(document, "scopes_supported"),
    )


def _proof(known: ClientRegistration) -> tuple[dict[str, str], dict[str, str]]:
    """Who asks: headers, and fields of the form."""
    if known.secret is None:
        return {}, {"client_id": known.client_id}
    if known.method == "client_secret_post":
        return {}, {"client_id": known.client_id, "client_secret": known.secret}
    pair = f"{quote(known.client_id, safe='')}:{quote(known.secret, safe='')}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}


def _read(
    document: Mapping[str, Any], known: ClientRegistration, url: str, now: datetime
) -> Tokens:
    """Raises `GrantRefused`."""
    access, kind = first_text(document, "access_token"), first_text(document, "token_type")
    if access is None or (kind or "").lower() != "bearer" or not access.isascii():
        raise GrantRefused(known.server.issuer, "what it gives is no bearer token")
    return Tokens(
        access=access,
        refresh=first_text(document, "refresh_token"),
        expires_at=_end(document.get("expires_in"), now),
        scope=first_text(document, "scope"),
        url=url,
        known=known,
    )


def _end(life: object, now: datetime) -> datetime | None:
    """None if it does not say."""
    if not isinstance(life, int | float) or isinstance(life, bool) or life <= 0:
        return None
    return now + timedelta(seconds=min(life, _LONGEST_LIFE))


def _refused(issuer: str, answer: Answered) -> GrantRefused:
    """Its code alone: what it says beside may quote what was sent."""
    code = first_text(answer.document, "error") or f"HTTP {answer.status}"
    return GrantRefused(issuer, code[:80])


def _is_loopback(url: str) -> bool:
    return url.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))


_log: Final = logging.getLogger("portico.tokens")
_MOST: Final = 100
"""Keys of one issuer; who publishes more is not believed the rest."""
_FRESH: Final = 600.0
"""Seconds after which keys are fetched anew: so long a key that was taken back is still good."""
_STALE: Final = 3_600.0
"""So long keys are used if their issuer does not answer."""
_PAUSE: Final = 30.0
"""Between two fetches, whatever tokens come: nobody makes us ask an issuer as often as they ask
us."""
_SMALLEST: Final = 2048
_KINDS: Final = {"RS": ("RSA", None), "PS": ("RSA", None), "Ed": ("OKP", "Ed25519")}
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


@dataclass(slots=True)
class _Ring:
    keys: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fetched: float | None = None
    tried: float | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class PublishedKeys:
    documents: Documents
    now: Callable[[], float] = monotonic
    _rings: dict[str, _Ring] = field(default_factory=dict)
    """One an issuer, and issuers are only those that are set."""

    async def signed(self, issuer: Issuer, token: ShownToken) -> bool:
        key = await self._key(issuer, token.key_id)
        usable = None if key is None else _usable(key, token.algorithm)
        if usable is None:
            return False
        try:
            # The library decides again which algorithm it is, and is given this one alone.
            PyJWS().decode_complete(token.text, usable, algorithms=[token.algorithm])
        except (PyJWTError, ValueError, TypeError):
            return False
        return True

    async def _key(self, issuer: Issuer, key_id: str) -> Mapping[str, Any] | None:
        """Raises `IssuerUnavailable` if its keys are not known, and cannot be."""
        ring = self._rings.setdefault(issuer.url, _Ring())
        if self._due(ring, key_id):
            async with ring.turn:
                if self._due(ring, key_id):
                    await self._fetch(issuer, ring)
        if ring.fetched is None or self.now() - ring.fetched > _STALE:
            raise IssuerUnavailable
        return ring.keys.get(key_id)

    def _due(self, ring: _Ring, key_id: str) -> bool:
        now = self.now()
        old = ring.fetched is None or now - ring.fetched > _FRESH
        rested = ring.tried is None or now - ring.tried > _PAUSE
        return rested and (old or key_id not in ring.keys)

    async def _fetch(self, issuer: Issuer, ring: _Ring) -> None:
        ring.tried = self.now()
        try:
            ring.keys = await self._published(issuer)
            ring.fetched = ring.tried
        except NotFetched as error:
            _log.warning("the keys of %s cannot be fetched: %s", issuer.url, error)

    async def _published(self, issuer: Issuer) -> Mapping[str, Mapping[str, Any]]:
        url = issuer.keys_url or await self._keys_url(issuer)
        allow = [issuer.url, *([] if issuer.keys_url is None else [issuer.keys_url])]
        answer = await self.documents.get(url, allow)
        keys = answer.document.get("keys")
        if answer.status != 200 or not isinstance(keys, list):
            raise NotFetched(f"{url} has none (HTTP {answer.status})")
        named = [(key["kid"], key) for key in keys[:_MOST] if _is_key(key)]
        often = Counter(name for name, _ in named)
        return {name: key for name, key in named if often[name] == 1}

    async def _keys_url(self, issuer: Issuer) -> str:
        """Where the issuer says; it must be the issuer that says so. Raises `NotFetched`."""
        for url in server_urls(issuer.url):
            answer = await self.documents.get(url, [issuer.url])
            found = first_text(answer.document, "jwks_uri")
            if answer.status == 200 and answer.document.get("issuer") == issuer.url and found:
                if not may_be_visited(found, issuer.url):
                    raise NotFetched("its keys would come in the clear")
                return found
        raise NotFetched("it does not say where they are")


def _is_key(key: object) -> bool:
    return isinstance(key, dict) and isinstance(key.get("kid"), str)


def _usable(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """Only for what it was made for: for signing, by this algorithm, and long enough."""
    kind, curve = _KINDS.get(algorithm[:2], ("EC", _CURVES.get(algorithm)))
    made_for = (key.get("kty"), key.get("use", "sig"), key.get("alg", algorithm))
    if made_for != (kind, "sig", algorithm) or key.get("crv") != curve:
        return None
    if not isinstance(key.get("key_ops", ["verify"]), list):
        return None
    if "verify" not in key.get("key_ops", ["verify"]):
        return None
    try:
        made = PyJWK(dict(key), algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    long = not isinstance(made.key, RSAPublicKey) or made.key.key_size >= _SMALLEST
    return made if long else None
