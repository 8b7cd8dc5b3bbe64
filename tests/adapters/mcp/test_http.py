"""Servers reached over HTTP: both eras, both transports, as the SDK serves them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest

from portico.adapters.mcp.pool import UpstreamPool
from portico.gateway.core.call import Answer
from portico.gateway.core.errors import UpstreamDown, UpstreamRefused, UpstreamTimedOut
from portico.gateway.core.server import Era, FromEnvironment, Http, Plain, Template, Value
from portico.gateway.core.upstream import Target
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

pytestmark = pytest.mark.timeout(30)

WAYS = ["modern", "modern json", "legacy", "legacy json", "sse"]


@asynccontextmanager
async def reached(
    way: str, everyday: Everyday | None = None, changed: Changes | None = None
) -> AsyncIterator[tuple[UpstreamPool, Target]]:
    server = (everyday or Everyday()).server()
    app = (
        sse_app(server)
        if way == "sse"
        else server.streamable_http_app(json_response=way.endswith("json"))
    )
    era = Era.LEGACY if way.startswith("legacy") else None
    path = "sse" if way == "sse" else "mcp"
    async with a_pool(changed=changed) as pool, served(app, lifespan=way != "sse") as url:
        yield pool, target(Http(f"{url}/{path}"), era=era)
        await pool.stop(HOME, "server")


@pytest.mark.parametrize("way", WAYS)
async def test_all_that_a_server_offers_is_seen_page_by_page(way: str) -> None:
    async with reached(way) as (pool, everyday):
        seen = await pool.look(everyday)

    assert seen.era is (Era.MODERN if way.startswith("modern") else Era.LEGACY)
    assert (seen.identity.name, seen.identity.version) == ("everyday", "2.0")
    assert seen.instructions == "Use me every day."
    assert [tool["name"] for tool in seen.tools] == Everyday().names
    assert [each["uri"] for each in seen.resources] == ["test://a"]
    assert [each["uriTemplate"] for each in seen.resource_templates] == ["test://{name}"]
    assert [each["name"] for each in seen.prompts] == ["greet"]


@pytest.mark.parametrize("way", WAYS)
async def test_answers_come_as_they_were_given(way: str) -> None:
    async with reached(way) as (pool, everyday):
        good = await pool.call(everyday, "structured", {}, timeout=AMPLE)
        bad = await pool.call(everyday, "fail", {}, timeout=AMPLE)

    assert good == Answer(
        content=[{"type": "text", "text": "see there"}],
        structured={"sum": 3, "parts": [1, 2], "nothing": None},
        meta={"example.org/seen": True},
    )
    assert bad == Answer(content=[{"type": "text", "text": "no luck"}], failed=True)


@pytest.mark.parametrize("way", WAYS)
async def test_resources_prompts_and_completions_pass_through(way: str) -> None:
    prompt = {"type": "ref/prompt", "name": "greet"}
    wish = {"ref": prompt, "argument": {"name": "name", "value": "An"}}

    async with reached(way) as (pool, everyday):
        resource = await pool.read_resource(everyday, "test://b", timeout=AMPLE)
        filled = await pool.get_prompt(everyday, "greet", {"name": "Ana"}, timeout=AMPLE)
        completed = await pool.complete(everyday, wish, timeout=AMPLE)
        with pytest.raises(UpstreamRefused):
            await pool.complete(everyday, {"ref": {"type": "nonsense"}}, timeout=AMPLE)

    assert resource["contents"] == [{"uri": "test://b", "text": "what is in it"}]
    assert "resultType" not in resource
    assert filled["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Hello Ana"}}
    ]
    assert completed["completion"] == {"values": ["Ana"]}


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_how_far_a_call_is_reaches_its_caller(way: str) -> None:
    caller = Caller()

    async with reached(way) as (pool, everyday):
        await pool.call(everyday, "slow", {"steps": 3}, timeout=AMPLE, line=caller)

    assert caller.steps[-1] == (3.0, 3.0, "on the way")


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_a_call_that_is_given_up_is_cancelled_at_the_server(way: str) -> None:
    everyday = Everyday()

    async with reached(way, everyday) as (pool, there):
        await pool.look(there)
        with pytest.raises(UpstreamTimedOut):
            await pool.call(there, "slow", {"seconds": 60}, timeout=timedelta(seconds=0.3))
        await until(lambda: everyday.cancelled == ["slow"])
        leaving = asyncio.ensure_future(pool.call(there, "slow", {"seconds": 60}, timeout=AMPLE))
        everyday.started = anyio.Event()
        await everyday.started.wait()
        leaving.cancel()
        await until(lambda: everyday.cancelled == ["slow", "slow"])
        await together(leaving)


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_whoever_is_being_served_when_a_server_is_stopped_is_told(way: str) -> None:
    async with reached(way) as (pool, everyday):
        await pool.look(everyday)
        call = asyncio.ensure_future(pool.call(everyday, "slow", {"seconds": 60}, timeout=AMPLE))
        await until(lambda: pool.vitals(HOME, "server").calls_now)
        await asyncio.sleep(0.1)
        await pool.stop(HOME, "server")
        with pytest.raises(UpstreamDown):
            await call


@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_words_of_change_are_heard(way: str) -> None:
    changes = Changes()

    async with reached(way, changed=changes) as (pool, everyday):
        await pool.look(everyday)
        for _ in range(100):  # it may not listen yet when the first one comes
            await pool.call(everyday, "grow", {}, timeout=AMPLE)
            await asyncio.sleep(0.05)
            if changes.told:
                break

    assert changes.told[0] == (HOME, "server")


async def test_many_calls_at_once_are_answered_each_with_its_own() -> None:
    async with reached("legacy") as (pool, everyday):
        answers = await asyncio.gather(
            *(
                pool.call(everyday, "echo", {"text": f"{number}"}, timeout=AMPLE)
                for number in range(60)
            )
        )

    assert [said(answer) for answer in answers] == [f"{number}" for number in range(60)]


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


async def test_a_session_that_the_server_has_forgotten_is_begun_anew_with_the_next_call() -> None:
    everyday = Everyday()
    server = everyday.server()

    async with a_pool() as pool, served(server.streamable_http_app()) as url:
        there = target(Http(f"{url}/mcp"), era=Era.LEGACY)
        await pool.call(there, "echo", {}, timeout=AMPLE)
        sessions: dict[str, Any] = server.session_manager._server_instances
        for session in list(sessions.values()):
            await session.terminate()
        sessions.clear()
        with pytest.raises(UpstreamDown, match="session is over") as lost:
            await pool.call(there, "echo", {}, timeout=AMPLE)
        answer = await pool.call(there, "echo", {"text": "again"}, timeout=AMPLE)
        await pool.stop(HOME, "server")

    assert not lost.value.reached
    assert said(answer) == "again"


@pytest.mark.parametrize("transport", ["sse", None])
async def test_a_server_of_the_first_kind_is_understood(transport: Any) -> None:
    async with a_pool() as pool, served(sse_app(Everyday().server()), lifespan=False) as url:
        there = target(Http(f"{url}/sse", transport=transport))
        answer = await pool.call(there, "echo", {"text": "old"}, timeout=AMPLE)
        await pool.stop(HOME, "server")

    assert said(answer) == "old"


async def test_a_server_that_is_said_to_be_of_another_kind_is_not_tried_as_this_one() -> None:
    async with a_pool() as pool, served(sse_app(Everyday().server()), lifespan=False) as url:
        with pytest.raises(UpstreamDown, match="nothing there speaks MCP"):
            await pool.look(target(Http(f"{url}/sse", transport="streamable")))
