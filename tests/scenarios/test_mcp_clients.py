"""Clients as people use them, against a running Portico with real servers behind it."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.installation import PORTICO, Installation, installation
from tests.scenarios.let_in import conformance_launch, let_in
from tests.scenarios.node_packages import installed, node

pytestmark = [pytest.mark.nightly, pytest.mark.scenario]

INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
MODES: Final = ("auto", "legacy")
BEHIND: Final = ("modern", "legacy")


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    with installation() as made, made.serving():
        for era in BEHIND:
            let_in(made, era, conformance_launch(era))
        yield made


async def ana(_context: Any, _params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ana"})


async def model(_context: Any, _params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", content=said, model="test")


async def folders(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///project"}]})


CAN: Mapping[str, Any] = {
    "elicitation_callback": ana,
    "sampling_callback": model,
    "list_roots_callback": folders,
}


@asynccontextmanager
async def over_http(house: Installation, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {house.key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(
            streamable_http_client(f"{house.url}/mcp", http_client=http), mode=mode, **CAN
        ) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(house: Installation, mode: str) -> AsyncIterator[Client]:
    program = StdioServerParameters(
        command=str(PORTICO), args=["stdio"], env=dict(house.environment), cwd=house.home
    )
    async with Client(program, mode=mode, **CAN) as client:
        yield client


WAYS = {"http": over_http, "stdio": over_stdio}


def text(result: types.CallToolResult) -> str:
    found: str = result.model_dump()["content"][0]["text"]
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_is_found_described_and_called(
    house: Installation, mode: str, way: str
) -> None:
    async with WAYS[way](house, mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search_tools", {"queries": ["answers with a text"]})
        described = await client.call_tool("describe_tools", {"tools": ["modern.test_simple_text"]})
        called = await client.call_tool("call_read", {"tool": "modern.test_simple_text"})

    assert listed[:9] == [
        "search_tools",
        "describe_tools",
        "call_read",
        "call_write",
        "call_destructive",
        "read_result",
        "run_workflow",
        "workflow_status",
        "run_program",
    ]
    assert "test_simple_text" in text(found)
    assert "test_simple_text" in text(described)
    assert text(called) == "This is a simple text response for testing."


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("mode", MODES)
async def test_a_question_crosses_the_eras(
    house: Installation, mode: str, behind: str, way: str
) -> None:
    """Client and server of either era, in all four combinations."""
    expected = {
        "elicitation": "Hello, Ana!",
        "sampling": "Paris",
        # A session that several callers share learns of nobody's folders.
        "list_roots": "file:///project" if behind == "modern" else "Roots: []",
        "multi_round": "Both known.",
        "multiple_inputs": "All there.",
    }
    async with WAYS[way](house, mode) as client:
        for kind, answer in expected.items():
            tool = f"{behind}.test_input_required_result_{kind}"
            result = await client.call_tool("call_read", {"tool": tool})
            assert answer in text(result), (kind, result)


def inspected(house: Installation, *arguments: str) -> Any:
    program = installed(*INSPECTOR)
    entry = json.loads((program / "package.json").read_text())["bin"]["mcp-inspector"]
    done = node(
        program / entry,
        "--cli",
        f"{house.url}/mcp",
        "--transport",
        "http",
        "--header",
        f"Authorization: Bearer {house.key}",
        *arguments,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls(house: Installation) -> None:
    listed = inspected(house, "--method", "tools/list")
    called = inspected(
        house,
        "--method",
        "tools/call",
        "--tool-name",
        "call_read",
        "--tool-arg",
        "tool=modern.test_simple_text",
    )

    assert "search_tools" in [tool["name"] for tool in listed["tools"]]
    assert called["content"][0]["text"] == "This is a simple text response for testing."
