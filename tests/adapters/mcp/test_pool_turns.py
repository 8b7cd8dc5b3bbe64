"""Who waits for another's turn to end has asked nothing, and nobody is blamed for it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from portico.adapters.mcp.conversation import Conversation, Ears, Learnt
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.exchange import Exchange
from portico.adapters.mcp.greeting import Greeting
from portico.adapters.mcp.veil import Veil
from portico.gateway.core.errors import UpstreamBusy
from portico.gateway.core.server import Era, Identity
from tests.adapters.mcp.pools import (
    AMPLE,
    HOME,
    Caller,
    a_pool,
    launched,
    said,
    target,
    together,
    until,
)

pytestmark = pytest.mark.timeout(30)

PLAIN = target(launched("plain"), era=Era.LEGACY)
ANA: dict[str, Any] = {"action": "accept", "content": {"name": "Ana"}}


class Thinking(Caller):
    """Takes until it is let go."""

    def __init__(self) -> None:
        super().__init__([ANA])
        self.go = asyncio.Event()

    async def ask(self, question: Any) -> Any:
        answer = await super().ask(question)
        await self.go.wait()
        return answer


async def test_who_only_waited_for_a_turn_was_not_sent_and_harms_nobody() -> None:
    thinking = Thinking()
    soon = timedelta(milliseconds=50)

    async with a_pool() as pool:
        await pool.call(PLAIN, "ask", {}, timeout=AMPLE, line=Caller([ANA]))
        process = pool.vitals(HOME, "server").process
        asking = asyncio.ensure_future(pool.call(PLAIN, "ask", {}, timeout=AMPLE, line=thinking))
        await until(lambda: thinking.asked)
        others = await together(*(pool.call(PLAIN, "echo", {}, timeout=soon) for _ in range(4)))
        thinking.go.set()

        assert [type(other) for other in others] == [UpstreamBusy] * 4
        assert "Ana" in said(await asking)
        assert pool.vitals(HOME, "server").process == process


class Pipe:
    """Takes everything."""

    process = 1
    ready = True

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    async def wait(self) -> None: ...

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def tell(self, data: bytes) -> None:
        self.send(data)

    async def close(self) -> None: ...


async def test_what_the_server_says_before_a_turn_is_no_word_to_the_one_who_waits() -> None:
    way = Duplex(Pipe())
    greeting = Greeting(Era.LEGACY, "2025-06-18", Identity("", ""), None, {})
    ears = Ears(changed=lambda: None, said=lambda _: None)
    learnt = Learnt(askers={"ask"})
    conversation = Conversation(way, greeting, {}, learnt, ears, veil=Veil())
    first, second = (Exchange(subject=name, name=name) for name in ("ask", "echo"))
    asking = asyncio.ensure_future(conversation.call(first, {}))
    waiting = asyncio.ensure_future(conversation.call(second, {}))
    await asyncio.sleep(0)
    before = (first.sent, second.sent)

    way.heard({"id": 1, "result": {}})
    await asking
    await asyncio.sleep(0)

    assert before == (True, False)
    assert (first.words, second.words) == (0, 1)
    way.heard({"id": 2, "result": {}})
    await waiting
