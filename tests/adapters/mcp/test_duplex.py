"""Requests and answers on one stream each way, told apart by their numbers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import httpx2
import pytest

from portico.adapters.mcp import http
from portico.adapters.mcp.http import Endpoint, EventStream
from portico.adapters.mcp.session import Turns
from portico.adapters.mcp.transport import Asked, Broken, Duplex, Message, Refusal
from tests.adapters.mcp.pools import together, until

ASKED = Asked("tools/call", {"name": "x"})


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


async def asked(duplex: Duplex, what: Asked = ASKED) -> asyncio.Future[Message]:
    future = asyncio.ensure_future(duplex.ask(what))
    await asyncio.sleep(0)
    return future


async def test_answers_come_in_any_order_and_under_numbers_written_as_texts() -> None:
    duplex = Duplex(Tray())
    first, second, third = [await asked(duplex) for _ in range(3)]

    assert duplex.heard({"id": "2", "result": {"n": 2}})
    assert duplex.heard({"id": 1, "result": {"n": 1}})
    assert duplex.heard({"id": 3, "error": {"code": 5, "message": "no"}})

    assert (await first, await second) == ({"n": 1}, {"n": 2})
    with pytest.raises(Refusal):
        await third


async def test_an_answer_to_nothing_is_left_alone() -> None:
    duplex = Duplex(Tray())
    waiting = await asked(duplex)
    strange: list[Any] = [7, "x", True, None, [1], {"a": 1}, 1.5]

    assert not any(duplex.heard({"id": number, "result": {}}) for number in strange)
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
        with pytest.raises(Broken, match="it fell") as told:
            await each
        assert told.value.reached
    with pytest.raises(Broken) as late:
        await duplex.ask(ASKED)
    assert not late.value.reached
    assert ends == ["it fell"]


@pytest.mark.parametrize("may_cancel", [True, False], ids=["a call", "a greeting"])
async def test_what_is_given_up_is_cancelled_and_remembered_until_it_is_answered(
    may_cancel: bool,
) -> None:
    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex, Asked("tools/call", {}, may_cancel=may_cancel))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    told = [(message["method"], message.get("params")) for message in tray.sent[1:]]
    assert told == ([("notifications/cancelled", {"requestId": 1})] if may_cancel else [])
    assert bool(duplex.abandoned) is may_cancel

    duplex.heard({"id": 1, "result": {}})

    assert not duplex.abandoned


async def test_a_caller_who_fails_while_it_is_told_something_gives_up() -> None:
    async def fail(_message: Message) -> None:
        raise LookupError

    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex, Asked("tools/call", {}, fail, progress=True))
    told = {"progressToken": 1, "progress": 1}
    duplex.heard({"method": "notifications/progress", "params": told})

    with pytest.raises(LookupError):
        await waiting
    assert tray.sent[-1]["method"] == "notifications/cancelled"


async def test_only_the_last_word_of_how_far_it_is_is_kept() -> None:
    heard: list[float] = []

    async def hear(message: Message) -> None:
        heard.append(message["params"]["progress"])

    duplex = Duplex(Tray())
    waiting = await asked(duplex, Asked("tools/call", {}, hear, progress=True))
    for step in range(1_000):
        told = {"progressToken": 1, "progress": step}
        duplex.heard({"method": "notifications/progress", "params": told})
    duplex.heard({"id": 1, "result": {}})
    await waiting

    assert heard == [999]


async def test_more_questions_than_anybody_can_answer_are_refused() -> None:
    async def hear(message: Message) -> Message:
        return {"id": message["id"], "result": {}}

    tray = Tray()
    duplex = Duplex(tray)
    what = Asked("tools/call", {}, hear)
    waiting = await asked(duplex, what)
    for number in range(100):
        duplex.deliver(what, {"id": number, "method": "elicitation/create"})
    refused = [message for message in tray.sent if "error" in message]
    duplex.heard({"id": 1, "result": {}})
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
        duplex, what = Duplex(tray), Asked("tools/call", {}, hear)
        waiting = await asked(duplex, what)
        for number in (7, 8):
            duplex.deliver(what, {"id": number, "method": "elicitation/create"})
        await until(thinking.__len__)
        if end == "it is gone":
            duplex.end(end)
            with pytest.raises(Broken, match=end):
                await waiting
        elif end == "it has answered":
            duplex.heard({"id": 1, "result": {"n": 1}})
            assert await waiting == {"n": 1}
        else:
            waiting.cancel()
            duplex.heard({"id": 1, "result": {}})
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
    what = Asked("tools/call", {}, hear)
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
    duplex.heard({"id": 1, "result": {}})
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
    duplex.heard({"id": 1, "result": {}})
    await waiting
    await duplex.close()
    ended.end("it fell")
    full.free.set()

    with pytest.raises(Broken, match="it fell") as told:
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
        duplex.heard({"id": number, "result": {"n": number}})
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

    assert all(isinstance(each, Broken) for each in outcomes)
    assert sum(not each.reached for each in outcomes if isinstance(each, Broken)) == 3 * (not taken)
