"""Secrets over REST, and OAuth logins at servers."""

from datetime import datetime
from html import escape
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field, SecretStr
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from portico.gateway.logins import LoginClientSpec, LoginDetails
from portico.guard.core.oauth_logins import digest_of
from portico.guard.core.secrets import LONGEST
from portico.guard.oauth_logins import Returned
from portico.guard.secrets import SecretDetails
from portico.interfaces.http.authentication import METADATA, Caller
from portico.interfaces.http.problems import documented, status_of
from portico.interfaces.http.shapes import SECRET_NAME, Body, ServerName
from portico.interfaces.http.use_cases import Gateway
from portico.kernel.errors import PorticoError

# Secrets go in and never come out; no idempotency record keeps what was sent.

SecretNamePath = Annotated[str, Path(pattern=SECRET_NAME, max_length=64)]


class SecretIn(Body, title="SecretIn"):
    value: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST)]


class SecretOut(BaseModel, title="SecretOut"):
    name: str
    where: str
    """What it is kept in: `keyring`, or `age` for an encrypted file."""
    set_at: datetime
    set_by: str
    used_by: list[str]
    """Servers of tools that are given it when they start."""


router = APIRouter(prefix="/secrets", tags=["secrets"])


@router.get("", name="list_secrets", responses=documented())
async def list_secrets(gateway: Gateway, caller: Caller) -> list[SecretOut]:
    """Which there are, never what they are."""
    return [_out(look) for look in await gateway.secrets.list_secrets(caller)]


@router.put("/{name}", name="set_secret", responses=documented())
async def set_secret(
    gateway: Gateway, caller: Caller, name: SecretNamePath, body: SecretIn
) -> SecretOut:
    """A server that runs is given the new one when it is started again."""
    value = body.value.get_secret_value()
    return _out(await gateway.secrets.set_secret(caller, name, value))


@router.delete("/{name}", name="unset_secret", status_code=204, responses=documented(404))
async def unset_secret(gateway: Gateway, caller: Caller, name: SecretNamePath) -> None:
    """A server that is to be given it does not start any more."""
    await gateway.secrets.unset_secret(caller, name)


def _out(look: SecretDetails) -> SecretOut:
    return SecretOut(
        name=look.secret.name,
        where=look.where,
        set_at=look.secret.set_at,
        set_by=look.secret.set_by,
        used_by=[*look.used_by],
    )


AHEAD: Final = "/oauth/login"
CALLBACK: Final = "/oauth/callback"
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portico</title>
<style>body{{font:16px/1.5 system-ui;max-width:38rem;margin:12vh auto;padding:0 1rem}}</style>
<h1>{title}</h1><p>{text}</p>{more}</html>
"""
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""In nobody else's frame, where a click could be stolen. Only our own pages hear where somebody
comes from: without that a browser would not say that the click was made on one of them."""
_MINUTES: Final = 10
_Short = Annotated[str | None, Query(max_length=4_096)]
_Https = Annotated[str, Field(max_length=1_000, pattern=r"^https?://[^\s#?@]+$")]


class LoginLinkOut(BaseModel, title="LoginLinkOut"):
    server: str
    login_url: str
    """For the person who asked, and nobody else: whoever logs in there, it is their login."""
    expires_at: datetime


class LoginOut(BaseModel, title="LoginOut"):
    server: str
    logged_in: bool
    issuer: str | None
    """Where they logged in."""
    scope: str | None
    expires_at: datetime | None
    renewed: bool
    """Whether it is renewed by itself."""


class LoginClientIn(Body, title="LoginClientIn"):
    client_id: Annotated[str | None, Field(min_length=1, max_length=1_000)] = None
    """As what Portico is registered there. Left away: it registers itself, where that is
    offered."""
    client_secret: Annotated[str | None, Field(pattern=r"^secret:[A-Za-z0-9][\w.-]{0,63}$")] = None
    """Where its secret is: `secret:NAME`, as set by `portico secrets set NAME`."""
    issuer: _Https | None = None
    """Exactly who lets people in; may be on this machine or in its network. Left away: whom the
    server names, if that is public."""
    scope: Annotated[str | None, Field(max_length=2_000)] = None
    """What to ask for. Left away: what the server wants."""


class LoginClientOut(BaseModel, title="LoginClientOut"):
    server: str
    client_id: str | None
    client_secret: str | None
    issuer: str | None
    scope: str | None
    redirect_url: str
    """Where people come back to: to be registered there."""


logins_router = APIRouter(prefix="/servers", tags=["logins"])


@logins_router.post("/{name}/login", name="begin_login", responses=documented(404))
async def begin_login(gateway: Gateway, caller: Caller, name: ServerName) -> LoginLinkOut:
    """A link at which the caller logs in to the server; it works once, within ten minutes."""
    link = await gateway.logins.start(caller, name)
    return LoginLinkOut(server=link.server, login_url=link.url, expires_at=link.expires_at)


@logins_router.get("/{name}/login", name="show_login", responses=documented(404))
async def show_login(gateway: Gateway, caller: Caller, name: ServerName) -> LoginOut:
    """The caller's own."""
    return _login(await gateway.logins.show(caller, name))


@logins_router.delete("/{name}/login", name="end_login", status_code=204, responses=documented(404))
async def end_login(gateway: Gateway, caller: Caller, name: ServerName) -> None:
    """Log the caller out; without effect if they are not logged in."""
    await gateway.logins.end(caller, name)


@logins_router.put("/{name}/login-client", name="configure_login", responses=documented(404))
async def configure_login(
    gateway: Gateway, caller: Caller, name: ServerName, body: LoginClientIn
) -> LoginClientOut:
    """As what Portico is known where people log in to this server."""
    wish = LoginClientSpec(
        client_id=body.client_id,
        secret_reference=body.client_secret,
        issuer=body.issuer,
        scope=body.scope,
    )
    made = await gateway.logins.configure(caller, name, wish)
    client = made.client
    return LoginClientOut(
        server=name,
        client_id=client.client_id,
        client_secret=client.secret_reference,
        issuer=client.issuer,
        scope=client.scope,
        redirect_url=made.redirect_url,
    )


@logins_router.delete(
    "/{name}/login-client", name="forget_login_client", status_code=204, responses=documented(404)
)
async def forget_login_client(gateway: Gateway, caller: Caller, name: ServerName) -> None:
    """What the server itself says counts again."""
    await gateway.logins.forget_client(caller, name)


pages = APIRouter(include_in_schema=False)


@pages.get(AHEAD)
async def login_ahead(gateway: Gateway, state: _Short = None) -> HTMLResponse:
    """What somebody is about to do, before they do it: a link can be sent to anybody."""
    try:
        ahead = await gateway.logins.ahead(state or "")
    except PorticoError as problem:
        return _page(problem.title, f"{problem} {problem.fix or ''}", status_of(problem))
    return _page(
        f"Log in to {ahead.server}?",
        f"{ahead.principal} asks Portico to use {ahead.server} ({ahead.server_url}) in the name of "
        f"whoever logs in now, at {ahead.issuer}. Go on only if you are {ahead.principal}, and "
        "asked for this a moment ago. If somebody sent you this link, close the page.",
        button=(state or "", f"I am {ahead.principal}: go on to {ahead.issuer}"),
    )


@pages.post(AHEAD)
async def login_wanted(gateway: Gateway, state: _Short = None) -> Response:
    """Somebody has said so, on the page above: a click that was made on a page of somebody else's
    has its `Origin`, and does not get here."""
    try:
        ahead = await gateway.logins.ahead(state or "")
    except PorticoError as problem:
        return _page(problem.title, f"{problem} {problem.fix or ''}", status_of(problem))
    answer = RedirectResponse(ahead.url, 303, headers=_HEADERS)
    answer.set_cookie(
        _cookie(state or ""),
        ahead.mark,
        max_age=60 * _MINUTES,
        path="/oauth",
        secure=ahead.private,
        httponly=True,
        samesite="lax",
    )
    return answer


@pages.get(f"{CALLBACK}/{{server}}")
async def finish_login(  # noqa: PLR0913 # a parameter of the protocol each
    gateway: Gateway,
    request: Request,
    server: Annotated[str, Path(max_length=100)],
    *,
    state: _Short = None,
    code: _Short = None,
    iss: _Short = None,
    error: _Short = None,
) -> HTMLResponse:
    """Behind no key: the state is what lets in, once, and nothing but this login; in the browser in
    which somebody wanted it."""
    mark = request.cookies.get(_cookie(state or ""))
    returned = Returned(state=state or "", to=server, mark=mark, code=code, issuer=iss, error=error)
    try:
        done = await gateway.logins.finish(returned)
    except PorticoError as problem:
        return _page(problem.title, f"{problem} {problem.fix or ''}", status_of(problem))
    return _page(
        "Logged in",
        f"Portico may now use {done.server} for {done.principal}, and for nobody else. If you are "
        f"not {done.principal}, somebody else sent you here: log out there, and tell them. You can "
        "close this page.",
    )


@pages.get(METADATA)
@pages.get(f"{METADATA}/mcp")
async def protected_resource(request: Request) -> JSONResponse:
    """Who gives out tokens for this server (RFC 9728)."""
    resource = request.app.state.protected_resource
    if resource is None:
        return JSONResponse({"error": "no tokens of others are taken here"}, 404)
    return JSONResponse(resource.document, headers={"Cache-Control": "max-age=300"})


def _cookie(state: str) -> str:
    """One for each login: somebody may be at several at once."""
    return f"portico_login_{digest_of(state).hex()[:16]}"


def _page(
    title: str, text: str, status: int = 200, button: tuple[str, str] | None = None
) -> HTMLResponse:
    more = "" if button is None else _button(*button)
    page = _PAGE.format(title=escape(title), text=escape(text), more=more)
    return HTMLResponse(page, status, headers=_HEADERS)


def _button(state: str, words: str) -> str:
    there = escape(f"{AHEAD}?{urlencode({'state': state})}")
    return f'<form method="post" action="{there}"><button>{escape(words)}</button></form>'


def _login(look: LoginDetails) -> LoginOut:
    return LoginOut(
        server=look.server,
        logged_in=look.logged_in,
        issuer=look.issuer,
        scope=look.scope,
        expires_at=look.expires_at,
        renewed=look.renewed,
    )
