"""What stands before the face, and what it takes of a request."""

import asyncio
import json
from typing import Any

import pytest

from portico.gateway.core.calls import ToolResult
from portico.gateway.ports import ClientChannel
from portico.interfaces.mcp.mount import MOST
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import Site, hot_tool, said
from tests.interfaces.mcp.test_eras import echo
from tests.interfaces.mcp.test_sessions import listening, opened
from tests.interfaces.mcp.wire import BOTH, envelope, headers, modern

_VERSION = "MCP-Protocol-Version"
CALL = {"name": "call_read", "arguments": {"tool": "box.echo", "arguments": {"text": "hi"}}}


async def test_another_sites_page_is_turned_away(site: Site) -> None:
    evil = {"Origin": "http://evil.example"}
    answer = await modern(site, "tools/list", {}, more=evil)

    assert answer.status_code == 403


async def test_no_answer_is_for_a_cache(site: Site) -> None:
    site.gateway.tools["echo"] = echo
    called = await modern(site, "tools/call", CALL)
    listed = await modern(site, "tools/list", {})

    assert called.headers["cache-control"] == "no-store"
    assert "no-store" in listed.headers["cache-control"]


@pytest.mark.parametrize(
    ("params", "body", "more", "told"),
    [
        pytest.param(CALL, "{", {}, (400, -32700), id="no JSON"),
        pytest.param(CALL, "[]", {}, (400, -32600), id="a batch"),
        pytest.param(CALL, None, {"Mcp-Method": "prompts/get"}, (400, -32020), id="another method"),
        pytest.param(CALL, None, {"Mcp-Name": "call_write"}, (400, -32020), id="another name"),
        pytest.param(CALL, None, {_VERSION: "2099-01-01"}, (400, -32020), id="another version"),
        pytest.param({"name": "x", "arguments": []}, None, {}, (400, -32602), id="no arguments"),
        pytest.param({"arguments": {}}, None, {}, (400, -32602), id="no name"),
        pytest.param(CALL, " " * (MOST + 1), {}, (413, None), id="too large"),
        pytest.param(CALL, None, {"Accept": "application/json"}, (406, None), id="no stream"),
    ],
)
async def test_what_is_not_right_is_told_in_the_protocols_words(
    site: Site,
    params: dict[str, Any],
    body: str | None,
    more: dict[str, str],
    told: tuple[int, int | None],
) -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": envelope(params)}
    async with site.http() as http:
        answer = await http.post(
            "/mcp",
            content=json.dumps(message) if body is None else body,
            headers={**headers("tools/call", params), **more},
        )

    status, code = told
    assert answer.status_code == status
    if code is not None:
        refusal = answer.json()
        assert (refusal["error"]["code"], refusal["id"]) == (code, 7 if body is None else None)
    assert site.gateway.asked == []


async def test_a_name_that_is_there_twice_is_refused(site: Site) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": envelope(CALL)}
    twice = [*headers("tools/call", CALL).items(), ("Mcp-Name", "call_write")]
    async with site.http() as http:
        answer = await http.post("/mcp", content=json.dumps(message), headers=twice)

    assert answer.json()["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("sent", "status"), [("eu", 200), ("us", 400), (None, 400), ("=?base64?ZXU=?=", 200)]
)
async def test_a_header_that_a_tool_wants_must_say_what_its_argument_says(
    site: Site, sent: str | None, status: int
) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    site.gateway.tools["echo"] = echo
    site.gateway.schemas["echo"] = schema
    site.gateway.hot.append(hot_tool("echo", schema))
    more = {} if sent is None else {"Mcp-Param-Region": sent}
    arguments = {"arguments": {"region": "eu"}}

    direct = await modern(
        site, "tools/call", {"name": "echo", **arguments}, path="/mcp/servers/box", more=more
    )
    hot = await modern(site, "tools/call", {"name": "box__echo", **arguments}, more=more)

    assert [direct.status_code, hot.status_code] == [status, status]


async def test_a_call_that_takes_long_is_a_stream_that_is_kept_alive(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.interfaces.mcp.pending_calls._SOON", 0.05)
    go_on = asyncio.Event()

    async def slow(_arguments: JsonObject, _line: ClientChannel) -> ToolResult:
        await go_on.wait()
        return said("done")

    site.gateway.tools["slow"] = slow
    params = {"name": "call_read", "arguments": {"tool": "box.slow"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": envelope(params)}
    async with (
        site.http() as http,
        http.stream("POST", "/mcp", json=body, headers=headers("tools/call", params)) as answer,
    ):
        lines = answer.aiter_lines()
        first = await anext(lines)
        go_on.set()
        rest = [line async for line in lines]

    assert answer.headers["content-type"] == "text/event-stream"
    assert first == ": ping"
    assert any('"text":"done"' in line for line in rest)


async def test_a_key_that_was_revoked_hears_nothing_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.interfaces.mcp.mount._ASK_AGAIN", 0.05)
    async with listening(site, await opened(site)) as answer:
        assert answer.status_code == 200
        del site.gateway.keys["ana"]

        async with asyncio.timeout(30):
            async for _ in answer.aiter_lines():
                pass


async def test_streams_end_when_the_server_does(site: Site) -> None:
    async with listening(site, await opened(site)) as answer:
        ending = asyncio.ensure_future(site.server.shutdown())

        async with asyncio.timeout(30):
            async for _ in answer.aiter_lines():
                pass
            await ending


async def test_a_message_without_an_answer_is_taken(site: Site) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    told = {**BOTH, "MCP-Protocol-Version": "2026-07-28"}
    async with site.http() as http:
        answer = await http.post("/mcp", json=body, headers=told)

    assert answer.status_code == 202
