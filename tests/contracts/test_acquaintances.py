"""What the gateway may rely on of `Acquaintances`."""

import asyncio
from datetime import timedelta

import pytest

from portico.gateway.core.tool import ToolRef
from portico.guard.core.authentication import as_principal
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING
from tests.contracts.doors import REFUSED, Doors

READ, WRITE, LIST = (ToolRef("files", name) for name in ("read", "write", "list"))
DAY = timedelta(days=1)


async def test_nobody_knows_anything_at_first(doors: Doors) -> None:
    root = await doors.founded("home")

    assert await doors.acquaintances.known(root, 10) == []
    assert await doors.acquaintances.most_used(root, 10) == []


async def test_what_was_found_last_comes_first_with_what_it_was_found_for(doors: Doors) -> None:
    root = await doors.founded("home")

    await doors.acquaintances.found(root, [READ, LIST], "read é\0", BEGINNING)
    await doors.acquaintances.found(root, [WRITE, WRITE], "write", BEGINNING + DAY)
    await doors.acquaintances.found(root, [], "nothing", BEGINNING + DAY)
    first = await doors.acquaintances.known(root, 10)
    await doors.acquaintances.found(root, [READ], "read again", BEGINNING + 2 * DAY)

    assert [ref for ref, _ in first] == [WRITE, LIST, READ]
    assert await doors.acquaintances.known(root, 2) == [(READ, "read again"), (WRITE, "write")]


async def test_what_was_used_is_known_too(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.acquaintances.found(root, [READ], "read", BEGINNING)
    await doors.acquaintances.found(root, [LIST], "list", BEGINNING + DAY)

    await doors.acquaintances.used(root, {READ: 1, WRITE: 2}, BEGINNING + 2 * DAY)

    assert await doors.acquaintances.known(root, 10) == [
        (READ, "read"),
        (WRITE, ""),
        (LIST, "list"),
    ]


async def test_what_is_used_most_comes_first_and_what_was_only_found_does_not(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    await doors.acquaintances.found(root, [LIST], "list", BEGINNING)

    await doors.acquaintances.used(root, {READ: 1, WRITE: 3}, BEGINNING)
    first = await doors.acquaintances.most_used(root, 10)
    await doors.acquaintances.used(root, {READ: 4}, BEGINNING)
    await doors.acquaintances.used(root, {}, BEGINNING)

    assert first == [WRITE, READ]
    assert await doors.acquaintances.most_used(root, 10) == [READ, WRITE]
    assert await doors.acquaintances.most_used(root, 1) == [READ]


async def test_a_use_counts_half_after_a_week(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.acquaintances.used(root, {READ: 10}, BEGINNING)

    await doors.acquaintances.used(root, {WRITE: 4}, BEGINNING + 7 * DAY)
    after_a_week = await doors.acquaintances.most_used(root, 10)
    await doors.acquaintances.used(root, {LIST: 3}, BEGINNING + 14 * DAY)
    after_two = await doors.acquaintances.most_used(root, 10)
    await doors.acquaintances.used(root, {READ: 1}, BEGINNING + 14 * DAY)

    assert after_a_week == [READ, WRITE]
    assert after_two == [LIST, READ, WRITE]
    assert await doors.acquaintances.most_used(root, 10) == [READ, LIST, WRITE]


async def test_a_clock_that_was_put_back_makes_nothing_count_for_more(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.acquaintances.used(root, {READ: 1, WRITE: 3}, BEGINNING + 70 * DAY)

    await doors.acquaintances.used(root, {READ: 1}, BEGINNING)

    assert await doors.acquaintances.most_used(root, 10) == [WRITE, READ]


async def test_of_uses_that_are_told_at_once_none_is_lost(doors: Doors) -> None:
    root = await doors.founded("home")

    async with asyncio.TaskGroup() as group:
        for order in ([READ, WRITE, LIST], [LIST, WRITE, READ]) * 5:
            times = dict.fromkeys(order, 1)
            group.create_task(doors.acquaintances.used(root, times, BEGINNING))
            group.create_task(doors.acquaintances.found(root, order, "q", BEGINNING))
    await doors.acquaintances.used(root, {ToolRef("a", "more"): 11}, BEGINNING)
    await doors.acquaintances.used(root, {ToolRef("a", "less"): 9}, BEGINNING)

    assert await doors.acquaintances.most_used(root, 10) == [
        ToolRef("a", "more"),
        LIST,
        READ,
        WRITE,
        ToolRef("a", "less"),
    ]


async def test_each_knows_only_what_is_theirs(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    stranger = await doors.founded("acme")
    await doors.acquaintances.found(bob, [READ], "q", BEGINNING)
    await doors.acquaintances.used(bob, {READ: 1}, BEGINNING)

    for other in (root, stranger):
        assert await doors.acquaintances.known(other, 10) == []
        assert await doors.acquaintances.most_used(other, 10) == []
    await doors.acquaintances.used(root, {READ: 5}, BEGINNING)
    assert await doors.acquaintances.known(bob, 10) == [(READ, "q")]


async def test_nothing_is_remembered_for_nobody(doors: Doors) -> None:
    root = await doors.founded("home")
    nobody = a_person("nobody", space=await doors.spaces.get(root))

    with pytest.raises(REFUSED):
        await doors.acquaintances.found(nobody, [READ], "q", BEGINNING)
    with pytest.raises(REFUSED):
        await doors.acquaintances.used(nobody, {READ: 1}, BEGINNING)
