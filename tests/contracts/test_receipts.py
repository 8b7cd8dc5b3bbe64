"""What the engine room may rely on of `Receipts`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.engine.core.errors import KeyReused
from portico.engine.core.receipt import Answer, Claim, Receipt
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NameTaken, PrincipalNotFound
from portico.guard.core.identity import Identity
from portico.kernel.principal import Principal
from portico.testing.guard import an_identity
from tests.contracts.doors import REFUSED, Doors

CLAIM = Claim.of("people.add", "k1", {"name": "bob"})


class Counting:
    """An action that counts how often it was done, and looks at the store meanwhile."""

    def __init__(self, doors: Doors, caller: Principal) -> None:
        self.done = 0
        self._doors = doors
        self._caller = caller

    async def __call__(self) -> Answer:
        self.done += 1
        for _ in range(3):
            await self._doors.spaces.get(self._caller)
            await asyncio.sleep(0)  # lets whoever else wants to do it try
        return Answer({"number": self.done}, shown_once={"key": "a new key"})


def adding(doors: Doors, caller: Principal, identity: Identity) -> Callable[[], Awaitable[Answer]]:
    async def action() -> Answer:
        await doors.principals.add(caller, identity)
        return Answer({"id": str(identity.id)})

    return action


@pytest.mark.requirement("engine:idempotency:once")
async def test_the_second_time_it_is_only_answered(doors: Doors) -> None:
    root = await doors.founded("home")
    action = Counting(doors, root)

    first = await doors.receipts.once(root, CLAIM, action)
    second = await doors.receipts.once(root, CLAIM, action)

    assert action.done == 1
    assert first == Receipt({"number": 1, "key": "a new key"}, replayed=False)
    assert second == Receipt({"number": 1}, replayed=True)


@pytest.mark.requirement("engine:idempotency:once")
async def test_of_several_at_once_one_does_it_and_the_others_wait_for_its_answer(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    action = Counting(doors, root)

    receipts = await asyncio.gather(*(doors.receipts.once(root, CLAIM, action) for _ in range(4)))

    assert action.done == 1
    assert sorted(receipt.replayed for receipt in receipts) == [False, True, True, True]
    assert {receipt.body["number"] for receipt in receipts} == {1}


@pytest.mark.requirement("engine:idempotency:once")
async def test_if_the_first_of_two_fails_the_second_does_it(doors: Doors) -> None:
    root = await doors.founded("home")
    action, begun = Counting(doors, root), asyncio.Event()

    async def failing() -> Answer:
        begun.set()
        await doors.spaces.get(root)
        raise OSError("the disk is full")

    async def second() -> Receipt:
        await begun.wait()
        return await doors.receipts.once(root, CLAIM, action)

    failed, receipt = await asyncio.gather(
        doors.receipts.once(root, CLAIM, failing), second(), return_exceptions=True
    )

    assert isinstance(failed, OSError)
    assert isinstance(receipt, Receipt)
    assert (receipt.replayed, action.done) == (False, 1)


@pytest.mark.requirement("engine:idempotency:once")
async def test_another_request_under_the_same_key_is_refused(doors: Doors) -> None:
    root = await doors.founded("home")
    action = Counting(doors, root)
    await doors.receipts.once(root, CLAIM, action)

    with pytest.raises(KeyReused, match="'k1'"):
        await doors.receipts.once(root, replace(CLAIM, fingerprint="other"), action)

    assert action.done == 1


@pytest.mark.parametrize(
    "other", [replace(CLAIM, operation="people.change"), replace(CLAIM, key="k2")]
)
async def test_another_operation_or_key_is_another_write(doors: Doors, other: Claim) -> None:
    root = await doors.founded("home")
    action = Counting(doors, root)

    await doors.receipts.once(root, CLAIM, action)
    await doors.receipts.once(root, other, action)

    assert action.done == 2


@pytest.mark.requirement("engine:idempotency:nobody-elses")
async def test_the_receipt_of_another_principal_is_not_mine(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    action = Counting(doors, root)

    await doors.receipts.once(root, CLAIM, action)
    mine = await doors.receipts.once(bob, CLAIM, action)

    assert (action.done, mine.replayed) == (2, False)


@pytest.mark.requirement("engine:idempotency:nobody-elses")
async def test_the_receipt_of_another_space_is_not_mine(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    action = Counting(doors, home)

    await doors.receipts.once(home, CLAIM, action)
    mine = await doors.receipts.once(acme, CLAIM, Counting(doors, acme))

    assert (action.done, mine.replayed) == (1, False)


async def test_nobody_without_a_place_in_the_space_gets_a_receipt(doors: Doors) -> None:
    root = await doors.founded("home")
    ghost = as_principal(an_identity("ghost"))

    with pytest.raises(REFUSED):
        await doors.receipts.once(ghost, CLAIM, Counting(doors, root))


@pytest.mark.requirement("engine:idempotency:once")
async def test_what_an_action_wrote_before_it_failed_is_gone(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = an_identity("bob")
    await doors.settings.put(root, "theme", "before")

    async def action() -> Answer:
        await doors.settings.put(root, "theme", "during")
        await doors.principals.add(root, bob)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await doors.receipts.once(root, CLAIM, action)

    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(root, bob.id)
    assert await doors.settings.get(root, "theme") == "before"
    receipt = await doors.receipts.once(root, CLAIM, adding(doors, root, bob))
    assert not receipt.replayed
    assert await doors.principals.get(root, bob.id) == bob


async def test_a_refusal_that_the_action_gets_over_spoils_nothing(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.joined(root, "bob")
    eve = an_identity("eve")

    async def action() -> Answer:
        with pytest.raises(NameTaken):
            await doors.principals.add(root, replace(eve, name="bob"))
        await doors.principals.add(root, eve)
        return Answer({})

    await doors.receipts.once(root, CLAIM, action)

    assert await doors.principals.get(root, eve.id) == eve


async def test_an_action_may_act_for_somebody_in_another_space(doors: Doors) -> None:
    """Founding a space does: its first rows are written as its admin."""
    home = await doors.founded("home")

    async def action() -> Answer:
        acme = await doors.founded("acme")
        assert (await doors.spaces.get(home)).name == "home"
        return Answer({"space": str(acme.space)})

    receipt = await doors.receipts.once(home, CLAIM, action)

    again = await doors.receipts.once(home, CLAIM, action)
    assert again == replace(receipt, replayed=True)


@pytest.mark.requirement("engine:idempotency:once")
async def test_a_space_that_was_founded_by_an_action_that_failed_is_gone(doors: Doors) -> None:
    home = await doors.founded("home")

    async def action() -> Answer:
        await doors.founded("acme")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await doors.receipts.once(home, CLAIM, action)

    assert (await doors.founded("acme")).name == "root"


async def test_an_answer_keeps_the_order_of_its_members(doors: Doors) -> None:
    root = await doors.founded("home")

    async def action() -> Answer:
        return Answer({"z": 1, "a": {"y": None, "b": [1.5, "é"]}})

    first = await doors.receipts.once(root, CLAIM, action)
    again = await doors.receipts.once(root, CLAIM, action)

    assert list(again.body) == list(first.body) == ["z", "a"]
    assert again.body == first.body
