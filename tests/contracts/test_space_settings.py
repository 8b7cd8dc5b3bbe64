"""What the guard may rely on of `SpaceSettings`."""

import asyncio

import pytest

from portico.guard.ports import SpaceSettings
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space
from tests.contracts.doors import REFUSED, Doors

VALUES: list[JsonValue] = [True, 0, -1.5, "", "é 😀", [], [1, [2]], {}, 2**53 + 1]
VALUES.append({"b": None, "a": {"c": [False]}})


@pytest.fixture
def settings(doors: Doors) -> SpaceSettings:
    return doors.settings


async def test_a_value_comes_back_as_it_was_put_in_last(
    settings: SpaceSettings, root: Principal
) -> None:
    assert await settings.get(root, "theme") is None
    for value in VALUES:
        await settings.put(root, "theme", value)
        await settings.put(root, "other", 1)

        found = await settings.get(root, "theme")
        assert (found, type(found)) == (value, type(value))

    mine = ["a"]
    await settings.put(root, "list", mine)
    mine.append("b")
    assert await settings.get(root, "list") == ["a"]


@pytest.mark.requirement("guard:spaces:walls")
async def test_each_space_decides_for_itself(doors: Doors, root: Principal) -> None:
    settings, acme = doors.settings, await doors.founded("acme")
    await settings.put(root, "theme", "dark")
    assert await settings.get(acme, "theme") is None
    await settings.put(acme, "theme", "light")

    assert await settings.get(root, "theme") == "dark"
    assert await settings.get(acme, "theme") == "light"
    with pytest.raises(REFUSED):
        await settings.put(a_person("stranger", space=a_space("nowhere")), "theme", "dark")


async def test_who_changes_it_is_told_what_it_was_and_a_change_that_fails_changes_nothing(
    settings: SpaceSettings, root: Principal
) -> None:
    async with settings.changing(root, "theme") as before:
        await settings.put(root, "theme", "dark")
    with pytest.raises(LookupError):
        async with settings.changing(root, "theme") as after:
            await settings.put(root, "theme", "light")
            raise LookupError

    assert (before, after) == (None, "dark")
    assert await settings.get(root, "theme") == "dark"


async def test_of_two_who_change_it_at_once_neither_overwrites_the_other(
    settings: SpaceSettings, root: Principal
) -> None:
    async def add(word: str) -> None:
        async with settings.changing(root, "list") as before:
            found = before if isinstance(before, list) else []
            await asyncio.sleep(0)
            await settings.put(root, "list", [*found, word])

    async with asyncio.TaskGroup() as both:
        both.create_task(add("a"))
        both.create_task(add("b"))

    found = await settings.get(root, "list")
    assert isinstance(found, list)
    assert sorted(map(str, found)) == ["a", "b"]
