"""Whether a key of its issuer has signed a token, by the keys that the issuer publishes (JWKS)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError

from portico.adapters.oauth.documents import Documents, NotFetched
from portico.guard.core.errors import IssuerUnavailable
from portico.guard.core.oauth_logins import first_text, may_be_visited, server_urls
from portico.guard.core.tokens import Issuer, ShownToken

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
