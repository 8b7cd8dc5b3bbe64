"""Requests and answers on one stream each way, told apart by their numbers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import httpx2
import pytest

from portico.adapters.mcp import sse
from portico.adapters.mcp.duplex import Duplex
from portico.adapters.mcp.endpoint import Endpoint
from portico.adapters.mcp.sse import EventStream
from portico.adapters.mcp.turns import Turns
from portico.adapters.mcp.wire import Asked, Broken, Message, Refusal
from tests.adapters.mcp.pools import until

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
    first, second = await asked(duplex), await asked(duplex)

    assert duplex.heard({"id": "2", "result": {"n": 2}})
    assert duplex.heard({"id": 1, "result": {"n": 1}})

    assert (await first, await second) == ({"n": 1}, {"n": 2})


@pytest.mark.parametrize("number", [7, "x", True, None, [1], {"a": 1}, 1.5])
async def test_an_answer_to_nothing_is_left_alone(number: Any) -> None:
    duplex = Duplex(Tray())
    waiting = await asked(duplex)

    assert not duplex.heard({"id": number, "result": {}})
    assert not waiting.done()
    waiting.cancel()


async def test_a_refusal_is_raised_where_it_was_asked_for() -> None:
    duplex = Duplex(Tray())
    waiting = await asked(duplex)
    duplex.heard({"id": 1, "error": {"code": 5, "message": "no"}})

    with pytest.raises(Refusal):
        await waiting


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


async def test_what_is_given_up_is_cancelled_and_remembered_until_it_is_answered() -> None:
    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert tray.sent[-1]["method"] == "notifications/cancelled"
    assert tray.sent[-1]["params"] == {"requestId": 1}
    assert duplex.abandoned

    duplex.heard({"id": 1, "result": {}})

    assert not duplex.abandoned


async def test_a_greeting_is_not_cancelled() -> None:
    tray = Tray()
    duplex = Duplex(tray)
    waiting = await asked(duplex, Asked("initialize", {}, may_cancel=False))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert [message["method"] for message in tray.sent] == ["initialize"]
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


class Thinking:
    """Somebody who takes their time with what they are asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.let_off = 0

    async def hear(self, message: Message) -> Message:
        self.asked.append(message["id"])
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.let_off += 1
            raise
        raise AssertionError


async def _thinking(tray: Tray) -> tuple[Thinking, Duplex, asyncio.Future[Message]]:
    somebody, duplex = Thinking(), Duplex(tray)
    what = Asked("tools/call", {}, somebody.hear)
    waiting = await asked(duplex, what)
    for number in (7, 8):
        duplex.deliver(what, {"id": number, "method": "elicitation/create"})
    await until(lambda: somebody.asked)
    return somebody, duplex, waiting


async def test_whoever_still_thinks_when_the_server_ends_keeps_nobody_waiting() -> None:
    tray = Tray()
    somebody, duplex, waiting = await _thinking(tray)

    duplex.end("it is gone")
    with pytest.raises(Broken, match="it is gone"):
        await waiting

    assert (somebody.asked, somebody.let_off) == ([7], 1)
    assert len(tray.sent) == 1


async def test_an_answer_is_not_kept_until_what_was_asked_meanwhile_is_answered_too() -> None:
    tray = Tray()
    somebody, duplex, waiting = await _thinking(tray)

    duplex.heard({"id": 1, "result": {"n": 1}})

    assert await waiting == {"n": 1}
    assert (somebody.asked, somebody.let_off) == ([7], 1)
    assert [message["id"] for message in tray.sent if "error" in message] == [7, 8]


async def test_a_caller_who_leaves_while_they_are_asked_has_left() -> None:
    tray = Tray()
    somebody, duplex, waiting = await _thinking(tray)

    waiting.cancel()
    duplex.heard({"id": 1, "result": {}})
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert somebody.let_off == 1


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

    assert [message["id"] for message in tray.sent if "error" in message] == [3]
    assert not duplex.abandoned


async def test_a_question_of_a_call_that_is_over_is_refused() -> None:
    tray = Tray()
    duplex = Duplex(tray)
    duplex.deliver(ASKED, {"id": 3, "method": "elicitation/create"})
    duplex.deliver(ASKED, {"method": "notifications/message"})

    assert [message["id"] for message in tray.sent] == [3]


async def test_who_asks_waits_until_there_is_room() -> None:
    tray = Tray()
    tray.free.clear()
    duplex = Duplex(tray)
    waiting = await asked(duplex)

    assert tray.sent == []

    tray.free.set()
    await asyncio.sleep(0.01)
    duplex.heard({"id": 1, "result": {}})
    await waiting
    await duplex.close()

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


async def test_who_waits_for_room_is_told_that_there_will_be_none() -> None:
    tray = Tray()
    tray.free.clear()
    duplex = Duplex(tray)
    waiting = await asked(duplex)

    duplex.end("it fell")
    tray.free.set()

    with pytest.raises(Broken, match="it fell") as told:
        await waiting
    assert not told.value.reached
    assert tray.sent == []


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


async def test_who_need_not_be_alone_is_in_together() -> None:
    room = Room()

    await asyncio.gather(*(room.visit(name, alone=False) for name in "abc"))

    assert room.seen[-1] == ("a", "b", "c")


async def test_who_must_be_alone_is_and_nobody_is_kept_out_for_ever() -> None:
    room = Room()

    await asyncio.gather(
        room.visit("a", alone=False),
        room.visit("B", alone=True),
        room.visit("c", alone=False),
        room.visit("D", alone=True),
        room.visit("e", alone=False),
    )

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

    largest = 1_000

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)
        self.bodies: list[bytes] = []

    async def post(self, body: bytes, _headers: object) -> "Taken":
        await self.let.acquire()
        self.bodies.append(body)
        return Taken()

    async def close(self) -> None: ...


class Taken:
    status_code = 202

    async def aclose(self) -> None: ...


@pytest.fixture(autouse=True)
def room_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "_UNSENT", 2)


async def all_asked(duplex: Duplex, times: int) -> "list[asyncio.Task[object]]":
    asking = [asyncio.ensure_future(duplex.ask(ASKED)) for _ in range(times)]
    for _ in range(3):
        await asyncio.sleep(0)
    return cast("list[asyncio.Task[object]]", asking)


async def test_whoever_waits_for_room_is_told_that_there_will_be_none() -> None:
    slow = Slow()
    stream = EventStream(cast("Endpoint", slow))
    duplex = Duplex(stream)
    stream.tasks.append(asyncio.ensure_future(stream.write(duplex, cast("Endpoint", slow))))
    asking = await all_asked(duplex, 6)

    await stream.read(duplex, NO_MORE)
    async with asyncio.timeout(3):
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
    await duplex.close()

    assert all(isinstance(each, Broken) for each in outcomes)
    assert sum(not each.reached for each in outcomes if isinstance(each, Broken)) == 3


async def test_whoever_waits_for_room_goes_on_with_the_first_that_there_is() -> None:
    slow = Slow()
    stream = EventStream(cast("Endpoint", slow))
    duplex = Duplex(stream)
    stream.tasks.append(asyncio.ensure_future(stream.write(duplex, cast("Endpoint", slow))))
    asking = await all_asked(duplex, 6)

    for taken in range(1, 7):
        slow.let.release()
        async with asyncio.timeout(3):
            while len(slow.bodies) < taken:  # noqa: ASYNC110 # nothing tells of it
                await asyncio.sleep(0)

    assert not any(each.done() for each in asking)
    for each in asking:
        each.cancel()
    await duplex.close()
