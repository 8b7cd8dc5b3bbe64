"""Where people log in, as it is found and asked: by a server that says what a test tells it."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from portico.adapters.oauth import Documents, HttpAuthorizationServers
from portico.guard.core.errors import GrantRefused, LoginUnavailable
from portico.guard.core.oauth_logins import (
    Attempt,
    Challenge,
    ClientRegistration,
    LoginPlace,
    Tokens,
)
from portico.kernel.ids import Id, PrincipalId, SpaceId
from tests.adapters.mcp.serving import served

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVERS = HttpAuthorizationServers(Documents())


@dataclass
class There:
    """Both a server of tools and where people log in to it."""

    url: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    answer: tuple[int, dict[str, Any]] = (200, {})
    got: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def tools(self) -> str:
        return f"{self.url}/mcp"

    async def describe_tools(self, _request: Request) -> Response:
        known = {"resource": self.tools, "authorization_servers": [self.url]}
        return JSONResponse({**known, "scopes_supported": ["x"], **self.resource})

    async def describe(self, _request: Request) -> Response:
        known = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
        }
        return JSONResponse({**known, **self.server})

    async def take(self, request: Request) -> Response:
        body = await request.body()
        is_form = "form" in request.headers["content-type"]
        sent = dict(parse_qsl(body.decode())) if is_form else await request.json()
        self.got.append((request.url.path, dict(request.headers), sent))
        return JSONResponse(self.answer[1], self.answer[0])

    async def known(self, **other: Any) -> ClientRegistration:
        found = await SERVERS.find(self.tools, Challenge(), self.url)
        assert found is not None
        return replace(
            ClientRegistration(server=found.server, client_id="c", resource=found.resource), **other
        )


@asynccontextmanager
async def there() -> AsyncIterator[There]:
    made = There()
    routes = [
        Route("/.well-known/oauth-protected-resource/mcp", made.describe_tools),
        Route("/.well-known/oauth-authorization-server", made.describe),
        *(Route(path, made.take, methods=["POST"]) for path in ("/token", "/register", "/revoke")),
    ]
    async with served(Starlette(routes=routes)) as url:
        made.url = url
        yield made


def attempt(known: ClientRegistration) -> Attempt:
    one = UUID(int=1)
    place = LoginPlace(
        space=SpaceId(one), principal=PrincipalId(one), server=Id(one), name="t", url="https://t"
    )
    return Attempt(
        place=place, verifier="v", redirect_url="https://us/cb", known=known, expires_at=NOW
    )


async def test_what_a_server_says_is_found() -> None:
    async with there() as made:
        found = await SERVERS.find(made.tools, Challenge(), made.url)

    assert found is not None
    assert (found.resource, found.scopes) == (made.tools, ("x",))
    assert found.server.token_url == f"{made.url}/token"
    assert found.server.register_url == f"{made.url}/register"
    assert found.server.written


async def test_a_server_that_says_nothing_has_nobody_who_lets_people_in() -> None:
    async with there() as made:
        made.resource = {"authorization_servers": []}

        assert await SERVERS.find(made.tools, Challenge(), None) is None
        written = await SERVERS.find(made.tools, Challenge(), made.url)

    assert written is not None
    assert written.resource == made.tools


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ({"resource": "https://other.example/mcp"}, "another"),
        ({"authorization_servers": ["https://other.example"]}, "does not let people in"),
    ],
)
async def test_a_server_that_says_what_cannot_be_is_not_believed(
    resource: dict[str, Any], said: str
) -> None:
    async with there() as made:
        made.resource = resource

        with pytest.raises(LoginUnavailable, match=said):
            await SERVERS.find(made.tools, Challenge(), made.url)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"issuer": "https://other.example"}, "does not describe itself"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"token_endpoint": None}, "where to log in"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "in the clear"),
        ({"token_endpoint": "ftp://127.0.0.1/token"}, "in the clear"),
    ],
)
async def test_nobody_is_sent_to_a_place_that_would_not_do(
    server: dict[str, Any], said: str
) -> None:
    async with there() as made:
        made.server = server

        with pytest.raises(LoginUnavailable, match=said):
            await SERVERS.find(made.tools, Challenge(), made.url)


@pytest.mark.parametrize(
    "issuer", ["http://127.0.0.1:9", "https://127.0.0.1", "https://169.254.169.254/latest"]
)
async def test_whom_a_server_names_is_reached_only_if_it_is_public(issuer: str) -> None:
    async with there() as made:
        made.resource = {"authorization_servers": [issuer]}

        with pytest.raises(LoginUnavailable):
            await SERVERS.find(made.tools, Challenge(), None)


async def test_a_challenge_leads_nowhere_that_is_not_public() -> None:
    async with there() as other, there() as made:
        lured = Challenge(metadata_url=f"{other.url}/.well-known/oauth-protected-resource/mcp")
        found = await SERVERS.find(made.tools, lured, made.url)

    assert found is not None
    assert found.resource == made.tools


async def test_portico_registers_itself() -> None:
    async with there() as made:
        made.answer = 201, {"client_id": "new", "client_secret": "hush"}
        known = await made.known()
        client = await SERVERS.register(known.server, "http://127.0.0.1:3100/oauth/callback")

    assert (client.client_id, client.secret, client.issuer) == ("new", "hush", made.url)
    [(path, _, sent)] = made.got
    assert path == "/register"
    assert sent["redirect_uris"] == ["http://127.0.0.1:3100/oauth/callback"]
    assert sent["token_endpoint_auth_method"] == "none"


async def test_a_registration_that_is_refused_or_not_offered_is_told() -> None:
    async with there() as made:
        made.answer = 400, {"error": "invalid_redirect_uri"}
        known = await made.known()
        with pytest.raises(GrantRefused, match="invalid_redirect_uri"):
            await SERVERS.register(known.server, "https://us/cb")
        with pytest.raises(GrantRefused, match="nobody"):
            await SERVERS.register(replace(known.server, register_url=None), "https://us/cb")


async def test_a_code_becomes_tokens_for_the_server_that_they_were_asked_for() -> None:
    async with there() as made:
        given = {"access_token": "a", "token_type": "bearer", "refresh_token": "r"}
        made.answer = 200, {**given, "expires_in": 60, "scope": "x"}
        tokens = await SERVERS.exchange(attempt(await made.known()), "code", NOW)

    assert (tokens.access, tokens.refresh, tokens.scope) == ("a", "r", "x")
    assert tokens.expires_at == NOW + timedelta(seconds=60)
    assert tokens.url == "https://t"
    [(path, _, sent)] = made.got
    assert path == "/token"
    assert sent == {
        "grant_type": "authorization_code",
        "code": "code",
        "redirect_uri": "https://us/cb",
        "code_verifier": "v",
        "resource": made.tools,
        "client_id": "c",
    }


@pytest.mark.parametrize(
    ("method", "where"),
    [("client_secret_post", "form"), ("client_secret_basic", "header")],
)
async def test_a_secret_is_shown_in_the_way_that_is_wanted(method: str, where: str) -> None:
    async with there() as made:
        made.answer = 200, {"access_token": "a", "token_type": "Bearer"}
        known = await made.known(secret="h:u", method=method)
        tokens = await SERVERS.exchange(attempt(known), "code", NOW)

    assert tokens.expires_at is None
    [(_, headers, sent)] = made.got
    pair = base64.b64encode(b"c:h%3Au").decode()
    assert (sent.get("client_secret") == "h:u") == (where == "form")
    assert (headers.get("authorization") == f"Basic {pair}") == (where == "header")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, {"error": "invalid_grant", "error_description": "hush"}), GrantRefused),
        ((401, {}), GrantRefused),
        ((200, {"access_token": "a", "token_type": "DPoP"}), GrantRefused),
        ((200, {"token_type": "Bearer"}), GrantRefused),
        ((200, {"access_token": "\u00e9", "token_type": "Bearer"}), GrantRefused),
        ((500, {}), LoginUnavailable),
    ],
)
async def test_an_answer_without_a_token_is_told_apart(
    answer: tuple[int, dict[str, Any]], error: type[Exception]
) -> None:
    async with there() as made:
        made.answer = answer
        known = await made.known()
        with pytest.raises(error) as told:
            await SERVERS.exchange(attempt(known), "code", NOW)

    assert "hush" not in str(told.value)


async def test_a_token_is_renewed_and_the_old_one_kept_where_no_new_one_comes() -> None:
    async with there() as made:
        made.answer = 200, {"access_token": "b", "token_type": "Bearer", "expires_in": True}
        old = Tokens(access="a", refresh="r", scope="x", url="u", known=await made.known())
        new = await SERVERS.refresh(old, NOW)

    assert (new.access, new.refresh, new.scope, new.url) == ("b", "r", "x", "u")
    assert new.expires_at is None
    assert made.got[0][2]["refresh_token"] == "r"


async def test_logging_out_is_told_there_as_far_as_it_can_be() -> None:
    async with there() as made:
        known = await made.known()
        tokens = Tokens(access="a", refresh="r", url="u", known=known)
        await SERVERS.revoke(tokens)
        silent = replace(known.server, revoke_url=None)
        await SERVERS.revoke(replace(tokens, known=replace(known, server=silent)))
    await SERVERS.revoke(tokens)

    assert [(path, sent["token"]) for path, _, sent in made.got] == [("/revoke", "r")]
