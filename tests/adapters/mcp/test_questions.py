"""What a server wants to know of whoever calls it reaches exactly that one, in both eras."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from portico.adapters.mcp.client_requests import Exchange, objected
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.secrets import CredentialRedactor
from portico.adapters.mcp.session import Conversation, Ears, Greeting, ServerMemo
from portico.adapters.mcp.transport import Duplex, Refusal
from portico.gateway.core.calls import ClientCapability, ToolResult, UpstreamTarget
from portico.gateway.core.errors import (
    InputRefused,
    InputUnsupported,
    UpstreamBusy,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.servers import Http, Identity, ProtocolRevision
from portico.kernel.json import JsonObject
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Caller,
    a_pool,
    everyday,
    launched,
    said,
    target,
    together,
    until,
)
from tests.adapters.mcp.servers.everyday import FORM, Everyday
from tests.adapters.mcp.serving import served, sse_app
from tests.adapters.mcp.test_transport import Tray

ANA: dict[str, Any] = {"action": "accept", "content": {"name": "Ana"}}
BEN: dict[str, Any] = {"action": "accept", "content": {"name": "Ben"}}
WORDS: dict[str, Any] = {
    "role": "assistant",
    "content": {"type": "text", "text": "It"},
    "model": "m",
}
UNABLE = InputUnsupported("server.ask", "an answer of its user")
OLD = launched("plain")
NEW = launched("modern")


@asynccontextmanager
async def reached(
    way: str, served_by: Everyday | None = None
) -> AsyncIterator[tuple[UpstreamPool, UpstreamTarget]]:
    """The SDK's own server, spoken to in each of the ways there are."""
    era = ProtocolRevision.LEGACY if way.startswith("legacy") else None
    async with a_pool() as pool:
        if way.endswith("stdio"):
            yield pool, target(everyday(), era=era)
            return
        server = (served_by or Everyday()).server()
        app = sse_app(server) if way == "sse" else server.streamable_http_app()
        async with served(app, lifespan=way != "sse") as url:
            path = "sse" if way == "sse" else "mcp"
            there = Http(f"{url}/{path}")
            yield pool, target(replace(there, transport="sse") if way == "sse" else there, era=era)
            await pool.stop(HOME, "server")


@pytest.mark.parametrize(
    "way", ["modern stdio", "legacy stdio", "modern http", "legacy http", "sse"]
)
async def test_callers_and_their_models_are_asked_by_the_sdks_server_in_every_way(way: str) -> None:
    ana, model = Caller([ANA]), Caller([WORDS, {"roots": []}])

    async with reached(way) as (pool, everyday):
        greeted = await pool.call(everyday, "ask", {}, timeout=AMPLE, line=ana)
        written = await pool.call(everyday, "model", {}, timeout=AMPLE, line=model)
        with pytest.raises(InputUnsupported) as nobody:
            await pool.call(everyday, "model", {}, timeout=AMPLE)

    assert said(greeted).startswith("accept {'name': 'Ana'}")
    assert [question.wanted for question in ana.asked] == [ClientCapability.ELICITATION]
    assert ana.asked[0].params["requestedSchema"] == FORM
    assert said(written).startswith("It")
    assert model.asked[0].wanted is ClientCapability.SAMPLING
    assert nobody.value.ref == "server.model"


@pytest.mark.parametrize("server", [OLD, NEW])
async def test_whoever_declines_has_answered_and_without_an_answer_it_is_refused_or_copes(
    pool: UpstreamPool, server: Any
) -> None:
    there, gone = target(server), InputRefused("elicitation/create", "gone")
    caller = Caller([{"action": "decline"}])

    answer = await pool.call(there, "ask", {}, timeout=AMPLE, line=caller)
    for refusal in (UNABLE, gone):
        with pytest.raises(type(refusal)):
            await pool.call(there, "ask", {}, timeout=AMPLE, line=Caller([refusal]))
    coped = await pool.call(there, "ask", {"coping": True}, timeout=AMPLE, line=Caller([UNABLE]))

    assert "decline" in said(answer)
    assert not answer.failed
    assert '"action": "cancel"' in said(coped)


async def test_a_modern_server_asks_several_things_at_once_and_gets_its_own_state_back(
    pool: UpstreamPool,
) -> None:
    """Of those only whom it may ask, which it is told; and not for ever."""
    roots = {"roots": [{"uri": "file:///home/ana"}]}
    caller, several = Caller([ANA]), Caller([WORDS, roots])
    one = Caller(able=frozenset({ClientCapability.SAMPLING}))

    answer = await pool.call(target(NEW), "ask", {}, timeout=AMPLE, line=caller)
    both = await pool.call(target(NEW), "model", {}, timeout=AMPLE, line=several)
    nobody = await pool.call(target(NEW), "able", {}, timeout=AMPLE)
    somebody = await pool.call(target(NEW), "able", {}, timeout=AMPLE, line=one)
    with pytest.raises(UpstreamDown, match="ever more questions"):
        await pool.call(target(NEW), "endless", {}, timeout=AMPLE)

    assert json.loads(said(answer)) == [ANA, "kept"]
    assert caller.asked[0].key == "who"
    assert json.loads(said(both)) == ["It", roots]
    assert [question.key for question in several.asked] == ["say", "folders"]
    assert json.loads(said(nobody)) == []
    assert json.loads(said(somebody)) == ["sampling"]


async def test_nobody_is_sent_to_an_address_and_no_ones_folders_are_told(
    pool: UpstreamPool,
) -> None:
    """What nobody knows is refused in the protocol's way."""
    caller, old = Caller([ANA]), target(OLD)
    link = {"params": {"mode": "url", "url": "https://evil.example", "message": "Log in"}}
    folders: JsonObject = {"method": "roots/list", "params": {}}
    tasks: JsonObject = {"method": "tasks/list", "params": {}, "coping": True}

    with pytest.raises(InputUnsupported, match="a visit to an address"):
        await pool.call(old, "ask", link, timeout=AMPLE, line=caller)
    told = await pool.call(old, "ask", folders, timeout=AMPLE, line=caller)
    refused = await pool.call(old, "ask", tasks, timeout=AMPLE, line=caller)

    assert json.loads(said(told))["result"] == {"roots": []}
    assert json.loads(said(refused))["error"]["code"] == -32601
    assert caller.asked == []


async def test_the_time_that_a_person_takes_is_not_the_tools(pool: UpstreamPool) -> None:
    thinking = Caller([ANA], slow=2.5)

    await pool.look(target(OLD))
    answer = await pool.call(target(OLD), "ask", {}, timeout=timedelta(seconds=2), line=thinking)

    assert "Ana" in said(answer)


async def test_a_server_that_dies_while_somebody_is_asked_is_down_at_once(
    pool: UpstreamPool,
) -> None:
    thinking = Caller([ANA], slow=600)

    old = target(OLD)
    call = asyncio.ensure_future(pool.call(old, "ask", {}, timeout=AMPLE, line=thinking))
    await until(lambda: thinking.asked)
    process = pool.health(HOME, "server").process
    assert process is not None
    os.kill(process, signal.SIGKILL)
    with pytest.raises(UpstreamDown):
        await call


async def test_an_old_servers_question_is_put_to_nobody_if_it_may_mean_two(
    pool: UpstreamPool, tmp_path: Path
) -> None:
    go, end = tmp_path / "go", tmp_path / "end"
    ana, ben = Caller([ANA]), Caller([BEN])
    asked: list[tuple[str, JsonObject, Caller]] = [
        ("twice", {"file": str(go)}, ana),
        ("sleep", {"seconds": 60, "file": str(end)}, ben),
    ]

    old = target(OLD)
    await pool.look(old)
    asking, sleeping = (
        asyncio.ensure_future(pool.call(old, tool, arguments, timeout=AMPLE, line=line))
        for tool, arguments, line in asked
    )
    await until(lambda: pool.health(HOME, "server").calls_now == 2)
    go.touch()
    [first] = await together(asking)
    end.touch()
    [second] = await together(sleeping)

    # The tool of the one fails, as nobody answered it; the other's is none the wiser.
    assert isinstance(first, InputRefused)
    assert isinstance(second, ToolResult)
    assert said(second) == "woke up"
    assert ana.asked == ben.asked == []


async def test_what_has_asked_once_is_called_alone_and_then_reaches_its_caller(
    pool: UpstreamPool,
) -> None:
    callers = [Caller([{"action": "accept", "content": {"n": n}}], slow=0.05) for n in range(5)]

    old = target(OLD)
    told_apart = True
    while told_apart:  # as long as the one was over before the other began
        both = (pool.call(old, "ask", {}, timeout=AMPLE, line=Caller()) for _ in range(2))
        told_apart = not any(isinstance(each, InputRefused) for each in await together(*both))
    answers = await asyncio.gather(
        *(pool.call(old, "ask", {}, timeout=AMPLE, line=caller) for caller in callers)
    )

    given = [json.loads(said(answer))["result"]["content"]["n"] for answer in answers]
    assert given == [0, 1, 2, 3, 4]


async def test_a_question_after_a_call_was_given_up_is_put_to_nobody_and_the_server_begins_anew(
    pool: UpstreamPool,
    tmp_path: Path,
) -> None:
    go = tmp_path / "go"
    ben = Caller([BEN, BEN])

    old = target(OLD)
    before = said(await pool.call(old, "where", {}, timeout=AMPLE))
    with pytest.raises(UpstreamTimedOut):
        await pool.call(
            old,
            "twice",
            {"file": str(go)},
            timeout=timedelta(milliseconds=100),
            line=Caller([ANA]),
        )
    with pytest.raises(InputRefused, match="did not say which"):
        await pool.call(old, "ask", {}, timeout=AMPLE, line=ben)
    after = said(await pool.call(old, "where", {}, timeout=AMPLE))
    answer = await pool.call(old, "ask", {}, timeout=AMPLE, line=ben)

    assert before != after
    assert "Ben" in said(answer)
    assert len(ben.asked) == 1


async def test_a_question_on_the_standing_stream_reaches_the_only_caller() -> None:
    ana = Caller([ANA])

    async with reached("legacy http") as (pool, everyday):
        answer = await pool.call(everyday, "aside", {}, timeout=AMPLE, line=ana)

    assert said(answer) == "accept {'name': 'Ana'}"


async def test_a_question_on_the_standing_stream_is_put_to_nobody_if_it_may_mean_two() -> None:
    server = Everyday()
    ana, ben = Caller([ANA]), Caller([BEN])

    async with reached("legacy http", server) as (pool, everyday):
        await pool.look(everyday)
        asking, waiting = (
            asyncio.ensure_future(
                pool.call(everyday, tool, {"wait": True}, timeout=AMPLE, line=line)
            )
            for tool, line in [("aside", ana), ("slow", ben)]
        )
        await server.started.wait()
        server.let_go.set()
        [first] = await together(asking)
        server.finish.set()
        [second] = await together(waiting)

    assert isinstance(first, InputRefused)
    assert isinstance(second, ToolResult)
    assert ana.asked == ben.asked == []


async def test_who_waits_for_a_turn_too_long_is_told_that_the_server_is_busy(
    pool: UpstreamPool,
) -> None:
    old = target(OLD)
    await pool.call(old, "ask", {}, timeout=AMPLE, line=Caller([ANA]))
    thinking = Thinking()
    slow = asyncio.ensure_future(pool.call(old, "ask", {}, timeout=AMPLE, line=thinking))
    await until(lambda: thinking.asked)
    with pytest.raises(UpstreamBusy, match="busy with another call"):
        await pool.call(old, "ask", {}, timeout=timedelta(milliseconds=200), line=Caller())
    thinking.go.set()

    assert "Ana" in said(await slow)


@pytest.mark.parametrize(
    ("code", "data", "wanted"),
    [
        (-32021, {"requiredCapabilities": {"sampling": {}}}, "an answer of its model"),
        (-32021, {"requiredCapabilities": {"what": {}}}, "something"),
        (-32021, None, "something"),
        (-32042, {"elicitations": []}, "a visit to an address"),
    ],
)
def test_a_server_that_knows_beforehand_what_its_caller_cannot_do_is_heard(
    code: int, data: object, wanted: str
) -> None:
    exchange = Exchange(subject="server.tool", name="tool")

    with pytest.raises(InputUnsupported) as refused:
        objected(exchange, Refusal(code, "missing", data))

    assert refused.value.wanted == wanted


PLAIN = target(launched("plain"), era=ProtocolRevision.LEGACY)


class Thinking(Caller):
    """Takes until it is let go."""

    def __init__(self) -> None:
        super().__init__([ANA])
        self.go = asyncio.Event()

    async def ask(self, question: Any) -> Any:
        answer = await super().ask(question)
        await self.go.wait()
        return answer


async def test_who_only_waited_for_a_turn_was_not_sent_and_harms_nobody(pool: UpstreamPool) -> None:
    thinking = Thinking()
    soon = timedelta(milliseconds=50)

    await pool.call(PLAIN, "ask", {}, timeout=AMPLE, line=Caller([ANA]))
    process = pool.health(HOME, "server").process
    asking = asyncio.ensure_future(pool.call(PLAIN, "ask", {}, timeout=AMPLE, line=thinking))
    await until(lambda: thinking.asked)
    others = await together(*(pool.call(PLAIN, "echo", {}, timeout=soon) for _ in range(4)))
    thinking.go.set()

    assert [type(other) for other in others] == [UpstreamBusy] * 4
    assert "Ana" in said(await asking)
    assert pool.health(HOME, "server").process == process


async def test_what_the_server_says_before_a_turn_is_no_word_to_the_one_who_waits() -> None:
    way = Duplex(Tray())
    greeting = Greeting(ProtocolRevision.LEGACY, "2025-06-18", Identity("", ""), None, {})
    ears = Ears(changed=lambda: None, said=lambda _: None)
    learnt = ServerMemo(askers={"ask"})
    conversation = Conversation(way, greeting, {}, learnt, ears, veil=CredentialRedactor())
    first, second = (Exchange(subject=name, name=name) for name in ("ask", "echo"))
    asking = asyncio.ensure_future(conversation.call(first, {}))
    waiting = asyncio.ensure_future(conversation.call(second, {}))
    await asyncio.sleep(0)
    before = (first.sent, second.sent)

    way.received({"id": 1, "result": {}})
    await asking
    await asyncio.sleep(0)

    assert before == (True, False)
    assert (first.words, second.words) == (0, 1)
    way.received({"id": 2, "result": {}})
    await waiting
