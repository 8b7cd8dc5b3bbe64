"""Portico's own tools in a whole installation: approved, found and called as any other."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation import Installation, installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made, made.serving():
        done = made.run("servers", "approve", "builtin", "--yes", "--all")
        assert done.code == 0, done.err + made.log
        yield made


def call(house: Installation, tool: str, key: str | None = None, **arguments: Any) -> Any:
    with house.client(key) as client:
        body = {"tool": f"builtin.{tool}", "arguments": arguments}
        answer = client.post("/calls", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def over_mcp(
    house: Installation, tool: str, arguments: dict[str, Any], path: str = "/mcp"
) -> Any:
    headers = {"Authorization": f"Bearer {house.key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{house.url}{path}", http_client=http)) as client,
    ):
        return await client.call_tool(tool, arguments)


def test_a_command_is_found_and_runs(house: Installation) -> None:
    found = house.run("search", "run a command", "--json")
    said = house.run("call", "builtin.shell", "command=echo $((6*7)); echo oh >&2; exit 3")

    assert json.loads(found.out)["hits"][0]["tool"] == "builtin.shell", found.out
    assert said.code == 0, said.err
    assert said.out.rstrip().splitlines() == ["exit code 3", "stdout:", "42", "", "stderr:", "oh"]


def test_a_shell_sees_nothing_of_portico_and_nothing_of_the_network(house: Installation) -> None:
    command = (
        f"cat {house.home}/config/client.key {house.home}/data/secrets/pepper; "
        f"ls {house.home}/data; cat /proc/1/environ; env; "
        f"exec 3<>/dev/tcp/127.0.0.1/{house.port} && echo connected"
    )

    bash = call(house, "shell", command=f"bash -c '{command}'")

    said = bash["structured"]["stdout"] + bash["structured"]["stderr"]
    assert house.key not in said
    assert "secrets" not in bash["structured"]["stdout"]
    assert "PORTICO_" not in said
    assert "connected" not in said


def test_a_client_of_this_server_alone_takes_its_answers_and_its_failures(
    house: Installation,
) -> None:
    """The library holds each answer against the schema that the tool was listed with."""

    async def three() -> list[Any]:
        alone = "/mcp/servers/builtin"
        return [
            await over_mcp(house, "shell", {"command": "echo alone"}, alone),
            await over_mcp(house, "shell", {"command": "yes"}, alone),
            await over_mcp(house, "read_file", {"path": "../out"}, alone),
        ]

    done, loud, out = asyncio.run(three())

    assert done.structured_content["stdout"] == "alone\n"
    assert loud.is_error
    assert out.is_error
    assert out.structured_content["code"] == "path_refused"
