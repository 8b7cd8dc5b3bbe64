"""The story of a write that is asked for twice."""

import asyncio

import pytest

from portico.engine.core.errors import KeyReused
from portico.engine.core.receipt import Answer
from portico.engine.do_once import Ask, DoOnce
from portico.guard.core.authentication import as_principal
from portico.testing.engine import MemoryReceipts
from portico.testing.guard import a_space, an_identity
from portico.testing.world import MemoryWorld

ANA = as_principal(an_identity("ana"))
ASK = Ask("keys.issue", {"name": "laptop"}, key="k1")


class Counting:
    """An action that shows how often it was done."""

    def __init__(self) -> None:
        self.done = 0

    async def __call__(self) -> Answer:
        self.done += 1
        await asyncio.sleep(0)  # lets whoever else wants to do it try
        return Answer({"number": self.done}, shown_once={"key": f"secret {self.done}"})


def do_once() -> DoOnce:
    world = MemoryWorld()
    world.spaces[ANA.space] = a_space()
    world.identities[ANA.space, ANA.id] = an_identity("ana")
    return DoOnce(receipts=MemoryReceipts(world))


@pytest.mark.requirement("engine:idempotency:once")
async def test_a_repeated_write_is_done_once_and_answered_alike() -> None:
    once, action = do_once(), Counting()

    first = await once(ANA, ASK, action)
    second = await once(ANA, ASK, action)

    assert action.done == 1
    assert (first.body, first.replayed) == ({"number": 1, "key": "secret 1"}, False)
    assert (second.body, second.replayed) == ({"number": 1}, True)


@pytest.mark.requirement("engine:idempotency:once")
async def test_two_at_once_are_done_once() -> None:
    once, action = do_once(), Counting()

    receipts = await asyncio.gather(*(once(ANA, ASK, action) for _ in range(5)))

    assert action.done == 1
    assert sorted(receipt.replayed for receipt in receipts) == [False, True, True, True, True]


async def test_without_a_key_it_is_done_each_time() -> None:
    once, action = do_once(), Counting()
    ask = Ask("keys.issue", {"name": "laptop"})

    receipts = [await once(ANA, ask, action) for _ in range(2)]

    assert action.done == 2
    assert [receipt.body["key"] for receipt in receipts] == ["secret 1", "secret 2"]


@pytest.mark.requirement("engine:idempotency:once")
async def test_a_key_that_comes_back_with_another_request_is_refused() -> None:
    once, action = do_once(), Counting()
    await once(ANA, ASK, action)

    with pytest.raises(KeyReused):
        await once(ANA, Ask("keys.issue", {"name": "phone"}, key="k1"), action)

    assert action.done == 1


async def test_the_same_key_for_another_operation_is_another_write() -> None:
    once, action = do_once(), Counting()

    await once(ANA, ASK, action)
    await once(ANA, Ask("people.add", {"name": "laptop"}, key="k1"), action)

    assert action.done == 2


async def test_a_write_that_failed_may_be_tried_again_under_its_key() -> None:
    once, action = do_once(), Counting()

    async def failing() -> Answer:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await once(ANA, ASK, failing)
    receipt = await once(ANA, ASK, action)

    assert (action.done, receipt.replayed) == (1, False)
