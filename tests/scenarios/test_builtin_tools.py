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
    pytest.mark.timeout(120),
]


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made, made.serving():
        done = made.run("servers", "approve", "builtin", "--yes", "--all")
        assert done.code == 0, done.err + made.log
        yield made


def an_agent(house: Installation, name: str) -> str:
    """Its key."""
    with house.client() as client:
        made = client.post("/principals", json={"name": name, "kind": "agent"})
        assert made.status_code == 201, made.text
        key = client.post("/keys", json={"principal": made.json()["id"], "name": name})
        assert key.status_code == 201, key.text
        return str(key.json()["key"])


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


def test_a_limit_that_ended_a_command_is_said(house: Installation) -> None:
    loud = call(house, "shell", command="yes")
    gone = call(house, "shell", command="(sleep 60; echo late > late) & echo begun")

    assert loud["failed"]
    assert loud["content"][0]["text"].startswith("It was ended when it had written 1 MB.")
    assert loud["result"] is not None
    assert gone["structured"]["stdout"] == "begun\n"


def test_files_and_shell_share_a_workspace_both_ways(house: Installation) -> None:
    call(house, "write_file", path="notes/a.txt", text="one\n")
    shell = call(
        house, "shell", command="cat notes/a.txt; echo two >> notes/a.txt; echo 3 > b; rm b"
    )
    made = call(house, "shell", command="mkdir -p out; printf made > out/c; chmod 600 out/c")

    assert shell["structured"]["stdout"] == "one\n", shell
    assert made["structured"]["exit_code"] == 0, made
    assert call(house, "read_file", path="notes/a.txt")["structured"]["text"] == "one\ntwo\n"
    assert call(house, "read_file", path="out/c")["structured"]["text"] == "made"
    call(house, "write_file", path="out/c", text="anew")
    again = call(house, "shell", command="cat out/c && echo more >> out/c")
    assert again["structured"]["stdout"] == "anew"
    assert again["structured"]["exit_code"] == 0


def test_two_principals_have_two_workspaces(house: Installation) -> None:
    ana, ben = an_agent(house, "ana"), an_agent(house, "ben")
    call(house, "write_file", ana, path="secret.txt", text="CANARY of ana")
    call(house, "shell", ana, command="echo 'CANARY of ana' > /tmp/left; ln -s /tmp/left link")
    folder = house.home / "data" / "workspaces"

    listed = call(house, "list_files", ben)
    searched = call(
        house, "shell", ben, command=f"grep -rsl CANARY . /tmp {folder} /var/tmp; ls -a"
    )

    assert listed["structured"]["entries"] == []
    assert searched["structured"]["stdout"].split() == [".", ".."], searched
    assert call(house, "read_file", ana, path="secret.txt")["structured"]["text"] == "CANARY of ana"


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


def test_the_web_is_reached_past_the_gate(house: Installation) -> None:
    refused = call(house, "fetch", url=f"{house.url}/readyz")

    assert refused["failed"]
    assert refused["structured"]["fix"]
    assert "readyz" not in json.dumps(refused["content"]) or "not reached" in json.dumps(refused)


def test_a_small_program_runs(house: Installation) -> None:
    done = call(
        house, "run_code", program="sum(n * n for n in numbers)", inputs={"numbers": [3, 4]}
    )

    assert done["structured"] == {"result": 25, "printed": ""}


def test_it_is_called_over_mcp_by_the_door_of_its_effect(house: Installation) -> None:
    async def both() -> tuple[Any, Any]:
        found = await over_mcp(house, "search_tools", {"queries": ["run a command"]})
        arguments = {"command": "echo over mcp"}
        called = await over_mcp(
            house, "call_write", {"tool": "builtin.shell", "arguments": arguments}
        )
        return found, called

    found, called = asyncio.run(both())

    assert "builtin.shell" in found.content[0].text
    assert called.structured_content["stdout"] == "over mcp\n"
    assert not called.is_error


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


def test_it_stays_and_can_be_switched_off(house: Installation) -> None:
    with house.client() as client:
        shown = client.get("/servers/builtin").json()
        removed = client.delete("/servers/builtin")
        client.post("/servers/builtin/disable").raise_for_status()
        body = {"tool": "builtin.list_files", "arguments": {}}
        refused = client.post("/calls", json=body)
        client.post("/servers/builtin/enable").raise_for_status()
        again = client.post("/calls", json=body)

    assert shown["command"] == "part of Portico: builtin, version 1"
    assert (removed.status_code, removed.json()["code"]) == (409, "server_built_in")
    assert refused.json()["code"] == "server_disabled"
    assert again.status_code == 200
