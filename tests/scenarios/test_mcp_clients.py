"""Clients as people use them, against a running Portico with real servers behind it."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import mcp_types as types
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.installation import PORTICO, Installation, installation
from tests.scenarios.let_in import conformance_launch, let_in
from tests.scenarios.node_packages import installed, node
from tests.servers import free_port

pytestmark = [pytest.mark.nightly, pytest.mark.scenario, pytest.mark.timeout(200)]

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


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("mode", MODES)
async def test_progress_crosses_the_eras(house: Installation, mode: str, behind: str) -> None:
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with over_http(house, mode) as client:
        tool = {"tool": f"{behind}.test_tool_with_progress"}
        await client.call_tool("call_read", tool, progress_callback=on_progress)

    assert heard == [0, 50, 100]


@pytest.mark.parametrize("mode", MODES)
async def test_resources_and_prompts_of_all_servers_are_told_apart(
    house: Installation, mode: str
) -> None:
    async with over_http(house, mode) as client:
        resources = {each.uri for each in (await client.list_resources()).resources}
        prompts = {each.name for each in (await client.list_prompts()).prompts}
        read = await client.read_resource("portico://legacy/test://static-text")
        prompt = await client.get_prompt("modern__test_simple_prompt")

    assert {"portico://modern/test://static-text", "portico://legacy/test://static-text"} <= (
        resources
    )
    assert {"modern__test_simple_prompt", "legacy__test_simple_prompt"} <= prompts
    assert "static text resource" in read.contents[0].model_dump()["text"]
    assert "simple prompt" in prompt.messages[0].content.model_dump()["text"]


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


def test_the_inspector_talks_to_portico_stdio(house: Installation) -> None:
    program = installed(*INSPECTOR)
    entry = json.loads((program / "package.json").read_text())["bin"]["mcp-inspector"]
    environment = [
        f"-e{name}={value}" for name, value in house.environment.items() if "PORTICO" in name
    ]
    done = node(
        program / entry, "--cli", *environment, str(PORTICO), "stdio", "--method", "tools/list"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "search_tools" in done.stdout


async def test_stdio_starts_the_server_if_it_is_asked_to() -> None:
    with installation() as made:
        program = StdioServerParameters(
            command=sys.executable,
            args=["-m", "portico", "stdio", "--start"],
            env=dict(made.environment),
            cwd=made.home,
        )
        try:
            async with Client(program) as client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
            assert made.ready()
        finally:
            stop(made)

    assert listed[0] == "search_tools"


def stop(made: Installation) -> None:
    """The server that was left running: by what is its own."""
    for process in psutil.process_iter(["environ", "cmdline"]):
        environ = process.info["environ"] or {}
        ours = environ.get("PORTICO_HOME") == str(made.home)
        if ours and "serve" in (process.info["cmdline"] or []):
            process.terminate()
            process.wait(30)


def test_stdio_without_a_server_says_how_to_start_it(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    made = Installation(tmp_path, free_port())
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "agent.key").write_text("ptc_of_nothing")
    with (
        subprocess.Popen(
            [PORTICO, "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=made.environment,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(f"{json.dumps(asked)}\n")
        process.stdin.flush()
        heard = json.loads(process.stdout.readline())
        process.stdin.close()
        talk, rest = process.stderr.read(), process.stdout.read()
        code = process.wait(30)

    assert heard["id"] == 1
    assert "portico up" in heard["error"]["message"]
    assert "portico up" in talk
    assert (code, rest) == (0, "")
