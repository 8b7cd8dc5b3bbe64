"""The walls in front of every route: no foreign host, no foreign page, no stranger."""

from dataclasses import dataclass

import pytest
from fastapi.routing import iter_route_contexts
from inline_snapshot import snapshot

from portico.interfaces.http.authentication import OPEN_BELOW, OPEN_PATHS
from portico.interfaces.http.middleware import HostGuard, allowed
from tests.interfaces.http.asgi import Header, ask
from tests.interfaces.http.conftest import HOST, Site


@dataclass(frozen=True)
class Hostile:
    """Headers of a request that must not get in, and the status that turns it away."""

    host: bytes | None
    origin: bytes | None = None
    status: int = 421

    @property
    def headers(self) -> list[Header]:
        named = {b"host": self.host, b"origin": self.origin}
        return [(name, value) for name, value in named.items() if value is not None]


GOOD = b"127.0.0.1:3100"

HOSTS = [
    None,
    b"",
    b"evil.example",
    b"evil.example:3100",
    b"127.0.0.1.evil.example:3100",
    b"localhost.evil.example:3100",
    b"127.0.0.1:3100.evil.example",
    b"evil.example#127.0.0.1:3100",
    b"127.0.0.1:3100@evil.example",
    b"evil.example@127.0.0.1:3100",
    b"127.0.0.1",
    b"localhost",
    b"127.0.0.1:80",
    b"127.0.0.1:3101",
    b"127.0.0.1:03100",
    b"127.0.0.1:31000",
    b"127.0.0.1:",
    b"localhost:3101",
    b"localhost.:3100",
    b"127.0.0.1.:3100",
    b"127.1:3100",
    b"127.0.1:3100",
    b"2130706433:3100",
    b"0x7f000001:3100",
    b"0177.0.0.1:3100",
    b"127.0.0.2:3100",
    b"0.0.0.0:3100",
    b"::1:3100",
    b"[::1]",
    b"[::1]:3101",
    b"[::]:3100",
    b"[0:0:0:0:0:0:0:1]:3100",
    b"[::ffff:127.0.0.1]:3100",
    b"[::1%25lo]:3100",
    b"[::1]:3100, evil.example",
    b"127.0.0.1:3100 evil.example",
    b"\t127.0.0.1:3100",
    b"127.0.0.1:3100\x00",
    b"loc\xe4lhost:3100",
    "\uff11\uff12\uff17.0.0.1:3100".encode(),
    b"null",
    b"*",
    b"http://127.0.0.1:3100",
    b"7f000001.rbndr.example:3100",
]
ORIGINS = [
    b"",
    b"null",
    b"*",
    b"http://evil.example",
    b"https://evil.example:3100",
    b"https://127.0.0.1:3100",
    b"http://127.0.0.1",
    b"http://127.0.0.1:3101",
    b"http://localhost",
    b"http://localhost:3100.evil.example",
    b"http://localhost:3100/",
    b"http://evil.example@localhost:3100",
    b"http://[::1]",
    b"http://[0:0:0:0:0:0:0:1]:3100",
    b"file://",
    b"chrome-extension://abcdef",
    b"http://127.0.0.1:3100 http://evil.example",
    b"http://127.0.0.1:3100, http://evil.example",
    b"127.0.0.1:3100",
]
PLACES = {
    "space_id": "spc_" + "0" * 26,
    "principal_id": "prn_" + "0" * 26,
    "key_id": "0" * 12,
    "run_id": "run_" + "0" * 26,
    "topic": "answer",
    "name": "files",
    "model": "agent/files:small",
    "tool": "files.read",
    "result": "res_" + "0" * 26,
    "approval": "apr_" + "0" * 26,
    "context": "ctx_" + "0" * 26,
    "server": "srv_" + "0" * 26,
    "project": "prj_" + "0" * 26,
    "conversation": "cnv_" + "0" * 26,
    "message": "msg_" + "0" * 26,
    "lease": "lse_" + "0" * 26,
    "work": "wrk_" + "0" * 26,
    "debate": "dbt_" + "0" * 26,
    "digest": "0" * 64,
}
MATRIX = [Hostile(host) for host in HOSTS] + [
    Hostile(GOOD, origin, status=403) for origin in ORIGINS
]


def filled(path: str) -> str:
    """With something in each of its places that can be there, and is not."""
    for place, value in PLACES.items():
        path = path.replace(f"{{{place}}}", value)
    assert "{" not in path, path
    return path


def every_route(site: Site) -> list[tuple[str, str]]:
    """Taken from the application itself, so that a new route is in the test by being there."""
    found = []
    for route in iter_route_contexts(site.inside.routes):
        assert route.path_format is not None, f"{route!r} is no route that this test knows"
        found += [(method, filled(route.path_format)) for method in sorted(route.methods or ())]
    return found


@pytest.mark.requirement("http:walls:host-and-origin")
async def test_every_route_refuses_every_hostile_host_and_origin(site: Site) -> None:
    bearer = (b"authorization", f"Bearer {site.key}".encode())
    let_in = []

    for method, path in every_route(site):
        for hostile in MATRIX:
            answer = await ask(site.app, method, path, headers=[*hostile.headers, bearer])
            if answer.status != hostile.status:
                let_in.append((method, path, hostile, answer.status))

    assert len(MATRIX) >= 40
    assert len(every_route(site)) >= 20
    assert let_in == []


@pytest.mark.parametrize(
    "host", [b"127.0.0.1:3100", b"localhost:3100", b"LOCALHOST:3100", b"[::1]:3100"]
)
@pytest.mark.parametrize("origin", [None, b"http://127.0.0.1:3100", b"http://localhost:3100"])
async def test_our_own_names_are_let_in(site: Site, host: bytes, origin: bytes | None) -> None:
    answer = await ask(site.app, "GET", "/healthz", headers=Hostile(host, origin).headers)

    assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", GOOD), (b"host", GOOD)],
        [(b"host", GOOD), (b"host", b"evil.example")],
        [(b"host", b"evil.example"), (b"host", GOOD)],
        [(b"Host", b"evil.example"), (b"host", GOOD)],
    ],
)
async def test_two_hosts_are_none(site: Site, headers: list[Header]) -> None:
    assert (await ask(site.app, "GET", "/healthz", headers=headers)).status == 421


async def test_two_origins_are_a_foreign_one(site: Site) -> None:
    ours = (b"origin", b"http://127.0.0.1:3100")

    answer = await ask(site.app, "GET", "/healthz", headers=[HOST, ours, ours])

    assert answer.status == 403


@pytest.mark.requirement("http:walls:host-and-origin")
async def test_the_host_guard_is_the_outermost_wall_of_what_is_served(site: Site) -> None:
    assert type(site.app) is HostGuard


@pytest.mark.requirement("http:walls:bearer")
async def test_every_route_but_the_named_ones_asks_for_a_key(site: Site) -> None:
    answers = {
        path: (await ask(site.app, method, path, headers=[HOST])).status
        for method, path in every_route(site)
    }

    open_ones = {path for path, status in answers.items() if status != 401}
    below = {path for path in open_ones if path.startswith(OPEN_BELOW)}
    assert open_ones - below == OPEN_PATHS
    assert OPEN_BELOW == "/oauth/callback/"
    assert len(below) == 1
    assert set(OPEN_PATHS) == snapshot(
        {
            "/healthz",
            "/join",
            "/readyz",
            "/oauth/login",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
        }
    )


@pytest.mark.requirement("http:walls:bearer")
@pytest.mark.parametrize(
    "authorization",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer nonsense",
        b"Basic cm9vdDpyb290",
        b"Bearer ptc_000000000000_" + b"0" * 49,
        b"Token KEY",
        b"KEY",
        b"Bearer KEYx",
        b"Bearer xKEY",
        b"Bearer KEY KEY",
    ],
)
async def test_what_is_no_key_of_ours_opens_nothing_and_is_not_told_why(
    site: Site, authorization: bytes
) -> None:
    header = (b"authorization", authorization.replace(b"KEY", site.key.encode()))

    answer = await ask(site.app, "GET", "/api/v1/me", headers=[HOST, header])

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="portico"'
    assert answer.json["detail"] == "The request carries no key that opens this door."


async def test_a_key_in_the_address_or_sent_twice_opens_nothing(site: Site) -> None:
    bearer = (b"authorization", f"Bearer {site.key}".encode())

    in_query = await ask(
        site.app, "GET", "/api/v1/me", headers=[HOST], query=f"access_token={site.key}"
    )
    twice = await ask(site.app, "GET", "/api/v1/me", headers=[HOST, bearer, bearer])

    assert (in_query.status, twice.status) == (401, 401)


async def test_a_websocket_is_turned_away(site: Site) -> None:
    said: list[object] = []

    async def send(message: object) -> None:
        said.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    await site.app({"type": "websocket", "path": "/", "headers": [HOST]}, receive, send)

    assert said == [{"type": "websocket.close", "code": 1008}]


def test_a_public_name_is_allowed_beside_our_own_and_nothing_else_is() -> None:
    found = allowed(3100, "https://Portico.Example")

    assert found.hosts == {
        "127.0.0.1:3100",
        "localhost:3100",
        "[::1]:3100",
        "portico.example",
    }
    assert "https://portico.example" in found.origins
    assert "http://portico.example" not in found.origins


def test_on_the_standard_port_our_names_come_without_it_too() -> None:
    assert "127.0.0.1" in allowed(80, None).hosts
    assert "127.0.0.1" not in allowed(3100, None).hosts
