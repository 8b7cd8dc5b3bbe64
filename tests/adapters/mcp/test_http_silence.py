"""A server over HTTP that says nothing more: what is given up holds no connection, and counts."""

import asyncio
import json
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from portico.adapters.mcp import streamable
from portico.adapters.mcp.endpoint import Endpoint
from portico.adapters.mcp.streamable import Streamable
from portico.adapters.mcp.wire import Asked, Message, notification
from portico.gateway.core.errors import UpstreamTimedOut
from portico.gateway.core.server import Era, Http
from portico.gateway.core.upstream import Phase
from tests.adapters.mcp.pools import AMPLE, HOME, a_pool, said, target, together, until
from tests.adapters.mcp.serving import served

pytestmark = pytest.mark.timeout(30)

SOON = timedelta(milliseconds=150)


class Deaf:
    """Where nothing is ever taken."""

    largest = 1_000

    def __init__(self) -> None:
        self.waiting = 0
        self.most = 0
        self.begun = 0
        self.bodies: list[bytes] = []

    async def post(self, body: bytes, _headers: object) -> None:
        self.bodies.append(body)
        self.waiting += 1
        self.begun += 1
        self.most = max(self.most, self.waiting)
        try:
            await asyncio.Event().wait()
        finally:
            self.waiting -= 1

    def end(self) -> None: ...

    async def close(self) -> None: ...


def _spawned(work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    return asyncio.ensure_future(work)


async def test_what_a_server_says_beside_a_call_is_kept_only_until_it_is_heard() -> None:
    endpoint, heard, go = Deaf(), 0, asyncio.Event()

    async def hear(_message: Message) -> None:
        nonlocal heard
        await go.wait()
        heard += 1

    way = Streamable(cast("Endpoint", endpoint), _spawned)
    asked = Asked("tools/call", {}, hear)
    asking = asyncio.ensure_future(way.ask(asked))
    await until(lambda: endpoint.waiting)

    for _ in range(1_000):
        way.deliver(asked, notification("notifications/message"))
    await asyncio.sleep(0)
    go.set()
    await until(lambda: heard == 64)
    way.deliver(asked, notification("notifications/message"))
    await until(lambda: heard == 65)

    asking.cancel()
    await together(asking)
    await way.close()


async def test_more_questions_beside_a_call_than_anybody_can_answer_are_refused() -> None:
    endpoint, asked_of = Deaf(), 0

    async def hear(_message: Message) -> None:
        nonlocal asked_of
        asked_of += 1
        await asyncio.Event().wait()

    way = Streamable(cast("Endpoint", endpoint), _spawned)
    asked = Asked("tools/call", {}, hear)
    asking = asyncio.ensure_future(way.ask(asked))
    await until(lambda: endpoint.waiting)

    for number in range(70):
        way.deliver(asked, {"id": number, "method": "elicitation/create"})
    await until(lambda: endpoint.begun == 7)

    assert asked_of == 64
    refused = [json.loads(body) for body in endpoint.bodies[1:]]
    assert [(each["id"], each["error"]["code"]) for each in refused] == [
        (number, -32000) for number in range(64, 70)
    ]
    asking.cancel()
    await together(asking)
    await way.close()


async def test_notes_that_are_not_taken_are_few_and_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streamable, "_NOTED", 0.05)
    endpoint = Deaf()
    way = Streamable(cast("Endpoint", endpoint), _spawned)

    for _ in range(100):
        way.tell(notification("notifications/cancelled"))
    await until(lambda: endpoint.waiting)
    await until(lambda: not endpoint.waiting)
    before = endpoint.begun

    def one_more_is_taken() -> bool:
        """Told again each time: the way may not know yet that there is room."""
        way.tell(notification("notifications/cancelled"))
        return endpoint.begun > before

    await until(one_more_is_taken)
    await way.close()

    assert endpoint.most == 32


class Hanging:
    """Answers the greeting, and to calls nothing while it is not well."""

    def __init__(self) -> None:
        self.well = asyncio.Event()
        self.calls = 0

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mcp", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        message = {"method": "GET"} if request.method == "GET" else await request.json()
        if "id" not in message:
            return Response(status_code=405 if request.method == "GET" else 202)
        if message["method"] == "initialize":
            body: Any = {"protocolVersion": "2025-06-18", "capabilities": {}}
            return _result(message, body)
        self.calls += 1
        await self.well.wait()
        return _result(message, {"content": [{"type": "text", "text": "well"}]})


def _result(message: dict[str, Any], body: dict[str, Any]) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": body})


async def test_calls_without_a_word_count_as_a_break() -> None:
    hanging = Hanging()

    async with a_pool() as pool, served(hanging.app(), lifespan=False) as url:
        server = target(Http(f"{url}/mcp"), era=Era.LEGACY)
        outcomes: list[object] = []
        while pool.vitals(HOME, "server").phase is not Phase.RESTING:
            outcomes += await together(pool.call(server, "echo", {}, timeout=SOON))
        resting = pool.vitals(HOME, "server")
        hanging.well.set()
        await until(lambda: pool.vitals(HOME, "server").phase is Phase.IDLE)
        answer = await pool.call(server, "echo", {}, timeout=AMPLE)
        await pool.stop(HOME, "server")

    assert [type(outcome) for outcome in outcomes].count(UpstreamTimedOut) == 6
    assert resting.starts == 2
    assert said(answer) == "well"


async def test_a_server_that_hangs_lets_those_finish_who_have_more_patience() -> None:
    hanging = Hanging()

    async with a_pool() as pool, served(hanging.app(), lifespan=False) as url:
        server = target(Http(f"{url}/mcp"), era=Era.LEGACY)
        patient = asyncio.ensure_future(pool.call(server, "echo", {}, timeout=AMPLE))
        await until(lambda: hanging.calls)
        await together(*(pool.call(server, "echo", {}, timeout=SOON) for _ in range(5)))
        hanging.well.set()

        assert said(await patient) == "well"
        await pool.stop(HOME, "server")
