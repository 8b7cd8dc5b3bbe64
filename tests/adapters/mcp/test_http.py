"""Servers reached over HTTP: both eras, both transports, as the SDK serves them."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import anyio
import pytest
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from portico.adapters.mcp import http
from portico.adapters.mcp.http import Endpoint, Streamable
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.transport import Message, PendingRequest, notification
from portico.gateway.core.calls import ToolResult, UpstreamTarget
from portico.gateway.core.errors import (
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
    UpstreamWantsLogin,
)
from portico.gateway.core.servers import (
    FromEnvironment,
    Http,
    Plain,
    ProtocolRevision,
    ServerId,
    Template,
    Value,
)
from portico.guard.core.errors import LoginUnavailable
from portico.kernel.ids import PrincipalId
from portico.kernel.redaction import BLACK
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Caller,
    Changes,
    a_pool,
    said,
    target,
    together,
    until,
)
from tests.adapters.mcp.servers.everyday import Everyday
from tests.adapters.mcp.serving import served, sse_app

WAYS = ["modern", "modern json", "legacy", "legacy json", "sse"]


@asynccontextmanager
async def reached(
    way: str, everyday: Everyday | None = None, changed: Changes | None = None
) -> AsyncIterator[tuple[UpstreamPool, UpstreamTarget]]:
    server = (everyday or Everyday()).server()
    app = (
        sse_app(server)
        if way == "sse"
        else server.streamable_http_app(json_response=way.endswith("json"))
    )
    era = ProtocolRevision.LEGACY if way.startswith("legacy") else None
    path = "sse" if way == "sse" else "mcp"
    async with a_pool(changed=changed) as pool, served(app, lifespan=way != "sse") as url:
        yield pool, target(Http(f"{url}/{path}"), era=era)
        await pool.stop(HOME, "server")


@pytest.mark.parametrize("way", WAYS)
async def test_all_that_a_server_offers_is_seen_page_by_page_and_passes_through(way: str) -> None:
    prompt = {"type": "ref/prompt", "name": "greet"}
    wish = {"ref": prompt, "argument": {"name": "name", "value": "An"}}

    async with reached(way) as (pool, everyday):
        seen = await pool.look(everyday)
        good = await pool.call(everyday, "structured", {}, timeout=AMPLE)
        bad = await pool.call(everyday, "fail", {}, timeout=AMPLE)
        resource = await pool.read_resource(everyday, "test://b", timeout=AMPLE)
        filled = await pool.get_prompt(everyday, "greet", {"name": "Ana"}, timeout=AMPLE)
        completed = await pool.complete(everyday, wish, timeout=AMPLE)
        with pytest.raises(UpstreamRefused):
            await pool.complete(everyday, {"ref": {"type": "nonsense"}}, timeout=AMPLE)

    assert seen.protocol_revision is (
        ProtocolRevision.MODERN if way.startswith("modern") else ProtocolRevision.LEGACY
    )
    assert (seen.identity.name, seen.identity.version) == ("everyday", "2.0")
    assert seen.instructions == "Use me every day."
    assert [tool["name"] for tool in seen.tools] == Everyday().names
    assert [each["uri"] for each in seen.resources] == ["test://a"]
    assert [each["uriTemplate"] for each in seen.resource_templates] == ["test://{name}"]
    assert [each["name"] for each in seen.prompts] == ["greet"]
    assert good == ToolResult(
        content=[{"type": "text", "text": "see there"}],
        structured={"sum": 3, "parts": [1, 2], "nothing": None},
        meta={"example.org/seen": True},
    )
    assert bad == ToolResult(content=[{"type": "text", "text": "no luck"}], failed=True)
    assert resource["contents"] == [{"uri": "test://b", "text": "what is in it"}]
    assert "resultType" not in resource
    assert filled["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Hello Ana"}}
    ]
    assert completed["completion"] == {"values": ["Ana"]}


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_a_call_that_is_given_up_is_cancelled_at_the_server_and_told_of_its_end(
    way: str,
) -> None:
    everyday, slow = Everyday(), {"seconds": 60}

    async with reached(way, everyday) as (pool, there):
        await pool.look(there)
        with pytest.raises(UpstreamTimedOut):
            await pool.call(there, "slow", slow, timeout=timedelta(seconds=2))
        await until(lambda: everyday.cancelled == ["slow"])
        leaving, served = (
            asyncio.ensure_future(pool.call(there, "slow", slow, timeout=AMPLE)) for _ in range(2)
        )
        everyday.started = anyio.Event()
        await everyday.started.wait()
        leaving.cancel()
        await until(lambda: everyday.cancelled == ["slow", "slow"])
        await together(leaving)
        await pool.stop(HOME, "server")
        with pytest.raises(UpstreamDown):
            await served


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_words_of_change_and_of_how_far_a_call_is_are_heard(way: str) -> None:
    changes, caller = Changes(), Caller()

    async with reached(way, changed=changes) as (pool, everyday):
        await pool.call(everyday, "slow", {"steps": 3}, timeout=AMPLE, line=caller)
        await pool.look(everyday)
        changes.told.clear()
        for _ in range(500):  # it may not listen yet when the first one comes
            await pool.call(everyday, "grow", {}, timeout=AMPLE)
            await asyncio.sleep(0.05)
            if changes.told:
                break

    assert caller.steps[-1] == (3.0, 3.0, "on the way")
    assert changes.told[0] == (HOME, "server")


async def test_what_is_sent_is_what_the_configuration_says_and_nothing_else() -> None:
    everyday = Everyday()
    headers: dict[str, Value] = {
        "Authorization": Template(("Bearer ", FromEnvironment("TOKEN"))),
        "X-Team": Plain("blue"),
        "Mcp-Session-Id": Plain("forged"),
        "Host": Plain("elsewhere"),
    }

    async with (
        a_pool(environment={"TOKEN": "of the server"}) as pool,
        served(everyday.server().streamable_http_app()) as url,
    ):
        there = target(Http(f"{url}/mcp", headers))
        await pool.call(there, "echo", {}, timeout=AMPLE, line=Caller())
        await pool.stop(HOME, "server")

    sent = everyday.headers[-1]
    assert sent == {
        "host": url.removeprefix("http://"),
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": sent["content-length"],
        "user-agent": "portico",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "echo",
        "authorization": "Bearer of the server",
        "x-team": "blue",
    }


async def test_an_argument_that_is_wanted_in_a_header_goes_there_too() -> None:
    everyday = Everyday()

    async with reached("modern", everyday) as (pool, there):
        # Nobody has looked at it: the server says that something is missing, and then we do.
        answer = await pool.call(there, "region", {"region": "eu"}, timeout=AMPLE)
        again = await pool.call(there, "region", {"region": "süd"}, timeout=AMPLE)

    assert (said(answer), said(again)) == ("eu", "süd")
    assert everyday.headers[0]["mcp-param-region"] == "eu"


async def test_a_server_that_is_said_to_be_of_another_kind_is_not_tried_as_this_one() -> None:
    async with a_pool() as pool, served(sse_app(Everyday().server()), lifespan=False) as url:
        with pytest.raises(UpstreamDown, match="nothing there speaks MCP"):
            await pool.look(target(Http(f"{url}/sse", transport="streamable")))


ANA, BEN = PrincipalId(UUID(int=7)), PrincipalId(UUID(int=8))


class Doorman:
    """Answers with the token that came, if it is one that it takes."""

    def __init__(self, *taken: str) -> None:
        self.taken = set(taken)
        self.seen: list[str] = []

    async def answer(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.taken:
            return Response(status_code=401, headers={"www-authenticate": 'Bearer scope="s"'})
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        return JSONResponse(
            {"jsonrpc": "2.0", "id": message["id"], "result": self._of(message, token)}
        )

    def _of(self, message: dict[str, object], token: str) -> dict[str, object]:
        if message["method"] == "initialize":
            info = {"name": "doorman", "version": "1"}
            return {
                "protocolVersion": LATEST_HANDSHAKE_VERSION,
                "capabilities": {},
                "serverInfo": info,
            }
        return {"content": [{"type": "text", "text": token}]}

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mcp", self.answer, methods=["GET", "POST", "DELETE"])])


class Purse:
    """The tokens of each; one that was refused is replaced by the next."""

    def __init__(self, **tokens: list[str]) -> None:
        self.tokens = {PrincipalId(UUID(int=int(who[1:]))): [*each] for who, each in tokens.items()}

    async def __call__(self, target: UpstreamTarget, refused: str | None) -> str | None:
        assert target.login is not None
        mine = self.tokens.get(target.login, [])
        if mine and mine[0] == refused:
            mine.pop(0)
        return mine[0] if mine else None


def personal(url: str, who: PrincipalId) -> UpstreamTarget:
    there = target(Http(f"{url}/mcp"), era=ProtocolRevision.LEGACY)
    return replace(there, login=who, id=ServerId(UUID(int=1))).of_its_caller()


async def test_two_people_talk_at_once_and_each_with_their_own_token() -> None:
    doorman = Doorman("of-ana", "of-ben")
    purse = Purse(p7=["of-ana"], p8=["of-ben"])

    async with a_pool(tokens=purse) as pool, served(doorman.app()) as url:
        both = [personal(url, who) for who in (ANA, BEN)] * 20
        calls = (pool.call(each, "t", {}, timeout=AMPLE) for each in both)
        answers = await asyncio.gather(*calls)

    assert [said(each) for each in answers] == ["of-ana", "of-ben"] * 20


async def test_a_token_that_is_refused_is_replaced_and_neither_is_given_back() -> None:
    first, second = "token-1-of-ana", "token-2-of-ana"
    doorman = Doorman(first, second)

    async with a_pool(tokens=Purse(p7=[first, second])) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        before = await pool.call(ana, "t", {}, timeout=AMPLE)
        doorman.taken = {second}
        after = await pool.call(ana, "t", {}, timeout=AMPLE)

    assert (said(before), said(after)) == (BLACK, BLACK)
    assert {first, second} <= {*doorman.seen}


async def test_whoever_has_no_token_is_not_even_tried_and_may_come_again_at_once() -> None:
    doorman = Doorman("of-ana")
    purse = Purse()

    async with a_pool(tokens=purse) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        for _ in range(5):
            with pytest.raises(UpstreamWantsLogin):
                await pool.call(ana, "t", {}, timeout=AMPLE)
        assert doorman.seen == []
        purse.tokens[ANA] = ["of-ana"]
        answer = await pool.call(ana, "t", {}, timeout=AMPLE)
        purse.tokens[ANA] = []
        for there in (ana, *[target(Http(f"{url}/mcp"), "unknown")] * 5):
            with pytest.raises(UpstreamWantsLogin) as wanted:
                await pool.call(there, "t", {}, timeout=AMPLE)

    assert said(answer) == "of-ana"
    assert wanted.value.challenge == 'Bearer scope="s"'


async def test_where_people_log_in_being_away_is_told_as_that() -> None:
    async def away(_target: UpstreamTarget, _refused: str | None) -> str | None:
        raise LoginUnavailable("https://login.example", "nobody there")

    async with a_pool(tokens=away) as pool, served(Doorman().app()) as url:
        with pytest.raises(UpstreamDown, match="nobody there") as down:
            await pool.call(personal(url, ANA), "t", {}, timeout=AMPLE)

    assert not isinstance(down.value, UpstreamWantsLogin)


async def test_a_call_that_waits_for_its_token_is_not_made_once_its_server_was_stopped() -> None:
    doorman = Doorman("of-ana")
    asked, given = asyncio.Event(), asyncio.Event()
    given.set()

    async def slowly(_target: UpstreamTarget, _refused: str | None) -> str | None:
        asked.set()
        await given.wait()
        return "of-ana"

    async with a_pool(tokens=slowly) as pool, served(doorman.app()) as url:
        ana = personal(url, ANA)
        await pool.call(ana, "t", {}, timeout=AMPLE)
        await until(lambda: len(doorman.seen) == 4)  # the standing stream is asked for beside it
        given.clear()
        asked.clear()
        call = asyncio.ensure_future(pool.call(ana, "t", {}, timeout=AMPLE))
        await asked.wait()
        await pool.stop(HOME, "server")
        doorman.seen.clear()
        given.set()
        with pytest.raises(UpstreamDown, match="it was ended") as ended:
            await call

    assert not ended.value.reached
    assert doorman.seen == []


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
    asked = PendingRequest("tools/call", {}, hear)
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
    asked = PendingRequest("tools/call", {}, hear)
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
    monkeypatch.setattr(http, "_NOTED", 0.05)
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
