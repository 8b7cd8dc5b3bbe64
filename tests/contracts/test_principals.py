"""What the guard may rely on of `Principals`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NameTaken, PrincipalNotFound
from portico.guard.core.identity import Identity
from portico.guard.core.roles import Role, Scope
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import a_space, an_identity
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(days=1)
FINANCE = Label(Level.CONFIDENTIAL, frozenset({"finance"}))


async def everybody(doors: Doors, caller: Principal) -> list[Identity]:
    return [*await doors.principals.page(caller, after=None, limit=100)]


async def test_an_identity_comes_back_as_it_was_put_in(doors: Doors) -> None:
    root = await doors.founded("home")
    scout = replace(
        an_identity("scout, é 😀", kind=PrincipalKind.AGENT),
        roles=frozenset({Role.OPERATOR, Role.VIEWER}),
        grants=frozenset({Scope.SPACES_CREATE}),
        clearance=FINANCE,
        tools=("git.*", "mail.send"),
        disabled_at=LATER,
    )

    await doors.principals.add(root, scout)

    assert await doors.principals.get(root, scout.id) == scout


async def test_whoever_is_not_there_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(root, an_identity("nobody").id)
    with pytest.raises(PrincipalNotFound):
        await doors.principals.save(root, an_identity("nobody"))


async def test_a_name_is_given_once_in_a_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.joined(root, "bob")
    namesake = replace(an_identity("another"), name="bob")

    with pytest.raises(NameTaken, match="'bob'"):
        await doors.principals.add(root, namesake)

    assert len(await everybody(doors, root)) == 2


async def test_of_two_who_take_a_name_at_once_one_gets_it(doors: Doors) -> None:
    root = await doors.founded("home")
    namesakes = [replace(an_identity(seed), name="bob") for seed in ("one", "other")]

    results = await asyncio.gather(
        *(doors.principals.add(root, each) for each in namesakes), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["NameTaken", "NoneType"]


async def test_the_same_name_may_be_given_in_another_space(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")

    one, other = await doors.joined(home, "bob"), await doors.joined(acme, "bob")

    assert (one.name, one.space) != (other.name, other.space)


async def test_what_may_change_is_saved_and_the_rest_stays(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    changed = replace(
        bob,
        roles=frozenset({Role.OPERATOR}),
        clearance=FINANCE,
        tools=("git.*",),
        disabled_at=LATER,
    )

    await doors.principals.save(
        root, replace(changed, name="eve", grants=frozenset({Scope.SPACES_CREATE}))
    )

    assert await doors.principals.get(root, bob.id) == changed
    await doors.principals.save(root, replace(changed, disabled_at=None))
    assert (await doors.principals.get(root, bob.id)).disabled_at is None


async def test_a_name_is_changed_to_one_that_is_free(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = await doors.joined(root, "bob")
    eve = await doors.joined(root, "eve")

    with pytest.raises(NameTaken):
        await doors.principals.rename(root, bob.id, "eve")
    await doors.principals.rename(root, eve.id, "eva")
    await doors.principals.rename(root, bob.id, "eve")

    assert (await doors.principals.get(root, bob.id)).name == "eve"
    assert (await doors.principals.get(root, eve.id)).name == "eva"
    with pytest.raises(PrincipalNotFound):
        await doors.principals.rename(root, PrincipalId.mint(LATER, SeededEntropy("who")), "x")


async def test_everybody_is_paged_in_order_of_arrival(doors: Doors) -> None:
    root = await doors.founded("home")
    entropy = SeededEntropy("arrivals")
    arrived = [
        replace(an_identity(f"p{n}"), id=PrincipalId.mint(LATER + timedelta(seconds=n), entropy))
        for n in range(5)
    ]
    for identity in reversed(arrived):
        await doors.principals.add(root, identity)

    seen: list[PrincipalId] = []
    after = None
    while page := await doors.principals.page(root, after=after, limit=2):
        assert len(page) <= 2
        after = page[-1].id
        seen += [identity.id for identity in page]

    assert seen == [root.id, *(identity.id for identity in arrived)]


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_people_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    theirs = await doors.joined(acme, "bob")
    tampered = replace(theirs, roles=frozenset({Role.ADMIN}))

    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(home, theirs.id)
    with pytest.raises(PrincipalNotFound):
        await doors.principals.save(home, tampered)
    with pytest.raises(PrincipalNotFound):
        await doors.principals.save(home, replace(tampered, space=home.space))

    assert {each.space for each in await everybody(doors, home)} == {home.space}
    assert await doors.principals.get(acme, theirs.id) == theirs


@pytest.mark.requirement("guard:spaces:walls")
async def test_nobody_is_put_into_another_space(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    space = await doors.spaces.get(acme)

    with pytest.raises(REFUSED):
        await doors.principals.add(home, an_identity("spy", space=space))

    assert len(await everybody(doors, acme)) == 1


async def test_nobody_is_in_a_space_that_does_not_exist(doors: Doors) -> None:
    stranger = an_identity("stranger", space=a_space("nowhere"))

    with pytest.raises(REFUSED):
        await doors.principals.add(as_principal(stranger), stranger)


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_cursor_from_another_space_shows_nothing_of_it(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    theirs = await doors.joined(acme, "bob")

    page = await doors.principals.page(home, after=theirs.id, limit=10)

    assert all(identity.space == home.space for identity in page)
