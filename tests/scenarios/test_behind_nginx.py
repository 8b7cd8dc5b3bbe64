"""A Portico for the LAN: TLS by Debian's nginx as the docs set it up, and every door behind it."""

from collections.abc import Iterator

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation import Installation, installation
from tests.scenarios.nginx import Proxy, nginx_before
from tests.servers import free_port

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


@pytest.fixture(scope="module")
def proxy(house: Installation) -> Iterator[Proxy]:
    port = free_port()
    said = house.run("config", "set", "server.public_url", f"https://localhost:{port}")
    assert said.code == 0, said.err
    with house.serving(), nginx_before(house, port) as made:
        yield made


@pytest.fixture
def client(house: Installation, proxy: Proxy) -> Iterator[httpx2.Client]:
    with proxy.client(Authorization=f"Bearer {house.key}") as made:
        yield made


@pytest.mark.requirement("proxy:nginx:every-door")
def test_a_key_opens_rest(client: httpx2.Client, proxy: Proxy) -> None:
    assert client.get("/api/v1/me").json()["name"]
    link = client.post("/api/v1/invitations", json={"name": "ben", "roles": ["member"]}).json()
    assert str(link).count(f"{proxy.url}/") == 1


@pytest.mark.requirement("proxy:nginx:every-door")
async def test_the_official_client_is_answered(house: Installation, proxy: Proxy) -> None:
    headers = {"Authorization": f"Bearer {house.key}"}
    async with (
        httpx2.AsyncClient(headers=headers, verify=proxy.trusted(), trust_env=False) as http,
        Client(streamable_http_client(f"{proxy.url}/mcp", http_client=http)) as client,
    ):
        listed = await client.list_tools()

    assert "search_tools" in {tool.name for tool in listed.tools}


@pytest.mark.requirement("proxy:nginx:every-door")
def test_a_session_of_the_console_is_kept_by_a_cookie_for_tls_alone(
    house: Installation, proxy: Proxy
) -> None:
    with proxy.client(Origin=proxy.url) as browser:
        answer = browser.post("/login", data={"key": house.key})
        cookie = answer.headers["set-cookie"].lower()
        inside = browser.get("/inbox")

    assert answer.status_code == 303
    assert {"secure", "httponly", "samesite=strict"} <= {p.strip() for p in cookie.split(";")}
    assert inside.status_code == 200


@pytest.mark.requirement("proxy:nginx:streams")
def test_a_stream_is_not_held_back(client: httpx2.Client) -> None:
    started = client.post("/api/v1/runs", json={"kind": "drill", "input": {"ask": True}}).json()
    run = f"/api/v1/runs/{started['id']}"

    with client.stream("GET", f"{run}/events") as stream:
        lines = stream.iter_lines()
        waiting = next(line for line in lines if "run.waiting" in line)
        client.post(f"{run}/signals/answer", json={"payload": "yes"})
        done = next(line for line in lines if "run.done" in line)

    assert waiting
    assert done


@pytest.mark.requirement("proxy:nginx:foreign-names")
@pytest.mark.parametrize("name", ["other.example", "localhost", "localhost:1", "127.0.0.1"])
def test_a_foreign_name_is_refused_through_it(client: httpx2.Client, name: str) -> None:
    answer = client.get("/api/v1/me", headers={"Host": name})

    assert (answer.status_code, answer.json()["code"]) == (421, "host_refused")


@pytest.mark.requirement("proxy:nginx:foreign-names")
def test_another_sites_page_is_refused(client: httpx2.Client, proxy: Proxy) -> None:
    for origin in ("https://other.example", proxy.url.replace("https", "http"), "null"):
        answer = client.get("/api/v1/me", headers={"Origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "origin_refused"), origin


def test_a_file_as_large_as_portico_takes_is_let_through(client: httpx2.Client) -> None:
    """nginx alone would refuse more than a megabyte, with a page that is not ours."""
    answer = client.post("/api/v1/me", content=b"x" * 25_000_000)

    assert answer.headers["content-type"] == "application/problem+json"
