"""Two people, one server that wants to know who they are, and a real OAuth server: everybody's
call carries their own token, through refreshes."""

import asyncio
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.installation import Installation, installation
from tests.sign_in.town import (
    Browser,
    Provider,
    ToolServer,
    provider,
    token_for,
    tool_server,
)

pytestmark = [pytest.mark.nightly, pytest.mark.scenario]

CALLS = int(os.environ.get("PORTICO_LOGIN_CALLS", "200"))
AT_ONCE = 10
BATCH = 50
LASTS = 13
PEOPLE = ("ana", "ben", "cem", "dea", "eve", "fay", "gil", "hal", "ivo")
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
MCP = {"accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Town:
    house: Installation
    provider: Provider
    tools: ToolServer
    keys: dict[str, str]

    def client(self, name: str) -> httpx2.Client:
        return self.house.client(self.keys[name])

    def ask(self, name: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        with self.client(name) as client:
            return client.request(method, path, json=body)

    def call(self, name: str) -> httpx2.Response:
        body = {"tool": "guarded.who_am_i", "arguments": {"for": name}}
        return self.ask(name, "POST", "/calls", body)

    def logs_in(self, name: str) -> httpx2.Response:
        """As that person does: by the link that the call gave them, in their own browser."""
        refused = self.call(name)
        assert refused.status_code == 403, refused.text
        assert refused.json()["code"] == "login_needed"
        browser = Browser(name)
        try:
            return browser.open(refused.json()["login_url"])
        finally:
            browser.close()


def text_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["content"][0]["text"])


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Tokens last a few seconds, so that they are renewed again and again."""
    with (
        provider(lasts=LASTS, scopes=("tools", "portico:viewer", "portico:member")) as oauth,
        tool_server(oauth.issuer, tmp_path_factory.mktemp("book")) as tools,
        installation() as house,
    ):
        settings = house.home / "config" / "portico.toml"
        settings.write_text(f"{settings.read_text()}\n{_taking_tokens(oauth.issuer)}")
        with house.serving():
            keys = {name: _joined(house, name) for name in PEOPLE}
            made = Town(house, oauth, tools, {**keys, "root": house.key})
            _let_in(made)
            yield made


def _taking_tokens(issuer: str) -> str:
    return f"""
[oauth]
issuers = ["{issuer}"]

[[oauth.subjects]]
subject = "ana-at-login"
principal = "ana"

[[oauth.subjects]]
claim = "email"
like = "*@people.example"
create = "member"
clearance = "team"
"""


def _joined(house: Installation, name: str) -> str:
    with house.client() as client:
        link = client.post("/invitations", json={"name": name}).json()["link"]
    with house.client(link.partition("#")[2]) as client:
        return str(client.post("/invitations/accept").json()["key"])


def _let_in(made: Town) -> None:
    """As an operator does it: who lets people in is on this machine, so they have to say so; and
    they have to log in themselves, to see what it offers."""

    def asked(method: str, path: str, body: Any = None) -> Any:
        answer = made.ask("root", method, f"/servers{path}", body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    launch = {"type": "http", "url": made.tools.url}
    added = asked("POST", "", {"name": "guarded", "launch": launch})
    asked("PUT", "/guarded/login-client", {"issuer": made.provider.issuer})
    asked("POST", "/guarded/approve-launch", {"launch_pin": added["launch_pin"]})
    refused = made.ask("root", "POST", "/servers/guarded/restart")
    assert refused.json()["code"] == "login_needed", refused.text
    browser = Browser("root")
    page = browser.open(refused.json()["login_url"])
    assert page.status_code == 200, page.text
    browser.close()
    asked("POST", "/guarded/restart")
    review = asked("GET", "/guarded/review")
    effects = {tool["tool"].partition(".")[2]: "local_read" for tool in review["tools"]}
    asked("POST", "/guarded/accept", {"pin": review["pin"], "effects": effects})


async def _interleaved(made: Town, names: list[str]) -> list[httpx2.Response]:
    """Many at once, in the order of `names`, each by whoever it names."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(client: httpx2.AsyncClient, name: str) -> httpx2.Response:
        body = {"tool": "guarded.who_am_i", "arguments": {"for": name}}
        headers = {"Authorization": f"Bearer {made.keys[name]}"}
        async with turns:
            return await client.post("/api/v1/calls", json=body, headers=headers)

    async with httpx2.AsyncClient(base_url=made.house.url, timeout=60) as client:
        return await asyncio.gather(*(one(client, name) for name in names))


@pytest.mark.requirement("guard:logins:own-token")
async def test_everybodys_call_carries_their_own_token(town: Town) -> None:
    for name in ("ana", "ben"):
        page = town.logs_in(name)
        assert page.status_code == 200
        assert f"for {name}," in page.text
    before, made, chance = len(town.tools.calls), 0, random.Random(7)
    deadline = time.monotonic() + 120

    while made < CALLS or not _renewed(town.tools.calls[before:]):
        assert time.monotonic() < deadline, "no token was renewed meanwhile"
        names = [chance.choice(["ana", "ben"]) for _ in range(BATCH)]
        answers = await _interleaved(town, names)
        assert [text_of(each) for each in answers] == names
        made += BATCH

    calls = town.tools.calls[before:]
    assert len(calls) == made
    assert [call for call in calls if call["token"] != call["said"]] == []


def _renewed(calls: list[dict[str, str]]) -> bool:
    """Whether both have come with more than one token."""
    tokens = {(call["token"], call["id"]) for call in calls}
    return all(sum(who == name for who, _ in tokens) > 1 for name in ("ana", "ben"))


def test_a_link_works_once_and_for_whom_it_was_made(town: Town) -> None:
    link = town.call("gil").json()["login_url"]
    ahead = httpx2.get(link)
    assert "only if you are gil" in ahead.text
    asked = parse_qs(urlsplit(httpx2.post(link).headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["resource"] == [town.tools.url]
    browser = Browser("mallory")
    place = browser.code_at(link, town.house.url)

    strange = httpx2.URL(place).copy_set_param("iss", "https://elsewhere.example")
    assert "not from where you were sent" in browser.get(strange).text
    assert browser.get(place).status_code == 404
    assert town.call("gil").json()["code"] == "login_needed"

    again = browser.code_at(town.call("hal").json()["login_url"], town.house.url)
    assert browser.get(again).status_code == 200
    assert browser.get(again).status_code == 404
    assert town.call("gil").json()["code"] == "login_needed"
    assert text_of(town.call("hal")) == "mallory"
    browser.close()


def test_tokens_of_the_real_server_let_their_subjects_in_here(town: Town) -> None:
    us = f"{town.house.url}/mcp"
    metadata = httpx2.get(f"{town.house.url}/.well-known/oauth-protected-resource/mcp").json()
    assert metadata["resource"] == us
    assert metadata["authorization_servers"] == [town.provider.issuer]
    stranger = httpx2.get(f"{town.house.url}/api/v1/status")
    assert stranger.status_code == 401
    assert f'"{town.house.url}/.well-known/' in stranger.headers["www-authenticate"]

    member = token_for(town.provider, "ana-at-login", us, "portico:member")
    viewer = token_for(town.provider, "ana-at-login", us, "portico:viewer")
    stray = token_for(town.provider, "ana-at-login", town.tools.url, "tools")
    made = token_for(town.provider, "zoe", us, "portico:member")

    def asks(token: str, path: str = "/spaces/current") -> httpx2.Response:
        with town.house.client(token) as client:
            return client.get(path)

    assert asks(member, "/principals").status_code == 200
    few = asks(viewer, "/principals")
    assert few.status_code == 403
    assert 'error="insufficient_scope", scope="portico:member"' in few.headers["www-authenticate"]
    assert asks(stray, "/principals").status_code == 401
    assert asks(made, "/principals").status_code == 200
    names = {each["name"] for each in asks(member, "/principals").json()["data"]}
    assert "zoe@people.example" in names

    mine = {"Authorization": f"Bearer {member}"}
    over_mcp = httpx2.post(us, json=LIST, headers={**MCP, **mine})
    assert over_mcp.status_code == 200, over_mcp.text
    nobody = httpx2.post(f"{us}?access_token={member}", json=LIST, headers=MCP)
    assert nobody.status_code == 401
