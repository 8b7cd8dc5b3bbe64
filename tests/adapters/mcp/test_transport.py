"""Transports to upstream servers: JSON-RPC, one message a line, one stream each way."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from portico.adapters.egress.dialer import Dialer
from portico.adapters.mcp import http, transport
from portico.adapters.mcp.client_requests import Exchange, refused
from portico.adapters.mcp.connection_slots import Breaker
from portico.adapters.mcp.http import Endpoint, EventStream, hear
from portico.adapters.mcp.processes import Allowance, StderrTail
from portico.adapters.mcp.secrets import Address, CredentialRedactor
from portico.adapters.mcp.session import (
    Conversation,
    Ears,
    Greeting,
    ServerMemo,
    Turns,
    listed,
    wanted_headers,
)
from portico.adapters.mcp.transport import (
    Duplex,
    Endless,
    InvalidMessage,
    Lines,
    Message,
    PendingRequest,
    Refusal,
    TooDeep,
    TooLong,
    TransportFailed,
)
from portico.gateway.core.errors import InputUnsupported, UpstreamDown
from portico.gateway.core.servers import Http, Identity, Plain, ProtocolRevision
from portico.kernel.errors import PorticoError
from portico.kernel.json import NotCanonical
from portico.kernel.redaction import Redaction
from portico.sandbox.core.profile import NetworkEndpoint
from tests.adapters.egress.canary import canary
from tests.adapters.mcp.pools import AMPLE, Changes, a_pool, launched, said, target, together, until
from tests.adapters.mcp.serving import served

ASKED = PendingRequest("tools/call", {"name": "x"})


class Tray:
    """A carrier that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.process = None
        self.free = asyncio.Event()
        self.free.set()
        self.closed = False

    @property
    def ready(self) -> bool:
        return self.free.is_set()

    async def wait(self) -> None:
        await self.free.wait()

    def send(self, data: bytes) -> None:
        self.sent.append(json.loads(data))

    def tell(self, data: bytes) -> None:
        self.send(data)

    async def close(self) -> None:
        self.closed = True


async def asked(duplex: Duplex, what: PendingRequest = ASKED) -> asyncio.Future[Message]:
    future = asyncio.ensure_future(duplex.ask(what))
    await asyncio.sleep(0)
    return future


async def test_answers_come_in_any_order_and_under_numbers_written_as_texts() -> None:
    duplex = Duplex(Tray())
    first, second, third = [await asked(duplex) for _ in range(3)]

    assert duplex.received({"id": "2", "result": {"n": 2}})
    assert duplex.received({"id": 1, "result": {"n": 1}})
    assert duplex.received({"id": 3, "error": {"code": 5, "message": "no"}})

    assert (await first, await second) == ({"n": 1}, {"n": 2})
    with pytest.raises(Refusal):
        await third


async def test_an_answer_to_nothing_is_left_alone() -> None:
    duplex = Duplex(Tray())
    waiting = await asked(duplex)
    strange: list[Any] = [7, "x", True, None, [1], {"a": 1}, 1.5]

    assert not any(duplex.received({"id": number, "result": {}}) for number in strange)
    assert not waiting.done()
    waiting.cancel()


async def test_the_end_is_told_to_all_who_wait_and_to_all_who_come() -> None:
    ends: list[str] = []
    duplex = Duplex(Tray())
    duplex.ended = ends.append
    waiting = [await asked(duplex), await asked(duplex)]
    duplex.end("it fell")
    duplex.end("and fell again")

    for each in waiting:
        with pytest.raises(TransportFailed, match="it fell") as told:
            await each
        assert told.value.reached
    with pytest.raises(TransportFailed) as late:
        await duplex.ask(ASKED)
    assert not late.value.reached
    assert ends == ["it fell"]


@pytest.mark.parametrize("may_cancel", [True, False], ids=["a call", "a greeting"])
async def test_what_is_given_up_is_cancelled_and_remembered_until_it_is_answered(
    may_cancel: bool,
) -> None:
    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex, PendingRequest("tools/call", {}, may_cancel=may_cancel))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    told = [(message["method"], message.get("params")) for message in tray.sent[1:]]
    assert told == ([("notifications/cancelled", {"requestId": 1})] if may_cancel else [])
    assert bool(duplex.abandoned) is may_cancel

    duplex.received({"id": 1, "result": {}})

    assert not duplex.abandoned


async def test_a_caller_who_fails_while_it_is_told_something_gives_up() -> None:
    async def fail(_message: Message) -> None:
        raise LookupError

    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex, PendingRequest("tools/call", {}, fail, progress=True))
    told = {"progressToken": 1, "progress": 1}
    duplex.received({"method": "notifications/progress", "params": told})

    with pytest.raises(LookupError):
        await waiting
    assert tray.sent[-1]["method"] == "notifications/cancelled"


async def test_only_the_last_word_of_how_far_it_is_is_kept() -> None:
    heard: list[float] = []

    async def hear(message: Message) -> None:
        heard.append(message["params"]["progress"])

    duplex = Duplex(Tray())
    waiting = await asked(duplex, PendingRequest("tools/call", {}, hear, progress=True))
    for step in range(1_000):
        told = {"progressToken": 1, "progress": step}
        duplex.received({"method": "notifications/progress", "params": told})
    duplex.received({"id": 1, "result": {}})
    await waiting

    assert heard == [999]


async def test_more_questions_than_anybody_can_answer_are_refused() -> None:
    async def hear(message: Message) -> Message:
        return {"id": message["id"], "result": {}}

    tray = Tray()
    duplex = Duplex(tray)
    what = PendingRequest("tools/call", {}, hear)
    waiting = await asked(duplex, what)
    for number in range(100):
        duplex.deliver(what, {"id": number, "method": "elicitation/create"})
    refused = [message for message in tray.sent if "error" in message]
    duplex.received({"id": 1, "result": {}})
    await waiting

    assert len(refused) == 36
    assert len(tray.sent) == 1 + 100


async def test_whoever_still_thinks_keeps_nobody_waiting() -> None:
    """When the server ends, when it answers, and when the caller leaves."""
    for end in ("it is gone", "it has answered", "the caller leaves"):
        thinking, let_off = list[object](), list[object]()

        async def hear(message: Message, thinking: Any = thinking, let_off: Any = let_off) -> Any:
            thinking.append(message["id"])
            try:
                await asyncio.Event().wait()
            finally:
                let_off.append(message["id"])

        tray = Tray()
        duplex, what = Duplex(tray), PendingRequest("tools/call", {}, hear)
        waiting = await asked(duplex, what)
        for number in (7, 8):
            duplex.deliver(what, {"id": number, "method": "elicitation/create"})
        await until(thinking.__len__)
        if end == "it is gone":
            duplex.end(end)
            with pytest.raises(TransportFailed, match=end):
                await waiting
        elif end == "it has answered":
            duplex.received({"id": 1, "result": {"n": 1}})
            assert await waiting == {"n": 1}
        else:
            waiting.cancel()
            duplex.received({"id": 1, "result": {}})
            with pytest.raises(asyncio.CancelledError):
                await waiting

        assert thinking == let_off == [7]
        refused = [message["id"] for message in tray.sent if "error" in message]
        if end == "it has answered":
            assert refused == [7, 8]
        if end == "it is gone":
            assert len(tray.sent) == 1


async def test_whoever_is_not_asked_any_more_is_let_go_of_in_order() -> None:
    steps: list[str] = []

    async def hear(message: Message) -> Message:
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("begun")
            await asyncio.sleep(0.02)
            steps.append("done")
        raise AssertionError

    duplex = Duplex(Tray())
    what = PendingRequest("tools/call", {}, hear)
    waiting = await asked(duplex, what)
    duplex.deliver(what, {"id": 7, "method": "sampling/createMessage"})
    await asyncio.sleep(0)
    for _ in range(3):
        waiting.cancel()
        await asyncio.sleep(0)

    await until(lambda: steps == ["begun", "done"])
    assert waiting.cancelled()


async def test_a_question_behind_the_answer_is_refused_and_leaves_nothing_open() -> None:
    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex)
    duplex.received({"id": 1, "result": {}})
    duplex.deliver(ASKED, {"id": 3, "method": "elicitation/create"})
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    duplex.deliver(ASKED, {"id": 4, "method": "elicitation/create"})
    duplex.deliver(ASKED, {"method": "notifications/message"})

    assert [message["id"] for message in tray.sent if "error" in message] == [3, 4]
    assert not duplex.abandoned


async def test_who_asks_waits_until_there_is_room_or_is_told_that_there_will_be_none() -> None:
    tray, full = Tray(), Tray()
    tray.free.clear()
    full.free.clear()
    duplex, ended = Duplex(tray), Duplex(full)
    waiting, late = await asked(duplex), await asked(ended)

    assert tray.sent == []

    tray.free.set()
    await until(lambda: tray.sent)
    duplex.received({"id": 1, "result": {}})
    await waiting
    await duplex.close()
    ended.end("it fell")
    full.free.set()

    with pytest.raises(TransportFailed, match="it fell") as told:
        await late
    assert not told.value.reached
    assert full.sent == []
    assert tray.closed


async def test_room_for_one_is_not_taken_by_all_who_wait_for_it() -> None:
    class Narrow(Tray):
        def send(self, data: bytes) -> None:
            assert self.ready, "there is no room for it"
            super().send(data)
            self.free.clear()

        def has_sent(self, number: int) -> bool:
            return len(self.sent) == number

    tray = Narrow()
    duplex = Duplex(tray)
    waiting = [await asked(duplex) for _ in range(5)]

    for number in range(1, 6):
        await until(partial(tray.has_sent, number))
        duplex.received({"id": number, "result": {"n": number}})
        tray.free.set()

    assert [(await each)["n"] for each in waiting] == [1, 2, 3, 4, 5]


class Room:
    """Notes who is in it together."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.inside: list[str] = []
        self.seen: list[tuple[str, ...]] = []

    async def visit(self, name: str, *, alone: bool) -> None:
        async with self._turn(alone=alone):
            self.inside.append(name)
            self.seen.append(tuple(self.inside))
            await asyncio.sleep(0.01)
            self.inside.remove(name)

    @asynccontextmanager
    async def _turn(self, *, alone: bool) -> AsyncIterator[None]:
        await self.turns.take(alone=alone)
        try:
            yield
        finally:
            self.turns.give(alone=alone)


async def test_who_must_be_alone_is_and_nobody_is_kept_out_for_ever() -> None:
    together, room = Room(), Room()

    await asyncio.gather(*(together.visit(name, alone=False) for name in "abc"))
    await asyncio.gather(*(room.visit(name, alone=name.isupper()) for name in "aBcDe"))

    assert together.seen[-1] == ("a", "b", "c")
    assert room.seen == [("a",), ("B",), ("c",), ("D",), ("e",)]


@pytest.mark.parametrize("leaving", ["B", "c"])
async def test_who_goes_away_while_waiting_holds_nobody_up(leaving: str) -> None:
    room = Room()
    visits = {
        name: asyncio.ensure_future(room.visit(name, alone=name.isupper())) for name in "aBcD"
    }
    await asyncio.sleep(0)
    visits[leaving].cancel()

    outcomes = await asyncio.gather(*visits.values(), return_exceptions=True)

    assert sum(isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert {name for group in room.seen for name in group} == set("aBcD") - {leaving}


async def test_a_turn_that_came_at_the_moment_of_going_away_is_given_on() -> None:
    turns = Turns()
    await turns.take(alone=True)
    second = asyncio.ensure_future(turns.take(alone=True))
    third = asyncio.ensure_future(turns.take(alone=True))
    await asyncio.sleep(0)

    turns.give(alone=True)
    second.cancel()

    await third
    assert second.cancelled()


NO_MORE = httpx2.Response(200, content=b"", request=httpx2.Request("GET", "http://old.test/sse"))


class Slow:
    """Takes a POST when it is let."""

    largest, status_code = 1_000, 202

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)
        self.bodies: list[bytes] = []

    async def post(self, body: bytes, _headers: object) -> "Slow":
        await self.let.acquire()
        self.bodies.append(body)
        return self

    def took(self, many: int) -> bool:
        return len(self.bodies) >= many

    async def aclose(self) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize("taken", [0, 6])
async def test_whoever_waits_for_a_slow_post_goes_on_with_the_first_or_is_told_there_is_none(
    monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    monkeypatch.setattr(http, "_UNSENT", 2)
    slow = Slow()
    stream = EventStream(cast("Endpoint", slow))
    duplex = Duplex(stream)
    stream.tasks.append(asyncio.ensure_future(stream.write(duplex, cast("Endpoint", slow))))
    asking = [await asked(duplex) for _ in range(6)]

    for number in range(1, taken + 1):
        slow.let.release()
        await until(partial(slow.took, number))
    assert not any(each.done() for each in asking)
    await stream.read(duplex, NO_MORE)
    outcomes = await together(*asking)
    await duplex.close()

    assert all(isinstance(each, TransportFailed) for each in outcomes)
    assert sum(not each.reached for each in outcomes if isinstance(each, TransportFailed)) == 3 * (
        not taken
    )


def test_what_is_written_is_one_line_and_reads_the_same() -> None:
    message = {"id": 1, "params": {"text": "zwei\nZeilen, \u2028 und ü", "deep": [1.5, None, True]}}

    data = transport.written(message)

    assert b"\n" not in data
    assert transport.read(data) == message


def test_any_mapping_and_sequence_can_be_written() -> None:
    frozen: Any = {"a": (1, 2), "b": type("M", (dict,), {})(c=1)}

    assert json.loads(transport.written(frozen)) == {"a": [1, 2], "b": {"c": 1}}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_not_json_is_not_sent(value: Any) -> None:
    with pytest.raises(NotCanonical):
        transport.written({"params": value})


@pytest.mark.parametrize(
    "text", [b"", b"null", b"[1]", b'"x"', b"{", b'{"method": 1}', b"[" * 100_000, b"\xff\xfe"]
)
def test_what_is_no_message_is_not_read(text: bytes) -> None:
    with pytest.raises(ValueError):
        transport.read(text)


def test_halves_of_letters_and_numbers_that_are_none_are_made_good() -> None:
    found = transport.read(
        rb'{"a": "\ud83d", "b": ["\uD83D\uDE00"], "c": NaN, "\udc00": -Infinity}'
    )

    assert found == {"a": "\ufffd", "b": ["😀"], "c": None, "\ufffd": None}
    json.dumps(found, ensure_ascii=False).encode()


def test_a_request_says_where_to_tell_how_far_it_is() -> None:
    plain = transport.request(7, PendingRequest("m", {"a": 1}))
    told = transport.request(7, PendingRequest("m", {"a": 1, "_meta": {"b": 2}}, progress=True))

    assert plain == {"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"a": 1}}
    assert told["params"] == {"a": 1, "_meta": {"b": 2, "progressToken": 7}}
    assert "params" not in transport.request(7, PendingRequest("m", {}))


def test_an_answer_is_a_result_or_a_refusal_or_none_at_all() -> None:
    assert transport.result_of({"result": {"a": 1}}) == {"a": 1}
    with pytest.raises(Refusal) as refused:
        transport.result_of({"error": {"code": -32602, "message": "no", "data": [1]}})
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32602, "no", [1])
    with pytest.raises(Refusal):
        transport.result_of({"error": {"code": "x"}})
    with pytest.raises(InvalidMessage):
        transport.result_of({"result": [1]})


def test_whoever_says_more_than_is_good_has_to_wait_in_proportion() -> None:
    allowance = Allowance()

    assert allowance.use(3_000_000, now=100.0) == 0.0
    assert allowance.use(3_000_000, now=100.0) == pytest.approx(2.0)
    assert allowance.use(500_000, now=103.0) == 0.0
    assert allowance.use(4_000_000, now=1_000.0) == 0.0


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.data())
def test_however_it_is_cut_the_same_lines_come_out(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    reading, found = Lines(1_000), []

    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += list(reading.feed(stream[:cut]))
        stream = stream[cut:]

    assert found == lines


def test_a_line_that_is_too_long_is_not_kept_but_its_ends_are() -> None:
    reading = Lines(1_000)

    found = [
        *reading.feed(b"begin" + b"x" * 900),
        *reading.feed(b"y" * 900),
        *reading.feed(b"z" * 900 + b"end\nnext\n"),
    ]

    assert isinstance(found[0], TooLong)
    assert found[0].start.startswith(b"begin")
    assert found[0].end.endswith(b"zend")
    assert len(found[0].start) + len(found[0].end) <= 400
    assert found[1] == b"next"


def test_a_line_without_an_end_is_noticed() -> None:
    reading = Lines(1_000)

    with pytest.raises(Endless):
        for _ in range(20):
            list(reading.feed(b"x" * 500))


def paged(*pages: Message) -> Any:
    asked: list[Message] = []

    async def ask(_method: str, params: Message) -> Message:
        asked.append(params)
        return pages[min(len(asked), len(pages)) - 1]

    ask.asked = asked  # type: ignore[attr-defined] # for the test to look at  # ty: ignore[missing-attribute] # checked by mypy
    return ask


async def test_pages_are_followed_to_the_last() -> None:
    ask = paged({"tools": [{"name": "a"}], "nextCursor": "2"}, {"tools": [{"name": "b"}]})

    assert await listed(ask, "tools/list", "tools") == [{"name": "a"}, {"name": "b"}]
    assert ask.asked == [{}, {"cursor": "2"}]


async def test_one_bad_entry_spoils_none_of_the_others() -> None:
    odd = {"name": "gitlab", "inputSchema": {"no": "type"}, "extra": [1]}

    found = await listed(paged({"tools": ["nonsense", odd, None, 3]}), "tools/list", "tools")

    assert found == [odd]


@pytest.mark.parametrize("page", [{}, {"tools": None}, {"tools": {"a": 1}}, {"nextCursor": 7}])
async def test_a_list_that_is_none_is_empty(page: Message) -> None:
    assert await listed(paged(page), "tools/list", "tools") == []


async def test_a_server_that_leads_in_a_circle_is_followed_once_around() -> None:
    ask = paged({"tools": [{"name": "a"}], "nextCursor": "again"})

    assert len(await listed(ask, "tools/list", "tools")) == 2


async def test_a_list_without_an_end_is_given_up() -> None:
    count = iter(range(10**6))

    async def ask(_method: str, _params: Message) -> Message:
        return {"tools": [{"name": "a"}], "nextCursor": f"{next(count)}"}

    with pytest.raises(TransportFailed, match="does not end"):
        await listed(ask, "tools/list", "tools")


def test_arguments_that_are_wanted_in_headers_are_known_by_tool() -> None:
    good = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    tools: list[Message] = [
        {"name": "good", "inputSchema": good},
        {"name": "bad", "inputSchema": bad},
        {"name": "plain", "inputSchema": {"type": "object"}},
        {"name": 7, "inputSchema": good},
        {"name": "none"},
    ]

    assert wanted_headers(tools) == {"good": {("region",): "Region"}}


def _nested(levels: int, inside: str = "") -> str:
    """With the message itself, and its result, `levels` in all."""
    inner = levels - 2
    return f'{{"id": 7, "result": {{"a": {"[" * inner}{inside}{"]" * inner}}}}}'


@pytest.mark.parametrize("inside", ["", r'"\ud800"'])
def test_what_can_be_written_again_is_read(inside: str) -> None:
    to_json(transport.read(_nested(200, inside)))


@pytest.mark.parametrize("inside", ["", r'"\ud800"'])
@pytest.mark.parametrize("levels", [201, 600, 100_000])
def test_what_is_nested_too_deeply_is_not_read_and_says_whose_answer_it_is(
    levels: int, inside: str
) -> None:
    with pytest.raises(TooDeep, match="nested too deeply") as deep:
        transport.read(_nested(levels, inside))

    assert deep.value.number == 7


def test_many_things_side_by_side_are_not_deep() -> None:
    wide = '{"id": 1, "result": {"a": [' + ",".join(["[{}]"] * 1_000) + "]}}"

    assert len(transport.read(wide)["result"]["a"]) == 1_000


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
        odd = target(Http(f"{url}/mcp"), era=ProtocolRevision.LEGACY)
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


@pytest.mark.parametrize(
    "message", [{"id": 1, "result": {}}, {"method": ["x"]}, {"method": None, "id": 1}, {}]
)
async def test_a_stray_that_is_no_message_is_left_alone(message: Any) -> None:
    heard: list[str] = []
    conversation = Conversation(
        Duplex(Tray()),
        Greeting(ProtocolRevision.LEGACY, "2025-06-18", Identity("", ""), None, {}),
        {},
        ServerMemo(),
        Ears(changed=lambda: heard.append("changed"), said=heard.append),
        veil=CredentialRedactor(),
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
    way = Duplex(Tray())
    asking = asyncio.ensure_future(way.ask(PendingRequest("tools/list", {})))
    await asyncio.sleep(0)

    hear(way, "no message")
    hear(way, _nested(300).replace('"id": 7', '"id": 1'))

    with pytest.raises(InvalidMessage, match="its answer is nested too deeply"):
        await asking


@pytest.mark.parametrize("value", ["Bearer s3cret\u2026", "s3cret\r\nX-Forged: yes"])
async def test_a_header_that_no_connection_can_carry_is_a_fault_of_the_server_and_not_told(
    value: str,
) -> None:
    async with canary() as bird:
        given = Address(f"http://127.0.0.1:{bird.port}/", {"authorization": value}, frozenset())
        dialer = Dialer([NetworkEndpoint("127.0.0.1", bird.port)])
        endpoint = Endpoint(given, ssl.create_default_context(), dialer, largest=100)
        with pytest.raises(TransportFailed, match="one of its headers cannot be sent") as unsent:
            await endpoint.post(b"{}", {})
        await endpoint.close()

    assert not unsent.value.reached
    assert "s3cret" not in str(unsent.value)
    assert not any(bird.hits)


SECRET = "s3cr3t-t0ken-of-ours"
CLEAN = Redaction([SECRET]).clean


def told(*pieces: bytes) -> tuple[str, ...]:
    words = StderrTail()
    for piece in pieces:
        words.receive(piece)
    return words.told(CLEAN)


def test_lines_come_together_from_pieces_and_an_unfinished_one_counts() -> None:
    assert told(b"one\ntw", b"o\n\nthr", b"ee") == ("one", "two", "three")


def test_only_the_last_two_hundred_are_kept() -> None:
    lines = told(b"".join(b"line %d\n" % number for number in range(1000)))

    assert (len(lines), lines[0], lines[-1]) == (200, "line 800", "line 999")


def test_a_line_without_an_end_is_cut() -> None:
    (line,) = told(*[b"x" * 10_000] * 50)

    assert len(line) == 2_000


@pytest.mark.parametrize("before", [0, 1_990, 5_000, 8_180])
def test_a_secret_is_black_wherever_it_stands(before: int) -> None:
    (line,) = told(b"x" * before + b" " + SECRET.encode() + b" x\n")

    assert SECRET[:8] not in line


def test_nothing_steers_the_terminal_it_is_shown_on() -> None:
    assert told(b"\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07\xc2\x9b2Jend\x00\xff\n") == (
        "red 2Jend\ufffd",
    )


def test_what_was_said_before_the_last_start_is_not_the_reason_of_now() -> None:
    words = StderrTail()
    words.receive(b"before\n")
    words.mark_restarted()

    assert words.last(CLEAN) is None
    assert words.told(CLEAN) == ("before",)

    words.note("in one\nline")

    assert words.last(CLEAN) == "in one line"


def test_the_first_break_is_forgiven_and_then_each_rest_is_twice_the_last() -> None:
    breaker, rests = Breaker(), []

    for _ in range(9):
        breaker.broke(100.0, luck=0.5)
        rests.append(max(0.0, breaker.until - 100.0))

    assert rests == [0, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(("luck", "rest"), [(0.0, 0.8), (1.0, 1.2)])
def test_no_two_come_back_at_the_same_moment(luck: float, rest: float) -> None:
    breaker = Breaker(strikes=1)

    breaker.broke(0.0, luck)

    assert breaker.until == pytest.approx(rest)


def test_it_rests_until_then_and_an_answer_ends_it_all() -> None:
    breaker = Breaker(strikes=5)
    breaker.broke(0.0, 0.5)

    assert breaker.rests(breaker.until - 0.1)
    assert not breaker.rests(breaker.until)

    breaker.answered()

    assert not breaker.rests(0.0)
    assert breaker.strikes == 0


def test_however_often_it_breaks_there_is_a_longest_rest() -> None:
    breaker = Breaker(strikes=100_000)

    breaker.broke(0.0, 1.0)

    assert breaker.until == pytest.approx(72.0)
