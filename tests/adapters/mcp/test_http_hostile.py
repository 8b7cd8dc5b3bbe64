"""Servers over HTTP that break the rules: none of them gets what is not theirs, or all of us."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from portico.adapters.egress.dialer import Dialer, Resolve
from portico.adapters.mcp import http
from portico.adapters.mcp.http import Endpoint
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.secrets import Address
from portico.adapters.mcp.transport import TransportFailed
from portico.gateway.core.calls import Phase, UpstreamTarget
from portico.gateway.core.errors import OfferNotFound, UpstreamBusy, UpstreamDown
from portico.gateway.core.servers import FromEnvironment, Http, ProtocolRevision, Template
from tests.adapters.egress.canary import canary
from tests.adapters.egress.sites import a_site
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
from tests.adapters.mcp.serving import served

Message = dict[str, Any]
Rude = Callable[[Request, Message], Response | None]
SECRET = "s3cr3t-of-the-server"


def result(message: Message, body: Message) -> Message:
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": body}


def text(message: Message, words: str) -> Message:
    return result(message, {"content": [{"type": "text", "text": words}]})


def politely(message: Message) -> Message:
    if message["method"] == "server/discover":
        versions = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return result(message, {**versions, "resultType": "complete"})
    if message["method"] == "initialize":
        info = {"serverInfo": {"name": "rude", "version": "1"}, "capabilities": {}}
        return result(message, {"protocolVersion": "2025-11-25", **info})
    return text(message, "well")


def events(*messages: Message | str, number: int = 1) -> Response:
    async def stream() -> AsyncIterator[str]:
        for place, message in enumerate(messages, number):
            data = message if isinstance(message, str) else json.dumps(message)
            yield f"id: {place}\nretry: 10\ndata: {data}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


class Server:
    """Polite in all that the rude part leaves to it."""

    def __init__(self, rude: Rude) -> None:
        self.rude = rude
        self.requests: list[Request] = []
        self.messages: list[Message] = []

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        message = json.loads(body) if body else {"method": "GET"}
        self.requests.append(request)
        self.messages.append(message)
        rude = self.rude(request, message)
        if rude is not None:
            return rude
        if "id" not in message:
            return Response(status_code=405 if message["method"] == "GET" else 202)
        return JSONResponse(politely(message))


@asynccontextmanager
async def reached(
    server: Server, *, era: ProtocolRevision | None = None, **terms: Any
) -> AsyncIterator[tuple[UpstreamPool, UpstreamTarget]]:
    headers = {"Authorization": Template(("Bearer ", FromEnvironment("KEY")))}
    ours = {"KEY": SECRET}
    async with (
        a_pool(environment=ours, **terms) as pool,
        served(server.app(), lifespan=False) as url,
    ):
        yield pool, target(Http(f"{url}/mcp", headers), era=era)
        await pool.stop(HOME, "server")


def to_calls(answer: Callable[[Message], Response]) -> Rude:
    """Rude only when a tool is called."""
    return lambda _, message: answer(message) if message["method"] == "tools/call" else None


def always(response: Callable[[], Response]) -> Rude:
    return lambda _request, _message: response()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: Response(b"what?", media_type="text/plain"), "answered with 'text/plain'"),
        (lambda _: Response(b"{", media_type="application/json"), "no message"),
        (lambda _: JSONResponse([1, 2]), "no message"),
        (lambda _: JSONResponse({"jsonrpc": "2.0", "id": 1}), "neither a result nor an error"),
        (lambda _: JSONResponse({"id": 1, "result": 7}), "neither a result nor an error"),
        (lambda _: Response(status_code=202), "will not answer"),
        (lambda _: Response(status_code=500), "HTTP 500"),
        (lambda _: JSONResponse({"oh": "no"}, 503), "HTTP 503"),
        (lambda _: Response(b"x" * 2_000_000, media_type="application/json"), "too long"),
        (lambda _: events("x" * 2_000_000), "too long"),
        (lambda _: events(), "ended without an answer"),
        (lambda _: events("no json"), "no message"),
        (
            lambda m: Response(
                gzip.compress(json.dumps(text(m, "x" * 5_000_000)).encode()),
                media_type="application/json",
                headers={"content-encoding": "gzip"},
            ),
            "packed",
        ),
        (lambda m: JSONResponse(result(m, {"resultType": "task"})), "kind of result"),
    ],
)
async def test_an_answer_that_is_none_is_down_and_the_server_is_spoken_to_again(
    answer: Callable[[Message], Response], reason: str
) -> None:
    server = Server(to_calls(answer))

    async with reached(server, largest=1_000_000) as (pool, there):
        with pytest.raises(UpstreamDown, match=reason):
            await pool.call(there, "echo", {}, timeout=AMPLE)
        with pytest.raises(UpstreamDown, match=reason):
            await pool.call(there, "echo", {}, timeout=AMPLE)
        server.rude = lambda _request, _message: None
        await until(lambda: pool.health(HOME, "server").phase is not Phase.RESTING)
        answered = await pool.call(there, "echo", {}, timeout=AMPLE)

    assert said(answered) == "well"


async def test_one_bad_tool_does_not_close_the_server_to_others() -> None:
    def bad(_request: Request, message: Message) -> Response | None:
        worst = message.get("params", {}).get("name") == "bad"
        return Response(b"{", media_type="application/json") if worst else None

    async with reached(Server(bad)) as (pool, there):
        for _ in range(5):
            with pytest.raises(UpstreamDown):
                await pool.call(there, "bad", {}, timeout=AMPLE)
            assert said(await pool.call(there, "good", {}, timeout=AMPLE)) == "well"

        assert pool.health(HOME, "server").starts == 1


async def test_an_error_of_the_protocol_is_an_answer_that_failed() -> None:
    error = {"code": -32602, "message": "Unknown tool"}
    server = Server(to_calls(lambda m: JSONResponse({"id": m["id"], "error": error}, 400)))

    async with reached(server) as (pool, there):
        answer = await pool.call(there, "echo", {}, timeout=AMPLE)

    assert answer.failed
    assert said(answer) == "Unknown tool"


def in_a_session(objection: Callable[[Message], Response]) -> Rude:
    def answer(_request: Request, message: Message) -> Response | None:
        if message["method"] == "initialize":
            return JSONResponse(politely(message), headers={"mcp-session-id": "one"})
        return objection(message) if message["method"] == "tools/call" else None

    return answer


@pytest.mark.parametrize("status", [400, 404])
@pytest.mark.parametrize("code", [-32602, [-32000]])
@pytest.mark.parametrize("write", [int, str])
async def test_what_is_said_of_one_call_is_not_the_end_of_its_session(
    status: int, code: object, write: Callable[[Any], Any]
) -> None:
    error = {"code": code, "message": "title must not be empty"}
    server = Server(
        in_a_session(lambda m: JSONResponse({"id": write(m["id"]), "error": error}, status))
    )

    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        answers = [await pool.call(there, "add", {}, timeout=AMPLE) for _ in range(5)]
        vitals = pool.health(HOME, "server")

    assert {(said(answer), answer.failed) for answer in answers} == {(error["message"], True)}
    assert (vitals.phase, vitals.starts) == (Phase.RUNNING, 1)
    assert sum(message["method"] == "tools/call" for message in server.messages) == 5


@pytest.mark.parametrize(
    "objection",
    [
        lambda _: Response(status_code=404),
        lambda _: JSONResponse({"error": "gone"}, 404),
        lambda _: Response(b"{", 404, media_type="application/json"),
        lambda _: JSONResponse({"id": None, "error": {"code": -32602, "message": "?"}}, 400),
        lambda m: JSONResponse(
            {"id": m["id"], "error": {"code": -32001, "message": "Session not found"}}, 404
        ),
    ],
)
async def test_a_session_that_is_lost_is_begun_anew_however_that_is_said(
    objection: Callable[[Message], Response],
) -> None:
    server = Server(in_a_session(objection))

    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        with pytest.raises(UpstreamDown, match="session is over") as lost:
            await pool.call(there, "add", {}, timeout=AMPLE)
        server.rude = lambda _request, _message: None
        answer = await pool.call(there, "add", {}, timeout=AMPLE)

    assert not lost.value.reached
    assert said(answer) == "well"


async def test_a_server_that_is_asked_too_much_is_busy_and_not_down() -> None:
    server = Server(to_calls(lambda _: Response(status_code=429)))

    async with reached(server) as (pool, there):
        for _ in range(3):
            with pytest.raises(UpstreamBusy, match="asked too much"):
                await pool.call(there, "echo", {}, timeout=AMPLE)

        assert pool.health(HOME, "server").phase is Phase.RUNNING


async def test_a_server_that_wants_a_login_says_so_with_its_fix() -> None:
    async with reached(Server(always(lambda: Response(status_code=401)))) as (pool, there):
        with pytest.raises(UpstreamDown, match="HTTP 401") as refused:
            await pool.call(there, "echo", {}, timeout=AMPLE)

    assert "Authorization" in (refused.value.fix or "")


async def test_where_nobody_listens_nothing_was_reached(pool: UpstreamPool) -> None:
    with pytest.raises(UpstreamDown, match="no connection to 127") as down:
        await pool.call(target(Http("http://127.0.0.1:9/mcp")), "echo", {}, timeout=AMPLE)

    assert not down.value.reached


@pytest.mark.parametrize("url", ["ftp://example.org/", "nonsense", "http://[::1", "http:///mcp"])
async def test_an_address_that_is_none_says_so(pool: UpstreamPool, url: str) -> None:
    with pytest.raises(UpstreamDown, match="its address is none") as down:
        await pool.look(target(Http(url)))

    assert down.value.fix == "Check its address."


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_credentials_do_not_follow_to_another_host(status: int) -> None:
    thief = Server(lambda _request, _message: None)

    async with served(thief.app(), lifespan=False) as elsewhere:
        other = elsewhere.replace("127.0.0.1", "localhost") + "/mcp?token=x"
        server = Server(always(lambda: RedirectResponse(other, status)))
        async with reached(server) as (pool, there):
            with pytest.raises(UpstreamDown, match="its credentials do not belong") as refused:
                await pool.call(there, "echo", {}, timeout=AMPLE)

    assert thief.requests == []
    assert "localhost" in (refused.value.fix or "")
    assert "token" not in str(refused.value)


async def test_another_path_of_the_same_host_is_followed_with_all_that_was_sent() -> None:
    def aside(request: Request, _message: Message) -> Response | None:
        return RedirectResponse("/mcp/", 307) if request.url.path == "/mcp" else None

    server = Server(aside)
    async with reached(server) as (pool, there):
        first = await pool.call(there, "echo", {}, timeout=AMPLE)
        await pool.call(there, "echo", {}, timeout=AMPLE)

    paths = [request.url.path for request in server.requests]
    assert said(first) == "well"
    assert paths == ["/mcp", "/mcp/", "/mcp/", "/mcp/"]
    assert all(request.headers["authorization"] for request in server.requests)


async def test_to_be_sent_around_in_circles_ends() -> None:
    turns = iter("abcdefghij")
    server = Server(always(lambda: RedirectResponse(f"/{next(turns)}", 307)))

    async with reached(server) as (pool, there):
        with pytest.raises(UpstreamDown, match="from one address to the next"):
            await pool.call(there, "echo", {}, timeout=AMPLE)

    assert len(server.requests) == 3


async def test_cookies_are_not_kept() -> None:
    def baking(_request: Request, message: Message) -> Response:
        response = JSONResponse(politely(message))
        response.set_cookie("session", "of somebody")
        return response

    server = Server(baking)
    async with reached(server) as (pool, there):
        for _ in range(3):
            await pool.call(there, "echo", {}, timeout=AMPLE)

    assert [request.headers.get("cookie") for request in server.requests] == [None] * 4


async def test_an_error_does_not_tell_the_servers_secret() -> None:
    error = {"code": -32600, "message": f"wrong key {SECRET}"}
    server = Server(lambda _, m: JSONResponse({"id": m.get("id"), "error": error}))

    async with reached(server) as (pool, there):
        with pytest.raises(UpstreamDown) as refused:
            await pool.look(there)

    assert "refused to talk to us: wrong key ********" in str(refused.value)


async def test_a_stream_that_was_cut_goes_on_where_it_was_cut() -> None:
    """As servers of the older era do on purpose, so as not to hold a connection."""
    cut: list[Message] = []

    def cutting(request: Request, message: Message) -> Response | None:
        if message["method"] == "tools/call":
            cut.append(message)
            progress = {"progressToken": message["id"], "progress": 1}
            return events({"method": "notifications/progress", "params": progress})
        last = int(request.headers.get("last-event-id", 0))
        if last == 5:
            return events(text(cut[0], "after all"), number=6)
        return events("", number=last + 1) if last else None

    server, caller = Server(cutting), Caller()
    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        answer = await pool.call(there, "echo", {}, timeout=AMPLE, line=caller)

    assert said(answer) == "after all"
    assert caller.steps == [(1.0, None, None)]
    resumed = [r.headers["last-event-id"] for r in server.requests if "last-event-id" in r.headers]
    assert resumed == ["1", "2", "3", "4", "5"]


QUESTION: Message = {
    "id": "q",
    "method": "elicitation/create",
    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}


async def test_a_stream_that_ends_or_answers_while_somebody_is_asked_keeps_nobody_waiting() -> None:
    ended, answered = Caller([{}], slow=600), Caller([{}], slow=600)
    server = Server(to_calls(lambda _: events(QUESTION)))

    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        with pytest.raises(UpstreamDown, match="ended without an answer"):
            await pool.call(there, "ask", {}, timeout=AMPLE, line=ended)
        server.rude = to_calls(lambda message: events(QUESTION, text(message, "anyhow")))
        answer = await pool.call(there, "ask", {}, timeout=AMPLE, line=answered)
        await until(lambda: server.messages[-1].get("id") == "q")

    assert len(ended.asked) == 1
    assert said(answer) == "anyhow"
    assert "error" in server.messages[-1]


async def test_an_answer_that_cannot_be_sent_keeps_nobody_waiting() -> None:
    replied = asyncio.Event()

    def asking(_request: Request, message: Message) -> Response | None:
        if message.get("id") == "q":
            replied.set()
            return Response(status_code=202)
        return (
            StreamingResponse(talk(message), media_type="text/event-stream")
            if message["method"] == "tools/call"
            else None
        )

    async def talk(message: Message) -> AsyncIterator[str]:
        yield f"data: {json.dumps(QUESTION)}\n\n"
        await replied.wait()
        yield f"data: {json.dumps(text(message, 'without it'))}\n\n"

    server = Server(asking)
    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        caller = Caller([{"action": "accept", "content": {"x": float("nan")}}])
        answer = await pool.call(there, "ask", {}, timeout=AMPLE, line=caller)

    assert said(answer) == "without it"
    assert [message["id"] for message in server.messages if "error" in message] == ["q"]


async def test_a_stream_may_be_cut_as_often_as_it_likes_while_somebody_thinks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_UNHURRIED", 0.01)
    answered: list[Message] = []

    def cutting(request: Request, message: Message) -> Response | None:
        last = int(request.headers.get("last-event-id", 0))
        if "method" not in message:
            answered.append(message)
            return Response(status_code=202)
        if message["method"] == "tools/call":
            return events(QUESTION)
        if last and answered:
            return events(text({"id": 2}, "after all"), number=last + 1)
        return events() if last else None

    server = Server(cutting)
    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        thinking = Caller([{"action": "decline"}], slow=1.0)
        answer = await pool.call(there, "ask", {}, timeout=AMPLE, line=thinking)

    assert said(answer) == "after all"
    assert sum("last-event-id" in request.headers for request in server.requests) > 5


@pytest.mark.parametrize("again", [events, lambda: Response(status_code=404)])
async def test_a_stream_that_does_not_go_on_is_given_up(again: Callable[[], Response]) -> None:
    def cutting(request: Request, message: Message) -> Response | None:
        if message["method"] == "tools/call":
            return events("")
        return again() if "last-event-id" in request.headers else None

    server = Server(cutting)
    async with reached(server, era=ProtocolRevision.LEGACY) as (pool, there):
        with pytest.raises(UpstreamDown, match="ended without an answer") as lost:
            await pool.call(there, "echo", {}, timeout=AMPLE)

    assert lost.value.reached


async def test_the_first_kind_of_server_may_not_send_us_to_another_host() -> None:
    thief = Server(lambda _request, _message: None)

    async with served(thief.app(), lifespan=False) as elsewhere:

        async def stream() -> AsyncIterator[str]:
            yield f"event: endpoint\ndata: {elsewhere}/messages\n\n"
            await asyncio.sleep(60)

        def luring(_request: Request, message: Message) -> Response:
            if message["method"] == "GET":
                return StreamingResponse(stream(), media_type="text/event-stream")
            return Response(status_code=405)

        async with reached(Server(luring)) as (pool, there):
            with pytest.raises(UpstreamDown, match="another host"):
                await pool.call(there, "echo", {}, timeout=AMPLE)

    assert thief.requests == []


async def test_a_server_that_hangs_in_many_calls_delays_no_other() -> None:
    def hanging(_request: Request, message: Message) -> Response | None:
        async def stream() -> AsyncIterator[str]:
            yield ": still here\n\n"
            await asyncio.sleep(60)

        slow = message["method"] == "tools/call"
        return StreamingResponse(stream(), media_type="text/event-stream") if slow else None

    good = Server(lambda _request, _message: None)
    async with reached(Server(hanging)) as (pool, hung), served(good.app(), lifespan=False) as url:
        waiting = [
            asyncio.ensure_future(pool.call(hung, "echo", {}, timeout=AMPLE)) for _ in range(150)
        ]
        for _ in range(20):
            answer = await pool.call(target(Http(f"{url}/mcp"), "good"), "echo", {}, timeout=AMPLE)
            assert said(answer) == "well"
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_server_that_hangs_lets_those_finish_who_have_more_patience() -> None:
    well, hung = asyncio.Event(), list[Message]()

    async def later(message: Message) -> AsyncIterator[str]:
        await well.wait()
        yield json.dumps(text(message, "well"))

    def hanging(_request: Request, message: Message) -> Response | None:
        if message["method"] != "tools/call":
            return None
        hung.append(message)
        return StreamingResponse(later(message), media_type="application/json")

    async with reached(Server(hanging), era=ProtocolRevision.LEGACY) as (pool, there):
        patient = asyncio.ensure_future(pool.call(there, "echo", {}, timeout=AMPLE))
        await until(lambda: hung)
        soon = timedelta(milliseconds=150)
        await together(*(pool.call(there, "echo", {}, timeout=soon) for _ in range(5)))
        well.set()

        assert said(await patient) == "well"


def refusing(method: str, code: int) -> Rude:
    error = {"code": code, "message": "not here"}
    return lambda _, m: (
        JSONResponse({"id": m["id"], "error": error}) if m["method"] == method else None
    )


async def test_a_server_may_refuse_to_list_its_tools_or_to_give_a_resource() -> None:
    async with reached(Server(refusing("tools/list", -32601))) as (pool, there):
        assert (await pool.look(there)).tools == []

    async with reached(Server(refusing("tools/list", -32000))) as (pool, there):
        with pytest.raises(UpstreamDown, match="asked for its tools, it said: not here"):
            await pool.look(there)

    async with reached(Server(refusing("resources/read", -32002))) as (pool, there):
        with pytest.raises(OfferNotFound):
            await pool.read_resource(there, "test://nothing", timeout=AMPLE)


async def test_words_of_change_are_listened_for_again_when_the_stream_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.adapters.mcp.session._FIRST_PAUSE", 0.01)
    listened: list[Message] = []
    changes = Changes()

    def forgetful(_request: Request, message: Message) -> Response | None:
        if message["method"] == "server/discover":
            offers = {"tools": {"listChanged": True}}
            greeting = politely(message)
            greeting["result"]["capabilities"] = offers
            return JSONResponse(greeting)
        if message["method"] == "subscriptions/listen":
            listened.append(message["params"]["notifications"])
            return events({"method": "notifications/tools/list_changed"})
        return None

    async with reached(Server(forgetful), changed=changes) as (pool, there):
        await pool.call(there, "echo", {}, timeout=AMPLE)
        await until(lambda: len(listened) > 2 and changes.told)

    assert listened[0] == {"toolsListChanged": True}


async def test_the_first_kind_of_server_that_takes_no_message_is_down() -> None:
    async def stream() -> AsyncIterator[str]:
        yield "event: endpoint\ndata: /messages\n\n"
        await asyncio.sleep(60)

    def deaf(_request: Request, message: Message) -> Response:
        if message["method"] == "GET":
            return StreamingResponse(stream(), media_type="text/event-stream")
        return Response(status_code=405)

    async with reached(Server(deaf)) as (pool, there):
        with pytest.raises(UpstreamDown, match="HTTP 405"):
            await pool.call(there, "echo", {}, timeout=AMPLE)


async def test_where_nothing_of_either_kind_answers_the_address_is_to_be_checked() -> None:
    async with reached(Server(always(lambda: Response(status_code=404)))) as (pool, there):
        with pytest.raises(UpstreamDown, match="nothing there speaks MCP") as down:
            await pool.call(there, "echo", {}, timeout=AMPLE)

    assert down.value.fix == "Check its address."


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def an_endpoint(url: str, resolve: Resolve = here) -> Endpoint:
    address = Address(url, {"Authorization": "Bearer s3cret"}, frozenset())
    return Endpoint(address, ssl.create_default_context(), Dialer(resolve=resolve), largest=1000)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_an_approved_launch_is_its_own_entry() -> None:
    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"))
        answer = await endpoint.post(b"{}", {})
        await answer.aclose()
        await endpoint.close()

    assert [asked.path for asked in site.asked] == ["/mcp"]


async def test_what_still_waits_for_a_connection_at_the_end_is_not_sent() -> None:
    asked, found = asyncio.Event(), asyncio.Event()

    async def slowly(host: str, port: int) -> Sequence[str]:
        asked.set()
        await found.wait()
        return ["127.0.0.1"]

    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"), slowly)
        sending = asyncio.ensure_future(endpoint.sibling("/other").post(b"{}", {}))
        await asked.wait()
        await endpoint.close()
        found.set()
        with pytest.raises(TransportFailed, match="it was ended") as ended:
            await sending

    assert not ended.value.reached
    assert site.asked == []


async def test_the_farewell_alone_is_sent_after_the_end() -> None:
    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"))
        endpoint.end()
        with pytest.raises(TransportFailed, match="it was ended"):
            await endpoint.listen({})
        await (await endpoint.delete({})).aclose()
        await endpoint.close()

    assert [each.method for each in site.asked] == ["DELETE"]


async def test_the_proxy_of_the_environment_is_what_is_dialled_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with canary() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        endpoint = an_endpoint("http://tools.test/mcp")
        answer = await endpoint.post(b"{}", {})
        await answer.aclose()
        await endpoint.close()

    [hit] = proxy.hits
    assert hit.startswith(b"POST http://tools.test/mcp HTTP/1.1\r\n")


async def test_a_proxy_may_be_named_without_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        endpoint = an_endpoint("http://tools.test/mcp")
        await (await endpoint.post(b"{}", {})).aclose()
        await endpoint.close()

    assert len(proxy.hits) == 1


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http:///x", "http://a\tb/"])
async def test_a_proxy_that_cannot_be_used_is_not_gone_round(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)

    with pytest.raises(
        TransportFailed, match="the proxy that is set for it is none of HTTP"
    ) as broken:
        an_endpoint("http://tools.test/mcp")

    assert broken.value.fix is not None
