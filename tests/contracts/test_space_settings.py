"""What the guard may rely on of `SpaceSettings`."""

import asyncio

import pytest

from portico.kernel.json import JsonValue
from portico.testing.guard import a_person, a_space
from tests.contracts.doors import REFUSED, Doors


async def test_what_was_never_decided_is_none(doors: Doors) -> None:
    root = await doors.founded("home")

    assert await doors.settings.get(root, "theme") is None


@pytest.mark.parametrize(
    "value",
    [True, 0, -1.5, "", "é 😀", [], [1, [2]], {}, {"b": None, "a": {"c": [False]}}, 2**53 + 1],
)
async def test_a_value_comes_back_as_it_was_put_in(doors: Doors, value: JsonValue) -> None:
    root = await doors.founded("home")

    await doors.settings.put(root, "theme", value)

    found = await doors.settings.get(root, "theme")
    assert (found, type(found)) == (value, type(value))


async def test_the_last_decision_counts(doors: Doors) -> None:
    root = await doors.founded("home")

    await doors.settings.put(root, "theme", "dark")
    await doors.settings.put(root, "theme", "light")
    await doors.settings.put(root, "other", 1)

    assert await doors.settings.get(root, "theme") == "light"


async def test_a_value_that_is_changed_afterwards_is_not_changed_in_the_store(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    mine = ["a"]
    await doors.settings.put(root, "list", mine)

    mine.append("b")

    assert await doors.settings.get(root, "list") == ["a"]


@pytest.mark.requirement("guard:spaces:walls")
async def test_each_space_decides_for_itself(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.settings.put(home, "theme", "dark")

    unseen = await doors.settings.get(acme, "theme")
    await doors.settings.put(acme, "theme", "light")

    assert unseen is None
    assert await doors.settings.get(home, "theme") == "dark"
    assert await doors.settings.get(acme, "theme") == "light"


async def test_a_space_that_does_not_exist_decides_nothing(doors: Doors) -> None:
    stranger = a_person("stranger", space=a_space("nowhere"))

    with pytest.raises(REFUSED):
        await doors.settings.put(stranger, "theme", "dark")


async def test_who_changes_it_is_told_what_it_was(doors: Doors) -> None:
    root = await doors.founded("home")

    async with doors.settings.changing(root, "theme") as before:
        await doors.settings.put(root, "theme", "dark")
    async with doors.settings.changing(root, "theme") as after:
        pass

    assert (before, after) == (None, "dark")
    assert await doors.settings.get(root, "theme") == "dark"


async def test_of_two_who_change_it_at_once_neither_overwrites_the_other(doors: Doors) -> None:
    root = await doors.founded("home")

    async def add(word: str) -> None:
        async with doors.settings.changing(root, "list") as before:
            found = before if isinstance(before, list) else []
            await asyncio.sleep(0)
            await doors.settings.put(root, "list", [*found, word])

    async with asyncio.TaskGroup() as both:
        both.create_task(add("a"))
        both.create_task(add("b"))

    found = await doors.settings.get(root, "list")
    assert isinstance(found, list)
    assert sorted(map(str, found)) == ["a", "b"]


async def test_a_change_that_fails_changes_nothing(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.settings.put(root, "theme", "dark")

    with pytest.raises(LookupError):
        async with doors.settings.changing(root, "theme"):
            await doors.settings.put(root, "theme", "light")
            raise LookupError

    assert await doors.settings.get(root, "theme") == "dark"
