"""Messages of shapes that the protocol does not know are left alone, or are no answer."""

import asyncio
import ssl
from typing import Any

import pytest
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from portico.adapters.mcp import wire
from portico.adapters.mcp.answers import refused
from portico.adapters.mcp.conversation import Conversation, Ears, Learnt
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.endpoint import Endpoint
from portico.adapters.mcp.exchange import Exchange
from portico.adapters.mcp.greeting import Greeting
from portico.adapters.mcp.resolve import Address
from portico.adapters.mcp.sse import hear
from portico.adapters.mcp.veil import Veil
from portico.adapters.mcp.wire import Asked, Broken, Refusal, Spoilt, TooDeep
from portico.adapters.web.dialer import Dialer
from portico.gateway.core.errors import InputUnsupported, UpstreamDown
from portico.gateway.core.server import Era, Http, Identity, Plain
from portico.kernel.errors import PorticoError
from tests.adapters.mcp.pools import AMPLE, Changes, a_pool, launched, said, target, until
from tests.adapters.mcp.serving import served

pytestmark = pytest.mark.timeout(30)


def _nested(levels: int, inside: str = "") -> str:
    """With the message itself, and its result, `levels` in all."""
    inner = levels - 2
    return f'{{"id": 7, "result": {{"a": {"[" * inner}{inside}{"]" * inner}}}}}'


@pytest.mark.parametrize("inside", ["", r'"\ud800"'])
def test_what_can_be_written_again_is_read(inside: str) -> None:
    to_json(wire.read(_nested(200, inside)))


@pytest.mark.parametrize("inside", ["", r'"\ud800"'])
@pytest.mark.parametrize("levels", [201, 600, 100_000])
def test_what_is_nested_too_deeply_is_not_read_and_says_whose_answer_it_is(
    levels: int, inside: str
) -> None:
    with pytest.raises(TooDeep, match="nested too deeply") as deep:
        wire.read(_nested(levels, inside))

    assert deep.value.number == 7


def test_many_things_side_by_side_are_not_deep() -> None:
    wide = '{"id": 1, "result": {"a": [' + ",".join(["[{}]"] * 1_000) + "]}}"

    assert len(wire.read(wide)["result"]["a"]) == 1_000


class Odd:
    """Over HTTP: a call is answered too deeply, and the standing stream says odd things first."""

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/mcp", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return StreamingResponse(self._standing(), media_type="text/event-stream")
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "tools/call":
            return Response(_nested(300), media_type="application/json")
        body: Any = {"protocolVersion": "2025-06-18", "capabilities": {}, "tools": []}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": body})

    async def _standing(self) -> Any:
        for word in ('{"id": 1, "result": {}}', '{"params": 3}'):
            yield f"data: {word}\n\n"
        yield 'data: {"method": "notifications/tools/list_changed"}\n\n'
        await asyncio.sleep(20)


async def test_over_http_too_deep_an_answer_is_none_and_odd_words_end_no_listening() -> None:
    changes = Changes()

    async with a_pool(changed=changes) as pool, served(Odd().app(), lifespan=False) as url:
        odd = target(Http(f"{url}/mcp"), era=Era.LEGACY)
        await pool.look(odd)
        await until(lambda: changes.told)
        with pytest.raises(UpstreamDown, match="its answer is nested too deeply"):
            await pool.call(odd, "echo", {}, timeout=AMPLE)
        await pool.stop(odd.space, odd.server)


async def test_over_stdio_too_deep_an_answer_is_none_and_the_next_is_one() -> None:
    deep = target(launched("deep", DEPTH=Plain("300")))

    async with a_pool() as pool:
        with pytest.raises(UpstreamDown, match="its answer is nested too deeply"):
            await pool.call(deep, "deep", {}, timeout=AMPLE)
        answer = await pool.call(deep, "echo", {"text": "still here"}, timeout=AMPLE)

    assert said(answer) == "still here"


class Nowhere:
    process = 1
    ready = True

    async def wait(self) -> None: ...

    def send(self, data: bytes) -> None: ...

    def tell(self, data: bytes) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    "message", [{"id": 1, "result": {}}, {"method": ["x"]}, {"method": None, "id": 1}, {}]
)
async def test_a_stray_that_is_no_message_is_left_alone(message: Any) -> None:
    heard: list[str] = []
    conversation = Conversation(
        Duplex(Nowhere()),
        Greeting(Era.LEGACY, "2025-06-18", Identity("", ""), None, {}),
        {},
        Learnt(),
        Ears(changed=lambda: heard.append("changed"), said=heard.append),
        veil=Veil(),
    )

    conversation.stray(message)

    assert heard == []


@pytest.mark.parametrize("wish", ["text", None, 7, [], {"method": ["x"]}, {"method": {}}])
async def test_a_question_that_is_none_is_refused(wish: Any) -> None:
    exchange = Exchange(subject="server.tool", name="tool")

    assert await exchange.answers({"a": wish}) is None
    assert isinstance(exchange.refused, InputUnsupported)


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (7, "something"),
        ("sampling", "something"),
        ([{}], "something"),
        ({"sampling": {}}, "an answer of its model"),
        (["elicitation", "sampling"], "an answer of its user and an answer of its model"),
    ],
)
def test_what_a_server_says_it_lacks_may_be_of_any_shape(wanted: Any, named: str) -> None:
    refusal = Refusal(-32021, "", {"requiredCapabilities": wanted})

    error: PorticoError = refused("server", Exchange(subject="s.t", name="t"), refusal)

    assert isinstance(error, InputUnsupported)
    assert named in str(error)


async def test_over_the_first_kind_of_http_too_deep_an_answer_is_none() -> None:
    way = Duplex(Nowhere())
    asking = asyncio.ensure_future(way.ask(Asked("tools/list", {})))
    await asyncio.sleep(0)

    hear(way, "no message")
    hear(way, _nested(300).replace('"id": 7', '"id": 1'))

    with pytest.raises(Spoilt, match="its answer is nested too deeply"):
        await asking


async def test_a_header_that_no_connection_can_carry_is_a_fault_of_the_server() -> None:
    given = Address("http://127.0.0.1:9/", {"authorization": "Bearer tok\u2026en"}, frozenset())
    endpoint = Endpoint(given, ssl.create_default_context(), Dialer(), largest=100)

    with pytest.raises(Broken, match="one of its headers cannot be sent") as unsent:
        await endpoint.post(b"{}", {})

    assert not unsent.value.reached
    await endpoint.close()
