"""Three clients at once on one conversation of the bridge: the official SDK in both eras of the
protocol, and the Inspector; and a desktop client's way in."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.installation import PORTICO, Installation, installation
from tests.scenarios.node_packages import installed, node
from tests.scenarios.test_mcp_clients import INSPECTOR

pytestmark = [pytest.mark.scenario]

SOON = 30.0
"""Seconds; a wake-up takes milliseconds, unless the machine does something else."""


@dataclass(frozen=True)
class Place:
    """One conversation, and the keys of three agents who take part in it."""

    house: Installation
    conversation: str
    keys: dict[str, str]

    @property
    def url(self) -> str:
        return f"{self.house.url}/mcp/bridge"

    @property
    def uri(self) -> str:
        return f"portico://conversations/{self.conversation}"

    @asynccontextmanager
    async def client(self, name: str, mode: str, **more: Any) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.keys[name]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, **more) as client,
        ):
            yield client

    def inspected(self, name: str, *arguments: str) -> Any:
        program = installed(*INSPECTOR)
        entry = json.loads((program / "package.json").read_text())["bin"]["mcp-inspector"]
        key = f"Authorization: Bearer {self.keys[name]}"
        wire = ("--transport", "http", "--header", key)
        done = node(program / entry, "--cli", self.url, *wire, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    async def called(self, name: str, tool: str, **given: object) -> dict[str, Any]:
        """By the Inspector, while others go on."""
        arguments = [
            part
            for field, value in given.items()
            for part in ("--tool-arg", f"{field}={_written(value)}")
        ]
        result = await asyncio.to_thread(
            self.inspected, name, "--method", "tools/call", "--tool-name", tool, *arguments
        )
        assert not result.get("isError"), result
        facts: dict[str, Any] = result["structuredContent"]
        return facts


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with installation() as house, house.serving(), house.client() as ana:
        project = _made(ana, "/projects", {"name": "heron", "label": "team"})
        keys, people = {}, []
        for name in ("scout", "robin", "wren"):
            wish = {"kind": "agent", "name": name, "clearance": "team"}
            people.append(_made(ana, "/principals", wish)["id"])
            key = {"name": name, "principal": people[-1], "clearance": "team"}
            keys[name] = _made(ana, "/keys", key)["key"]
        begun = {"project": project["id"], "title": "Nests", "participants": people}
        yield Place(house, _made(ana, "/conversations", begun)["id"], keys)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _made(client: httpx2.Client, path: str, body: object) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def got(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def bodies(page: dict[str, Any]) -> list[str]:
    return [message["body"] for message in page["messages"]]


@pytest.mark.requirement("bridge:clients:three-at-once")
async def test_three_clients_talk_and_are_woken(place: Place) -> None:
    rung = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            assert message.params.uri == place.uri
            rung.set()

    here = [place.conversation]
    async with (
        place.client("scout", "auto") as scout,
        place.client("robin", "legacy", message_handler=hear) as robin,
        scout.listen(resource_subscriptions=[place.uri]) as news,
        asyncio.TaskGroup() as group,
    ):
        assert scout.session.protocol_version == "2026-07-28"
        assert robin.session.protocol_version == "2025-11-25"
        subscribe = types.SubscribeRequestParams(uri=place.uri)
        await robin.session.send_request(
            types.SubscribeRequest(params=subscribe), types.EmptyResult
        )
        of_scout = (await got(scout, "read", conversations=here))["cursor"]
        of_robin = (await got(robin, "read", conversations=here))["cursor"]

        await place.called("wren", "send", conversation=here[0], body="wren: hello @robin")

        async with asyncio.timeout(SOON):
            woken = await anext(news)
            await rung.wait()
        by_scout = await got(scout, "read", conversations=here, cursor=of_scout)
        inbox = await got(robin, "inbox")
        by_robin = await got(robin, "read", conversations=here, cursor=of_robin)
        assert getattr(woken, "uri", None) == place.uri
        assert bodies(by_scout) == bodies(by_robin) == ["wren: hello @robin"]
        assert (inbox["total"], inbox["unread"][0]["mentions"]) == (1, 1)

        of_wren = (await place.called("wren", "read", conversations=here))["cursor"]
        waiting = group.create_task(
            place.called("wren", "read", conversations=here, cursor=of_wren, wait=20)
        )
        answer = by_robin["messages"][0]["id"]
        await got(robin, "send", conversation=here[0], body="robin: yes", reply_to=answer)
        by_wren = await waiting
        assert bodies(by_wren) == ["robin: yes"]

        many = [
            group.create_task(got(client, "send", conversation=here[0], body=f"{name}: {number}"))
            for number in range(5)
            for name, client in (("scout", scout), ("robin", robin))
        ]
        many.append(
            group.create_task(
                place.called("wren", "send", conversation=here[0], body="wren: in between")
            )
        )
        await asyncio.gather(*many)
        seen = [
            bodies(await got(client, "read", conversations=here, limit=50))
            for client in (scout, robin)
        ]
        seen.append(bodies(await place.called("wren", "read", conversations=here, limit=50)))

    assert seen[0] == seen[1] == seen[2]
    assert len(set(seen[0])) == len(seen[0]) == 13


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_desktop_client_reaches_the_bridge_over_its_pipes(place: Place, mode: str) -> None:
    program = StdioServerParameters(
        command=str(PORTICO),
        args=["stdio", "--bridge"],
        env=dict(place.house.environment),
        cwd=place.house.home,
    )
    async with Client(program, mode=mode) as client:
        me = await got(client, "whoami")
        tools = (await client.list_tools()).tools

    assert me["kind"] == "agent"
    assert len(tools) == 16
