"""What the engine room may rely on of `Receipts`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from portico.engine.core.errors import KeyReused
from portico.engine.core.idempotency import Claim, StoredResponse, WriteOutcome
from portico.engine.ports import Receipts
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NameTaken, PrincipalNotFound
from portico.guard.core.principals import Identity
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

    async def __call__(self) -> StoredResponse:
        self.done += 1
        for _ in range(3):
            await self._doors.spaces.get(self._caller)
            await asyncio.sleep(0)  # lets whoever else wants to do it try
        return StoredResponse({"number": self.done}, shown_once={"key": "a new key"})


@pytest.fixture
def receipts(doors: Doors) -> Receipts:
    return doors.receipts


@pytest.fixture
def action(doors: Doors, root: Principal) -> Counting:
    return Counting(doors, root)


def adding(
    doors: Doors, caller: Principal, identity: Identity
) -> Callable[[], Awaitable[StoredResponse]]:
    async def action() -> StoredResponse:
        await doors.principals.add(caller, identity)
        return StoredResponse({"id": str(identity.id)})

    return action


@pytest.mark.requirement("engine:idempotency:once")
async def test_the_second_time_it_is_only_answered(
    receipts: Receipts, root: Principal, action: Counting
) -> None:
    """With the same answer; under another operation or key it is another write."""
    first = await receipts.once(root, CLAIM, action)
    second = await receipts.once(root, CLAIM, action)

    assert action.done == 1
    assert first == WriteOutcome({"number": 1, "key": "a new key"}, replayed=False)
    assert second == WriteOutcome({"number": 1}, replayed=True)
    with pytest.raises(KeyReused, match="'k1'"):
        await receipts.once(root, replace(CLAIM, fingerprint="other"), action)
    assert action.done == 1
    for other in (replace(CLAIM, operation="people.change"), replace(CLAIM, key="k2")):
        assert not (await receipts.once(root, other, action)).replayed
    assert action.done == 3

    async def in_order() -> StoredResponse:
        return StoredResponse({"z": 1, "a": {"y": None, "b": [1.5, "é"]}})

    told = [await receipts.once(root, replace(CLAIM, key="order"), in_order) for _ in range(2)]
    assert [list(each.body) for each in told] == [["z", "a"]] * 2
    assert told[0].body == told[1].body


@pytest.mark.requirement("engine:idempotency:once")
async def test_of_several_at_once_one_does_it_and_the_others_wait_for_its_answer(
    receipts: Receipts, root: Principal, action: Counting
) -> None:
    told = await asyncio.gather(*(receipts.once(root, CLAIM, action) for _ in range(4)))

    assert action.done == 1
    assert sorted(receipt.replayed for receipt in told) == [False, True, True, True]
    assert {receipt.body["number"] for receipt in told} == {1}


@pytest.mark.requirement("engine:idempotency:once")
async def test_if_the_first_of_two_fails_the_second_does_it(
    doors: Doors, root: Principal, action: Counting
) -> None:
    begun = asyncio.Event()

    async def failing() -> StoredResponse:
        begun.set()
        await doors.spaces.get(root)
        raise OSError("the disk is full")

    async def second() -> WriteOutcome:
        await begun.wait()
        return await doors.receipts.once(root, CLAIM, action)

    failed, receipt = await asyncio.gather(
        doors.receipts.once(root, CLAIM, failing), second(), return_exceptions=True
    )

    assert isinstance(failed, OSError)
    assert isinstance(receipt, WriteOutcome)
    assert (receipt.replayed, action.done) == (False, 1)


@pytest.mark.requirement("engine:idempotency:nobody-elses")
async def test_the_receipt_of_another_principal_or_space_is_not_mine(
    doors: Doors, root: Principal, action: Counting
) -> None:
    bob, acme = as_principal(await doors.joined(root, "bob")), await doors.founded("acme")
    in_acme = Counting(doors, acme)

    told = [
        await doors.receipts.once(who, CLAIM, act)
        for who, act in ((root, action), (bob, action), (acme, in_acme))
    ]

    assert [each.replayed for each in told] == [False] * 3
    assert (action.done, in_acme.done) == (2, 1)
    with pytest.raises(REFUSED):
        await doors.receipts.once(as_principal(an_identity("ghost")), CLAIM, action)


@pytest.mark.requirement("engine:idempotency:once")
async def test_what_an_action_wrote_before_it_failed_is_gone(doors: Doors, root: Principal) -> None:
    """A space that it founded, too."""
    bob = an_identity("bob")
    await doors.settings.put(root, "theme", "before")

    async def action() -> StoredResponse:
        await doors.settings.put(root, "theme", "during")
        await doors.principals.add(root, bob)
        await doors.founded("acme")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await doors.receipts.once(root, CLAIM, action)

    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(root, bob.id)
    assert await doors.settings.get(root, "theme") == "before"
    receipt = await doors.receipts.once(root, CLAIM, adding(doors, root, bob))
    assert not receipt.replayed
    assert await doors.principals.get(root, bob.id) == bob
    assert (await doors.founded("acme")).name == "root"


async def test_an_action_may_act_in_another_space_and_get_over_a_refusal(
    doors: Doors, root: Principal
) -> None:
    """Founding a space does the first: its first rows are written as its admin."""
    eve = an_identity("eve")

    async def action() -> StoredResponse:
        acme = await doors.founded("acme")
        with pytest.raises(NameTaken):
            await doors.principals.add(root, replace(eve, name="root"))
        await doors.principals.add(root, eve)
        assert (await doors.spaces.get(root)).name == "home"
        return StoredResponse({"space": str(acme.space)})

    receipt = await doors.receipts.once(root, CLAIM, action)

    again = await doors.receipts.once(root, CLAIM, action)
    assert again == replace(receipt, replayed=True)
    assert await doors.principals.get(root, eve.id) == eve
