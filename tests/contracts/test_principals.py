"""What the guard may rely on of `Principals`, and of `UnitOfWork`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import NameTaken, PrincipalNotFound
from portico.guard.core.principals import Identity, Role, Scope
from portico.guard.ports import Principals
from portico.guard.principals import ChangePrincipal, PrincipalChange
from portico.kernel.ids import PrincipalId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(days=1)


@pytest.fixture
def principals(doors: Doors) -> Principals:
    return doors.principals


async def everybody(principals: Principals, caller: Principal) -> list[Identity]:
    return [*await principals.page(caller, after=None, limit=100)]


async def test_an_identity_comes_back_as_it_was_put_in(
    principals: Principals, root: Principal
) -> None:
    scout = replace(
        an_identity("scout, é 😀", kind=PrincipalKind.AGENT),
        roles=frozenset({Role.OPERATOR, Role.VIEWER}),
        grants=frozenset({Scope.SPACES_CREATE}),
        clearance=FINANCE,
        tools=("git.*", "mail.send"),
        disabled_at=LATER,
    )

    await principals.add(root, scout)

    assert await principals.get(root, scout.id) == scout
    with pytest.raises(PrincipalNotFound):
        await principals.get(root, an_identity("nobody").id)
    with pytest.raises(PrincipalNotFound):
        await principals.save(root, an_identity("nobody"))


async def test_a_name_is_given_once_in_a_space_also_to_two_who_take_it_at_once(
    doors: Doors, root: Principal
) -> None:
    acme = await doors.founded("acme")
    namesakes = [replace(an_identity(seed), name="bob") for seed in ("one", "other")]

    results = await asyncio.gather(
        *(doors.principals.add(root, each) for each in namesakes), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["NameTaken", "NoneType"]
    with pytest.raises(NameTaken, match="'bob'"):
        await doors.principals.add(root, replace(an_identity("another"), name="bob"))
    assert len(await everybody(doors.principals, root)) == 2
    assert (await doors.joined(acme, "bob")).space == acme.space


async def test_what_may_change_is_saved_and_the_rest_stays(doors: Doors, root: Principal) -> None:
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


async def test_a_name_is_changed_to_one_that_is_free(doors: Doors, root: Principal) -> None:
    bob, eve = await doors.joined(root, "bob"), await doors.joined(root, "eve")

    with pytest.raises(NameTaken):
        await doors.principals.rename(root, bob.id, "eve")
    await doors.principals.rename(root, eve.id, "eva")
    await doors.principals.rename(root, bob.id, "eve")

    assert (await doors.principals.get(root, bob.id)).name == "eve"
    assert (await doors.principals.get(root, eve.id)).name == "eva"
    with pytest.raises(PrincipalNotFound):
        await doors.principals.rename(root, PrincipalId.mint(LATER, SeededEntropy("who")), "x")


async def test_everybody_is_paged_in_order_of_arrival(
    principals: Principals, root: Principal
) -> None:
    entropy = SeededEntropy("arrivals")
    arrived = [
        replace(an_identity(f"p{n}"), id=PrincipalId.mint(LATER + timedelta(seconds=n), entropy))
        for n in range(5)
    ]
    for identity in reversed(arrived):
        await principals.add(root, identity)

    seen: list[PrincipalId] = []
    after = None
    while page := await principals.page(root, after=after, limit=2):
        assert len(page) <= 2
        after = page[-1].id
        seen += [identity.id for identity in page]

    assert seen == [root.id, *(identity.id for identity in arrived)]


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_people_of_another_space_do_not_exist_and_nobody_is_put_there(
    doors: Doors, root: Principal
) -> None:
    principals, acme = doors.principals, await doors.founded("acme")
    theirs = await doors.joined(acme, "bob")
    tampered = replace(theirs, roles=frozenset({Role.ADMIN}))
    spy = an_identity("spy", space=await doors.spaces.get(acme))
    stranger = an_identity("stranger", space=a_space("nowhere"))

    for refused in (
        principals.get(root, theirs.id),
        principals.save(root, tampered),
        principals.save(root, replace(tampered, space=root.space)),
    ):
        with pytest.raises(PrincipalNotFound):
            await refused
    for caller, identity in ((root, spy), (as_principal(stranger), stranger)):
        with pytest.raises(REFUSED):
            await principals.add(caller, identity)

    assert {each.space for each in await everybody(principals, root)} == {root.space}
    behind = await principals.page(root, after=theirs.id, limit=10)
    assert all(identity.space == root.space for identity in behind)
    assert await principals.get(acme, theirs.id) == theirs
    assert len(await everybody(principals, acme)) == 2


async def test_those_who_are_there_are_found_by_their_names(doors: Doors, root: Principal) -> None:
    """But for an agent that may read more than whoever asks: that is known to itself alone."""
    acme = await doors.founded("acme")
    ann, bob = await doors.joined(root, "ann"), await doors.joined(root, "bob")
    spy = replace(an_identity("spy"), kind=PrincipalKind.AGENT, clearance=FINANCE)
    await doors.principals.add(root, spy)
    high, low = replace(root, clearance=SECRET), replace(root, clearance=TEAM)
    itself = replace(root, id=spy.id, clearance=PUBLIC)

    asked = ["ann", "bob", "nobody", "Ann", "", "a\0nn"]
    assert await doors.people.named(high, asked) == {"ann": ann.id, "bob": bob.id}
    assert await doors.people.named(high, []) == {}
    assert await doors.people.named(acme, ["ann"]) == {}
    assert await doors.people.named(high, ["spy"]) == {"spy": spy.id}
    assert await doors.people.named(low, ["spy", "root"]) == {"root": root.id}
    assert await doors.people.named(itself, ["spy"]) == {"spy": spy.id}


async def test_what_is_written_together_is_there_together_or_not_at_all(
    doors: Doors, root: Principal
) -> None:
    async with doors.together(root):
        kept = [await doors.joined(root, name) for name in ("bob", "cat")]
    with pytest.raises(RuntimeError):
        async with doors.together(root):
            lost = await doors.joined(root, "eve")
            raise RuntimeError

    for each in kept:
        assert await doors.principals.get(root, each.id) == each
    with pytest.raises(PrincipalNotFound):
        await doors.principals.get(root, lost.id)


@pytest.mark.requirement("guard:principals:disable")
async def test_of_two_changes_at_once_neither_undoes_the_other(
    doors: Doors, root: Principal
) -> None:
    bob = await doors.joined(root, "bob")
    change = ChangePrincipal(
        principals=doors.principals,
        keys=doors.keys,
        unit_of_work=doors.together,
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
