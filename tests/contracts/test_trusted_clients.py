"""What the guard may rely on of `TrustedClients`."""

import pytest

from tests.contracts.doors import REFUSED, Doors


async def test_nobody_speaks_through_a_key_until_somebody_says_so(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    key = await doors.key_of(root, bob)

    before = await doors.trusted.person(root, key.id)
    await doors.trusted.trust(root, key.id, root.id)
    trusted = await doors.trusted.person(root, key.id)
    await doors.trusted.trust(root, key.id, None)

    assert (before, trusted) == (None, root.id)
    assert await doors.trusted.person(root, key.id) is None


async def test_a_key_that_is_not_there_is_nobodys(doors: Doors) -> None:
    root = await doors.founded("home")

    await doors.trusted.trust(root, "nothing", root.id)

    assert await doors.trusted.person(root, "nothing") is None


@pytest.mark.requirement("guard:spaces:walls")
async def test_another_space_neither_sees_nor_changes_it(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    key = await doors.key_of(home, await doors.joined(home, "bob"))
    await doors.trusted.trust(home, key.id, home.id)

    await doors.trusted.trust(acme, key.id, None)

    assert await doors.trusted.person(acme, key.id) is None
    assert await doors.trusted.person(home, key.id) == home.id


async def test_nobody_from_elsewhere_is_trusted(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    key = await doors.key_of(home, await doors.joined(home, "bob"))

    with pytest.raises(REFUSED):
        await doors.trusted.trust(home, key.id, acme.id)
