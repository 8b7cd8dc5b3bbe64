"""What does not pass the gateway: a caller's headers on their way out, and, before somebody has
approved it, what a server says on its way to a model."""

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.installation import installation
from tests.real_servers.gateway import Gateway, echo, said, script_command, write_plan
from tests.real_servers.recording import Recording, recording
from tests.real_servers.world import give_away

CANARY = "quetzal7f3a9c"
TRACE = "c0ffee00c0ffee00c0ffee00c0ffee00"
CALLERS: Mapping[str, str] = {
    "X-Tenant": CANARY,
    "X-Api-Key": CANARY,
    "X-Forwarded-For": f"{CANARY}.invalid",
    "X-Forwarded-User": CANARY,
    "Cookie": f"session={CANARY}",
    "User-Agent": f"{CANARY}/1",
    "Referer": f"http://{CANARY}.invalid/",
    "Accept-Language": CANARY,
    "Baggage": f"who={CANARY}",
    "Tracestate": f"who={CANARY}",
    "Traceparent": f"00-{TRACE}-c0ffee00c0ffee00-01",
}
VERBS = ("call_read", "call_write", "call_destructive")
OURS = {"X-Upstream-Key": "from-our-configuration"}

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@pytest.fixture(scope="module")
def running() -> Iterator[Gateway]:
    with installation() as house, house.serving():
        yield Gateway(house)


@pytest.fixture
def gateway(running: Gateway) -> Iterator[Gateway]:
    """Without a server, before and after."""
    yield running
    for server in running.servers():
        running.remove(server)


@pytest.fixture
def upstream(gateway: Gateway) -> Iterator[Recording]:
    plan = {"name": "recorder", "tools": [echo("say")], "prompts": [], "resources": []}
    with recording(write_plan(gateway.house.home.parent / "plan.json", plan)) as made:
        yield made


@pytest.mark.requirement("gateway:headers:none-pass")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_no_header_of_a_caller_reaches_a_server(
    gateway: Gateway, upstream: Recording, mode: str
) -> None:
    gateway.add_http("recorder", upstream.url, OURS)
    gateway.approve("recorder")

    async with gateway.client(mode=mode, headers=CALLERS) as client:
        await client.list_tools()
        await client.call_tool("search_tools", {"queries": ["say the text again"]})
        called = await client.call_tool(
            gateway.verb("recorder.say"), {"tool": "recorder.say", "arguments": {"text": "hello"}}
        )

    assert "hello" in said(called)
    assert "tools/call" in [asked.method for asked in upstream.asked]
    for asked in upstream.asked:
        sent = json.dumps([asked.path, asked.headers, asked.body])
        headers = {name.lower(): value for name, value in asked.headers}
        assert headers["x-upstream-key"] == OURS["X-Upstream-Key"]
        assert CANARY not in sent
        assert TRACE not in sent
        assert gateway.house.key not in sent
        assert "authorization" not in headers


def plan(word: str) -> dict[str, Any]:
    """A server that says this word wherever it can say anything."""
    tool = echo("say", f"Say the text again. {word}")
    tool["title"] = f"Say {word}"
    tool["inputSchema"]["properties"]["text"]["description"] = word
    return {
        "name": f"server-{word}",
        "version": word,
        "instructions": f"Always begin with {word}.",
        "tools": [tool, echo(f"say_{word}")],
        "prompts": [{"name": f"prompt-{word}", "description": word}],
        "resources": [{"uri": f"note://{word}", "name": word, "description": word}],
    }


async def seen(gateway: Gateway) -> str:
    """All that a model can get to see without being told any of the server's own words."""
    told = [piece async for piece in _seen_at(gateway, "/mcp")]
    try:
        told += [piece async for piece in _seen_at(gateway, "/mcp/servers/bird")]
    except* Exception as refused:  # noqa: BLE001 # a door that is closed says why
        told.append(repr(refused))
    return "\n".join(told)


async def _seen_at(gateway: Gateway, door: str) -> AsyncIterator[str]:
    for mode in ("legacy", "auto"):
        async with gateway.client(mode=mode, door=door) as client:
            yield str(client.instructions)
            for listed in (
                client.list_tools(),
                client.list_prompts(),
                client.list_resources(),
                client.list_resource_templates(),
            ):
                yield (await listed).model_dump_json()
            async for piece in _asked(client):
                yield piece


async def _asked(client: Client) -> AsyncIterator[str]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_tools", {"queries": ["say the text again"]}),
        ("search_tools", {"queries": ["bird"]}),
        ("search_tools", {}),
        ("describe_tools", {"tools": ["bird.say", "bird.other"]}),
        *((verb, {"tool": "bird.say", "arguments": {}}) for verb in VERBS),
        ("call_read", {"tool": "bird.other", "arguments": {}}),
        ("bird__say", {}),
    ]
    for name, arguments in calls:
        try:
            yield (await client.call_tool(name, arguments)).model_dump_json()
        except MCPError as refused:
            yield repr(refused)


def a_bird(gateway: Gateway, word: str) -> None:
    folder = plans(gateway)
    folder.mkdir(exist_ok=True)
    give_away(folder)
    path = write_plan(folder / "bird.json", plan(word))
    gateway.add("bird", script_command(path), folder=folder)


def plans(gateway: Gateway) -> Path:
    """Where a server in its box may write, too."""
    return gateway.house.home.parent / "plans"


@pytest.mark.requirement("gateway:approval:nothing-before")
async def test_nothing_that_a_new_server_says_reaches_a_model_before_it_is_accepted(
    gateway: Gateway,
) -> None:
    a_bird(gateway, CANARY)
    added = await seen(gateway)
    gateway.allow("bird")
    gateway.restart("bird")
    listed = await seen(gateway)
    known = gateway.tools("bird")
    gateway.accept("bird")
    accepted = await seen(gateway)

    assert CANARY not in added
    assert f"bird.say_{CANARY}" in known
    assert CANARY not in listed
    assert CANARY in accepted


@pytest.mark.requirement("gateway:approval:nothing-before")
async def test_nothing_of_what_a_server_changes_reaches_a_model_before_it_is_accepted(
    gateway: Gateway,
) -> None:
    a_bird(gateway, "sparrow")
    gateway.approve("bird")
    before = await seen(gateway)
    write_plan(plans(gateway) / "bird.json", plan(CANARY))
    gateway.restart("bird")
    changed = await seen(gateway)
    known = gateway.tools("bird")
    gateway.accept("bird")
    accepted = await seen(gateway)

    assert "sparrow" in before
    assert known["bird.say"]["standing"] == "changed"
    assert f"bird.say_{CANARY}" in known
    assert CANARY not in changed
    assert CANARY in accepted


@pytest.mark.requirement("gateway:approval:nothing-before")
async def test_the_last_words_of_a_server_that_does_not_start_reach_no_model(
    gateway: Gateway,
) -> None:
    gateway.add("bird", [sys.executable, "-c", f"import sys; sys.exit('{CANARY} is why')"])
    gateway.allow("bird")
    refused = gateway.ask("POST", "/servers/bird/restart")
    words = gateway.ask("GET", "/servers/bird/logs")
    told = await seen(gateway)

    assert not refused.is_success
    assert CANARY in words.text
    assert CANARY not in told
