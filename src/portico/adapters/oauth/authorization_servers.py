"""Where people log in, over HTTP: found, asked to know us, and asked for tokens."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from portico.adapters.oauth.documents import Answered, Documents, NotFetched
from portico.guard.core.errors import GrantRefused, LoginUnavailable
from portico.guard.core.oauth_logins import (
    Attempt,
    AuthorizationServer,
    Challenge,
    Found,
    Known,
    LoginClient,
    Tokens,
    first_text,
    is_resource_of,
    may_be_visited,
    resource_urls,
    server_urls,
    texts,
)

_LONGEST_LIFE: Final = 366 * 86_400


@dataclass(frozen=True, slots=True)
class HttpAuthorizationServers:
    documents: Documents

    async def find(self, url: str, challenge: Challenge, issuer: str | None) -> Found | None:
        named = await self._resource(url, challenge, issuer)
        if named is None and issuer is None:
            return None
        resource, issuers, scopes = named or (url, (), ())
        if issuer is not None and issuers and issuer not in issuers:
            raise LoginUnavailable(url, f"it does not let people in by {issuer}")
        chosen = issuer or issuers[0]
        server = await self._described(chosen, written=issuer is not None)
        return Found(server=server, resource=resource, scopes=scopes)

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

    async def _tokens(self, known: Known, form: Mapping[str, str]) -> Mapping[str, Any]:
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


def _proof(known: Known) -> tuple[dict[str, str], dict[str, str]]:
    """Who asks: headers, and fields of the form."""
    if known.secret is None:
        return {}, {"client_id": known.client_id}
    if known.method == "client_secret_post":
        return {}, {"client_id": known.client_id, "client_secret": known.secret}
    pair = f"{quote(known.client_id, safe='')}:{quote(known.secret, safe='')}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}


def _read(document: Mapping[str, Any], known: Known, url: str, now: datetime) -> Tokens:
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
