"""The drill shows what it is there to show; a write that is asked for twice is done once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from portico.engine.core.errors import InvalidInput, KeyReused
from portico.engine.core.idempotency import StoredResponse
from portico.engine.core.runs import RunStatus
from portico.engine.drill import Drill, DrillPlan, drill_kind
from portico.engine.idempotency import IdempotentWrite, WriteRequest
from portico.engine.runs import Kind, Kinds
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.engine import MemoryReceipts
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import InMemoryStore, TickingClock
from tests.engine.room import ANA, Room


@pytest.fixture
def room() -> Room:
    return Room(drill_kind(TickingClock(), "one"))


@pytest.mark.parametrize(
    ("given", "plan"),
    [
        ({}, DrillPlan(steps=3, pause=timedelta(0), ask=False, fail_at=None)),
        (
            {"steps": 1000, "pause": 60, "ask": True, "fail_at": 1000},
            DrillPlan(steps=1000, pause=timedelta(minutes=1), ask=True, fail_at=1000),
        ),
        (
            {"steps": 1, "pause": 0.25, "ask": False, "fail_at": None},
            DrillPlan(steps=1, pause=timedelta(milliseconds=250), ask=False, fail_at=None),
        ),
    ],
)
def test_a_plan_is_read(given: dict[str, Any], plan: DrillPlan) -> None:
    assert DrillPlan.parse(given) == plan


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"steps": 0}, ["steps"]),
        ({"steps": 1001}, ["steps"]),
        ({"steps": True}, ["steps"]),
        ({"steps": None}, ["steps"]),
        ({"steps": 2.0}, ["steps"]),
        ({"pause": -1}, ["pause"]),
        ({"pause": 61}, ["pause"]),
        ({"pause": float("nan")}, ["pause"]),
        ({"pause": True}, ["pause"]),
        ({"pause": "1"}, ["pause"]),
        ({"ask": 1}, ["ask"]),
        ({"fail_at": 0}, ["fail_at"]),
        ({"steps": 2, "fail_at": 3}, ["fail_at"]),
        ({"speed": 9, "stepz": 3}, ["speed", "stepz"]),
        ({"ptc_0F19_x": 9}, ["a field"]),
        ({"steps": 0, "pause": 61, "ask": 1}, ["steps", "pause", "ask"]),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_field_by_field(
    given: dict[str, Any], fields: list[str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        DrillPlan.parse(given)

    assert [flaw.field for flaw in caught.value.field_errors] == fields
    assert all(field in str(caught.value) for field in fields)


async def test_each_step_says_when_and_by_which_process_it_was_done(room: Room) -> None:
    run = await room.start("drill", steps=2)

    ended = await room.leg(run)

    assert [(step.name, step.output) for step in await room.steps(run)] == [
        ("step-1", {"at": "2026-01-01T00:00:00+00:00", "process": "one"}),
        ("step-2", {"at": "2026-01-01T00:00:01+00:00", "process": "one"}),
    ]
    assert ended.result == {"steps": 2, "processes": ["one"], "taken_over": 0, "answer": None}


@pytest.mark.requirement("runs:drill:shows-takeover")
async def test_a_drill_that_was_taken_over_says_by_whom_and_how_often() -> None:
    reached = asyncio.Event()

    async def dies_in_the_middle(durable: Durable, given: JsonObject) -> JsonValue:
        await Drill(clock=TickingClock(), process="one")(durable, {**given, "steps": 2})
        reached.set()
        return await asyncio.Event().wait()

    room = Room(drill_kind(TickingClock(), "one"))
    run = await room.start("drill", steps=4)
    room.kinds = Kinds([Kind(name="drill", work=dies_in_the_middle)])
    await room.crash(run, reached)
    room.kinds = Kinds([drill_kind(TickingClock(), "two")])
    ended = await room.leg(run)

    assert ended.result == {
        "steps": 4,
        "processes": ["one", "two"],
        "taken_over": 1,
        "answer": None,
    }


async def test_a_pause_takes_up_no_process(room: Room) -> None:
    run = await room.start("drill", steps=2, pause=10)

    paused = await room.leg(run)
    room.clock.turn(timedelta(seconds=10))
    room.runs.due(room.clock.now())
    ended = await room.leg(run)

    assert paused.status is RunStatus.WAITING
    assert (ended.status, ended.leg) == (RunStatus.DONE, 2)


async def test_a_drill_asks_or_fails_as_it_was_told_to(room: Room) -> None:
    run = await room.start("drill", steps=1, ask=True)

    assert (await room.leg(run)).waits_for == ("answer",)
    await room.signal_run(ANA, run, "answer", {"ok": True})
    ended = await room.leg(run)

    assert isinstance(ended.result, dict)
    assert ended.result["answer"] == {"ok": True}

    run = await room.start("drill", steps=3, fail_at=2)
    ended = await room.leg(run)

    assert ended.status is RunStatus.FAILED
    assert [(step.name, step.state) for step in await room.steps(run)] == [
        ("step-1", "done"),
        ("step-2", "failed"),
    ]


ASK = WriteRequest("keys.issue", {"name": "laptop"}, key="k1")


class Counting:
    """An action that shows how often it was done."""

    def __init__(self) -> None:
        self.done = 0

    async def __call__(self) -> StoredResponse:
        self.done += 1
        await asyncio.sleep(0)  # lets whoever else wants to do it try
        return StoredResponse({"number": self.done}, shown_once={"key": f"secret {self.done}"})


@pytest.fixture
def once() -> IdempotentWrite:
    world = InMemoryStore()
    world.spaces[ANA.space] = a_space()
    world.identities[ANA.space, ANA.id] = an_identity("ana")
    return IdempotentWrite(receipts=MemoryReceipts(world))


@pytest.fixture
def action() -> Counting:
    return Counting()


@pytest.mark.requirement("engine:idempotency:once")
async def test_a_repeated_write_is_done_once_and_answered_alike(
    once: IdempotentWrite, action: Counting
) -> None:
    first = await once(ANA, ASK, action)
    second = await once(ANA, ASK, action)

    assert action.done == 1
    assert (first.body, first.replayed) == ({"number": 1, "key": "secret 1"}, False)
    assert (second.body, second.replayed) == ({"number": 1}, True)
    with pytest.raises(KeyReused):
        await once(ANA, WriteRequest("keys.issue", {"name": "phone"}, key="k1"), action)
    assert action.done == 1
    await once(ANA, WriteRequest("people.add", {"name": "laptop"}, key="k1"), action)
    assert action.done == 2


@pytest.mark.requirement("engine:idempotency:once")
async def test_two_at_once_are_done_once(once: IdempotentWrite, action: Counting) -> None:
    receipts = await asyncio.gather(*(once(ANA, ASK, action) for _ in range(5)))

    assert action.done == 1
    assert sorted(receipt.replayed for receipt in receipts) == [False, True, True, True, True]


async def test_without_a_key_it_is_done_each_time(once: IdempotentWrite, action: Counting) -> None:
    ask = WriteRequest("keys.issue", {"name": "laptop"})

    receipts = [await once(ANA, ask, action) for _ in range(2)]

    assert action.done == 2
    assert [receipt.body["key"] for receipt in receipts] == ["secret 1", "secret 2"]


async def test_a_write_that_failed_may_be_tried_again_under_its_key(
    once: IdempotentWrite, action: Counting
) -> None:
    async def failing() -> StoredResponse:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await once(ANA, ASK, failing)
    receipt = await once(ANA, ASK, action)

    assert (action.done, receipt.replayed) == (1, False)
