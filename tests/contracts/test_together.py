"""Several writes as one: what every `Together` does."""

import asyncio

import pytest

from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.roles import Role
from portico.guard.manage_principals import ChangePrincipal, PrincipalChange
from portico.testing.guard import an_identity
from portico.testing.kernel import TickingClock
from tests.contracts.doors import Doors


async def test_what_is_written_inside_is_there_afterwards(doors: Doors) -> None:
    root = await doors.founded("home")

    async with doors.together(root):
        bob = await doors.joined(root, "bob")
        cat = await doors.joined(root, "cat")

    assert await doors.principals.get(root, bob.id) == bob
    assert await doors.principals.get(root, cat.id) == cat


async def test_of_what_fails_half_way_nothing_is_left(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = an_identity("bob", space=await doors.spaces.get(root))

    with pytest.raises(RuntimeError):
        async with doors.together(root):
            await doors.principals.add(root, bob)
            raise RuntimeError

    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(root, bob.id)


@pytest.mark.requirement("guard:principals:disable")
async def test_of_two_changes_at_once_neither_undoes_the_other(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    change = ChangePrincipal(
        principals=doors.principals,
        keys=doors.keys,
        together=doors.together,
        audit=doors.audit,
        clock=TickingClock(),
    )

    for number in range(10):
        role = [Role.MEMBER, Role.VIEWER][number % 2]
        await change(root, bob.id, PrincipalChange(disabled=False))
        await asyncio.gather(
            change(root, bob.id, PrincipalChange(disabled=True)),
            change(root, bob.id, PrincipalChange(roles=frozenset({role}))),
        )

        after = await doors.principals.get(root, bob.id)
        assert after.disabled_at is not None
        assert after.roles == {role}
