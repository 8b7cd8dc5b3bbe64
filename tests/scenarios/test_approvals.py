"""An agent asks, people answer: a real server, the official client, both eras, a database."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation import Installation, installation

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
]

_SERVER = Path(__file__).with_name("mail_server.py")
ERAS = ("auto", "legacy")


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made:
        with (made.home / "config" / "portico.toml").open("a") as settings:
            settings.write("\n[approvals]\nwait_seconds = 1\n")
        with made.serving():
            added = made.run("servers", "add", "mail", "--", sys.executable, str(_SERVER))
            assert added.code == 0, added.err
            let_in = made.run("servers", "approve", "mail", "--yes", "--all")
            assert let_in.code == 0, let_in.err
            yield made


def agent_key(house: Installation) -> str:
    return (house.home / "config" / "agent.key").read_text().strip()


@asynccontextmanager
async def client(house: Installation, era: str, **more: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {agent_key(house)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{house.url}/mcp", http_client=http)
        async with Client(transport, mode=era, **more) as made:
            yield made


def sending(to: str) -> dict[str, Any]:
    return {"tool": "mail.send", "arguments": {"to": to}}


def answer(house: Installation, approval: str, **body: Any) -> dict[str, Any]:
    with house.client() as person:
        said = person.post(f"/approvals/{approval}/answer", json=body)
    assert said.status_code == 200, said.text
    found: dict[str, Any] = said.json()
    return found


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def facts_of(result: types.CallToolResult) -> dict[str, Any]:
    facts: dict[str, Any] | None = result.structured_content
    assert facts is not None
    return facts


async def repeated(asking: Client, to: str) -> types.CallToolResult:
    """The same call, until somebody's answer has come to something."""
    async with asyncio.timeout(60):
        while True:
            result = await asking.call_tool("call_destructive", sending(to))
            if not (result.structured_content or {}).get("approval"):
                return result


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_goes_on_and_finds_its_result_by_the_same_call(
    house: Installation, era: str
) -> None:
    to, told = f"{era}@else.example", list[str]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(str(message))

    async with client(house, era) as asking:
        waits = await asking.call_tool("call_destructive", sending(to), progress_callback=hear)
        pending = facts_of(waits)
        answer(house, pending["approval"], answer="once")
        done = await repeated(asking, to)
        by_number = await asking.call_tool("read_result", {"result": pending["approval"]})

    assert (waits.is_error, pending["status"]) == (False, "approval_pending")
    assert any("waiting for somebody to approve mail.send" in each for each in told)
    assert text_of(done) == text_of(by_number) == f"sent to {to}"


@pytest.mark.parametrize("era", ERAS)
async def test_a_program_that_an_operator_trusts_asks_its_user(
    house: Installation, era: str
) -> None:
    key = agent_key(house).split("_")[1]
    asked: list[str] = []
    replies: list[types.ElicitResult] = []

    async def elicit(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return replies.pop(0)

    def accepted(word: str) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": word})

    async with client(house, era, elicitation_callback=elicit) as asking:
        replies.append(accepted("once"))
        untrusted = await asking.call_tool("call_destructive", sending(f"u-{era}@x.example"))
        trusted = house.run("keys", "trust", key, "--as", _admin(house))
        yes = await asking.call_tool("call_destructive", sending(f"y-{era}@x.example"))
        replies.append(accepted("yes"))
        odd = await asking.call_tool("call_destructive", sending(f"o-{era}@x.example"))
        replies.append(types.ElicitResult(action="decline"))
        declined = await asking.call_tool("call_destructive", sending(f"d-{era}@x.example"))
        replies.append(accepted("reject"))
        no = await asking.call_tool("call_destructive", sending(f"n-{era}@x.example"))
    house.run("keys", "trust", key, "--nobody")

    assert trusted.code == 0, trusted.err
    assert facts_of(untrusted)["status"] == "approval_pending"
    assert text_of(yes) == f"sent to y-{era}@x.example"
    assert facts_of(odd)["status"] == "approval_pending"
    assert facts_of(declined)["status"] == "approval_pending"
    assert "approval_rejected" in text_of(no)
    assert len(asked) == 4
    with house.client() as person:
        listed = person.get("/approvals", params={"limit": 200}).json()["data"]
    given = {each["arguments"]["to"]: each["answered"] for each in listed}
    assert given[f"y-{era}@x.example"]["via"] == "elicitation"
    assert given[f"y-{era}@x.example"]["by_name"] == _admin(house)
    assert given[f"o-{era}@x.example"] is None


def test_no_program_answers_for_a_person(house: Installation) -> None:
    with house.client(agent_key(house)) as agent:
        waits = agent.post("/calls", json=sending("self@else.example"))
        own = agent.post(f"/approvals/{waits.json()['approval']}/answer", json={"answer": "once"})
    said = house.run("approvals", "approve", waits.json()["approval"])

    assert waits.status_code == 202
    assert (own.status_code, own.json()["code"]) == (403, "not_permitted")
    assert (said.code, "needs_terminal" in said.err) == (6, True)


def _admin(house: Installation) -> str:
    with house.client() as person:
        return str(person.get("/me").json()["name"])
