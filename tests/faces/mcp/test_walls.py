"""What stands before the face, and what it takes of a request."""

import asyncio
import json
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from portico.faces.http.app import Doors
from portico.faces.mcp.mount import MOST
from portico.gateway.core.call import Answer
from portico.gateway.ports import Line
from portico.kernel.json import JsonObject
from tests.faces.mcp.gateway import Site, hot_tool, said
from tests.faces.mcp.wire import BOTH, envelope, greet, headers, modern

CALL = {"name": "call_read", "arguments": {"tool": "box.echo", "arguments": {"text": "hi"}}}


async def echo(arguments: JsonObject, _line: Line) -> Answer:
    return said(str(arguments.get("text", "")))


async def test_without_a_key_nothing_is_told(site: Site) -> None:
    listed = await modern(site, "tools/list", {}, key="eve")
    greeted = await greet(site, key="eve")

    assert [listed.status_code, greeted.status_code] == [401, 401]
    assert listed.headers["www-authenticate"].startswith("Bearer")
    assert site.gateway.asked == []


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


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
async def test_a_request_that_is_too_large_is_not_read(site: Site, method: str) -> None:
    params = {"name": "call_read"} if method == "tools/call" else {}
    async with site.http() as http:
        answer = await http.post("/mcp", content=b" " * (MOST + 1), headers=headers(method, params))

    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("body", "more", "code", "status"),
    [
        pytest.param("{", {}, -32700, 400, id="no JSON"),
        pytest.param("[]", {}, -32600, 400, id="a batch"),
        pytest.param(None, {"Mcp-Method": "prompts/get"}, -32020, 400, id="another method"),
        pytest.param(None, {"Mcp-Name": "call_write"}, -32020, 400, id="another name"),
        pytest.param(
            None, {"MCP-Protocol-Version": "2099-01-01"}, -32020, 400, id="another version"
        ),
    ],
)
async def test_what_is_not_right_is_told_in_the_protocols_words(
    site: Site, body: str | None, more: dict[str, str], code: int, status: int
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": envelope(CALL)}
    async with site.http() as http:
        answer = await http.post(
            "/mcp",
            content=json.dumps(message) if body is None else body,
            headers={**headers("tools/call", CALL), **more},
        )

    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert site.gateway.asked == []


@pytest.mark.parametrize("params", [{"name": "x", "arguments": []}, {"arguments": {}}])
async def test_parameters_of_the_wrong_kind_are_refused(site: Site, params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": envelope(params)}
    async with site.http() as http:
        answer = await http.post("/mcp", json=message, headers=headers("tools/call", params))

    assert answer.json()["error"]["code"] == -32602
    assert answer.json()["id"] == 7


async def test_a_name_that_is_there_twice_is_refused(site: Site) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": envelope(CALL)}
    twice = [*headers("tools/call", CALL).items(), ("Mcp-Name", "call_write")]
    async with site.http() as http:
        answer = await http.post("/mcp", content=json.dumps(message), headers=twice)

    assert answer.json()["error"]["code"] == -32020


async def test_who_accepts_no_stream_is_told_so(site: Site) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": envelope(CALL)}
    only = {**headers("tools/call", CALL), "Accept": "application/json"}
    async with site.http() as http:
        answer = await http.post("/mcp", json=message, headers=only)

    assert answer.status_code == 406


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
    monkeypatch.setattr("portico.faces.mcp.exchange._SOON", 0.05)
    go_on = asyncio.Event()

    async def slow(_arguments: JsonObject, _line: Line) -> Answer:
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


async def test_whoever_hangs_up_wants_no_more(site: Site) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(_arguments: JsonObject, _line: Line) -> Answer:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return said("never")

    site.gateway.tools["slow"] = slow
    params = {"name": "call_read", "arguments": {"tool": "box.slow"}}
    calling = asyncio.ensure_future(modern(site, "tools/call", params))
    await begun.wait()
    calling.cancel()

    await asyncio.wait_for(cancelled.wait(), 3)


async def test_a_key_that_was_revoked_hears_nothing_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.faces.mcp.lasting._ASK_AGAIN", 0.05)
    session = (await greet(site)).headers["mcp-session-id"]
    told = {"Accept": "text/event-stream", "Mcp-Session-Id": session}
    async with site.http() as http, http.stream("GET", "/mcp", headers=told) as answer:
        assert answer.status_code == 200
        del site.gateway.keys["ana"]

        async with asyncio.timeout(4):
            async for _ in answer.aiter_lines():
                pass


async def test_streams_end_when_the_server_does(site: Site) -> None:
    session = (await greet(site)).headers["mcp-session-id"]
    told = {"Accept": "text/event-stream", "Mcp-Session-Id": session}
    async with site.http() as http, http.stream("GET", "/mcp", headers=told) as answer:
        ending = asyncio.ensure_future(site.server.shutdown())

        async with asyncio.timeout(4):
            async for _ in answer.aiter_lines():
                pass
            await ending


async def test_only_its_own_paths_are_led_to_it() -> None:
    answered: list[tuple[str, str]] = []

    def named(name: str) -> ASGIApp:
        async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
            answered.append((name, scope["path"]))

        return app

    doors = Doors(named("routes"), {"/mcp": named("mcp")})
    for path in ("/mcp", "/mcp/servers/a", "/mcpx", "/api/v1/mcp", "/"):
        await doors({"type": "http", "path": path}, _nothing, _nothing)

    assert [name for name, _ in answered] == ["mcp", "mcp", "routes", "routes", "routes"]


async def _nothing(*_: Any) -> Any:
    raise AssertionError("nobody reads or writes here")


async def test_a_message_without_an_answer_is_taken(site: Site) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    told = {**BOTH, "MCP-Protocol-Version": "2026-07-28"}
    async with site.http() as http:
        answer = await http.post("/mcp", json=body, headers=told)

    assert answer.status_code == 202
