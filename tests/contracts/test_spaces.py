"""What the guard may rely on of `Spaces`."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from portico.engine.core.receipt import Answer, Claim
from portico.guard.core.api_key import ApiKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import KeyNotFound, PrincipalNotFound, SpaceNotFound
from portico.guard.core.space import ExportedRow
from portico.kernel.principal import Principal
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.kernel import SeededEntropy
from tests.contracts.doors import PEPPER, REFUSED, Doors, a_key

Result = TypeVar("Result")

CLAIM = Claim.of("op", "k1", {})


async def elsewhere(asked: Coroutine[Any, Any, Result]) -> Result:
    """As another request would ask, which knows nothing of this one."""
    return await asyncio.create_task(asked, context=Context())


async def exported(doors: Doors, caller: Principal) -> list[ExportedRow]:
    return [row async for row in doors.spaces.export(caller)]


async def filled(doors: Doors, name: str) -> Principal:
    """A space with a row in every table."""
    root = await doors.founded(name)
    await doors.key_of(root, await doors.joined(root, "bob"))
    await doors.settings.put(root, "theme", {"of": name})

    async def action() -> Answer:
        return Answer({"of": name}, shown_once={"key": "shown once"})

    await doors.receipts.once(root, CLAIM, action)
    return root


@pytest.mark.requirement("guard:spaces:found")
async def test_a_space_is_born_with_its_first_principal_and_key(doors: Doors) -> None:
    root = await doors.founded("home")

    [first] = await doors.principals.page(root, after=None, limit=10)
    [key] = await doors.keys.page(root, of=None, after=None, limit=10)

    assert await doors.spaces.get(root) == a_space("home")
    assert (first.name, key.principal) == ("root", first.id)


@pytest.mark.requirement("guard:spaces:found")
async def test_a_space_is_born_whole_or_not_at_all(doors: Doors) -> None:
    home = await doors.founded("home")
    [taken] = await doors.keys.page(home, of=None, after=None, limit=1)
    space = a_space("acme")
    admin = an_identity("root", space=space)
    key = replace(a_key(admin, ApiKey.mint(SeededEntropy("x"))), id=taken.id)

    with pytest.raises(REFUSED):
        await doors.spaces.found(space, admin, key, b"x" * 32)

    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(as_principal(admin))
    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(as_principal(admin), admin.id)


@pytest.mark.requirement("guard:spaces:found")
async def test_nobody_founds_a_space_with_a_foot_in_another(doors: Doors) -> None:
    home = await doors.founded("home")
    space, minted = a_space("acme"), ApiKey.mint(SeededEntropy("x"))
    outsider, insider = an_identity("eve"), an_identity("eve", space=space)

    with pytest.raises(REFUSED):
        await doors.spaces.found(space, outsider, a_key(outsider, minted), b"x" * 32)
    with pytest.raises(REFUSED):
        await doors.spaces.found(space, insider, a_key(outsider, minted), b"x" * 32)

    assert len(await doors.principals.page(home, after=None, limit=10)) == 1
    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(as_principal(insider))


async def test_a_space_is_founded_once(doors: Doors) -> None:
    await doors.founded("home")
    space, admin = a_space("home"), an_identity("eve")
    key = ApiKey.mint(SeededEntropy("eve's"))

    with pytest.raises(REFUSED):
        await doors.spaces.found(space, admin, a_key(admin, key), key.digest(PEPPER))

    assert await doors.key_ring.find(key.id) is None


async def test_a_space_that_was_never_founded_is_not_found(doors: Doors) -> None:
    stranger = a_person("stranger", space=a_space("nowhere"))

    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(stranger)
    await doors.spaces.rename(stranger, "somewhere")
    await doors.spaces.delete(stranger)
    assert await exported(doors, stranger) == []


async def test_a_space_is_renamed_and_the_other_is_not(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")

    await doors.spaces.rename(home, "house")

    assert await doors.spaces.get(home) == replace(a_space("home"), name="house")
    assert await doors.spaces.get(acme) == a_space("acme")


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_is_deleted_with_everything_in_it_and_the_other_stays(
    doors: Doors,
) -> None:
    home, acme = await filled(doors, "home"), await filled(doors, "acme")
    before = await exported(doors, acme)
    keys = await doors.keys.page(home, of=None, after=None, limit=10)

    await doors.spaces.delete(home)

    with pytest.raises(SpaceNotFound):
        await doors.spaces.get(home)
    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(home, home.id)
    for key in keys:
        assert await doors.key_ring.find(key.id) is None
        with pytest.raises(KeyNotFound):
            await doors.keys.get(home, key.id)
    assert await doors.settings.get(home, "theme") is None
    assert await exported(doors, home) == []
    assert await exported(doors, acme) == before


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_that_is_founded_again_remembers_nothing(doors: Doors) -> None:
    home = await filled(doors, "home")
    await doors.spaces.delete(home)

    again = await doors.founded("home")

    tables = [row.table for row in await exported(doors, again)]
    assert sorted(tables) == ["api_key", "principal", "space"]


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_every_row_of_the_space_and_none_of_another(doors: Doors) -> None:
    home = await filled(doors, "home")
    await filled(doors, "acme")

    rows = await exported(doors, home)

    assert [row.table for row in rows] == [
        *["api_key"] * 2,
        *["principal"] * 2,
        "receipt",
        "setting",
        "space",
    ]
    assert {row.values["space_id"] for row in rows} == {str(home.space.value)}
    by_table = {row.table: row.values for row in rows}
    assert by_table["space"]["name"] == "home"
    assert by_table["setting"]["value"] == {"of": "home"}
    assert by_table["receipt"]["body"] == {"of": "home"}
    assert {row.values["name"] for row in rows if row.table == "principal"} == {"root", "bob"}


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_nothing_that_proves_a_key(doors: Doors) -> None:
    home = await filled(doors, "home")

    rows = await exported(doors, home)

    keys = [row for row in rows if row.table == "api_key"]
    assert len(keys) == 2
    for row in keys:
        found = await doors.key_ring.find(str(row.values["key_id"]))
        assert found is not None
        assert "digest" not in row.values
        assert found.digest.hex() not in repr(row)
    assert "shown once" not in repr(rows)


async def test_an_export_has_of_receipts_only_the_callers_own(doors: Doors) -> None:
    home = await filled(doors, "home")
    bob = as_principal(an_identity("bob"))

    rows = await exported(doors, bob)

    assert "receipt" not in {row.table for row in rows}
    assert {row.values["space_id"] for row in rows} == {str(home.space.value)}


@pytest.mark.parametrize("read", [1, 3])
async def test_an_export_that_is_left_half_read_leaves_nothing_behind(
    doors: Doors, read: int
) -> None:
    """What is written afterwards is written, and not part of what was left."""
    home = await filled(doors, "home")
    rows = doors.spaces.export(home)
    for _ in range(read):
        await anext(rows)
    before = asyncio.all_tasks()
    del rows
    await asyncio.sleep(0)  # the loop is asked to close it, and does so in a task
    closing = asyncio.all_tasks() - before

    await doors.settings.put(home, "theme", "afterwards")

    assert await elsewhere(doors.settings.get(home, "theme")) == "afterwards"
    await asyncio.gather(*closing)


async def test_what_is_written_while_an_export_is_read_is_written(doors: Doors) -> None:
    home = await filled(doors, "home")

    async for _ in doors.spaces.export(home):
        await doors.settings.put(home, "theme", "meanwhile")

        assert await elsewhere(doors.settings.get(home, "theme")) == "meanwhile"


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_is_of_one_moment(doors: Doors) -> None:
    """What is written while its first row is read is in none of its tables."""
    home = await filled(doors, "home")
    rows = doors.spaces.export(home)

    first = await anext(rows)
    await elsewhere(doors.joined(home, "latecomer"))
    await elsewhere(doors.settings.put(home, "theme", "meanwhile"))
    rest = [row async for row in rows]

    assert "latecomer" not in {row.values["name"] for row in rest if row.table == "principal"}
    assert {"of": "home"} in [row.values["value"] for row in rest if row.table == "setting"]
    assert first.table == "api_key"
