"""Whom somebody means who names people."""

import pytest

from portico.bridge.name_people import NamePeople
from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NotPermitted, PrincipalNotFound
from portico.guard.core.roles import Role
from portico.testing.bridge_talk import MemoryPeople
from portico.testing.guard import a_space, an_identity
from portico.testing.world import MemoryWorld

SPACE = a_space()
ANA = an_identity("ana", space=SPACE)
BOB = an_identity("bob", space=SPACE)


def people() -> NamePeople:
    world = MemoryWorld()
    for identity in (ANA, BOB):
        world.identities[SPACE.id, identity.id] = identity
    return NamePeople(people=MemoryPeople(world))


async def test_names_are_those_of_people_in_the_order_in_which_they_are_given() -> None:
    assert await people()(as_principal(ANA), ["bob", "@ana", "bob"]) == (BOB.id, ANA.id)
    assert await people()(as_principal(ANA), []) == ()


async def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(PrincipalNotFound, match="eve"):
        await people()(as_principal(ANA), ["ana", "@eve"])


async def test_whoever_may_not_write_learns_nothing_of_names() -> None:
    viewer = an_identity("vic", roles=[Role.VIEWER], space=SPACE)

    with pytest.raises(NotPermitted):
        await people()(as_principal(viewer), ["ana"])
