"""The stories of who there is in a space, and who changes what they may do."""

from dataclasses import replace

import pytest

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import (
    NameTaken,
    NotAuthenticated,
    NotPermitted,
    Overreach,
    OwnAccess,
    PrincipalNotFound,
)
from portico.guard.core.roles import Role, Scope
from portico.guard.issue_key import KeyWish
from portico.guard.manage_principals import PrincipalChange, PrincipalWish
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import TEAM, a_person, a_space, an_identity
from tests.guard.room import Room

SECRET = Label(Level.RESTRICTED)
SCOUT = PrincipalWish(kind=PrincipalKind.AGENT, name="scout", clearance=TEAM)


async def test_an_admin_adds_an_agent_as_a_member() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)

    scout = await room.add_principal(admin, SCOUT)

    assert scout.kind is PrincipalKind.AGENT
    assert scout.roles == {Role.MEMBER}
    assert not scout.grants
    assert await room.show_principal(admin, scout.id) == scout


async def test_a_name_is_given_once_in_a_space() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    await room.add_principal(admin, SCOUT)

    with pytest.raises(NameTaken):
        await room.add_principal(admin, SCOUT)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER, Role.OPERATOR])
async def test_nobody_but_an_admin_adds_or_changes_anybody(role: Role) -> None:
    room = Room()
    bob = room.person("bob")
    caller = room.person("ana", role)

    with pytest.raises(NotPermitted, match="principals:write"):
        await room.add_principal(caller, SCOUT)
    with pytest.raises(NotPermitted, match="principals:write"):
        await room.change_principal(caller, bob.id, PrincipalChange(disabled=True))


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_admin_adds_nobody_above_themselves() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, TEAM)

    with pytest.raises(Overreach, match="restricted"):
        await room.add_principal(admin, replace(SCOUT, clearance=SECRET))


async def test_everybody_is_listed_page_after_page_in_order_of_arrival() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    added = [
        await room.add_principal(admin, replace(SCOUT, name=f"scout {number}"))
        for number in range(4)
    ]

    first = await room.list_principals(admin, after=None, limit=3)
    rest = await room.list_principals(admin, after=first[-1].id, limit=3)

    assert [each.id for each in (*first, *rest)] == [admin.id, *(each.id for each in added)]


async def test_an_agent_is_known_to_those_who_are_cleared_for_it() -> None:
    room = Room()
    root, bob = room.person("root", Role.ADMIN, SECRET), room.person("bob")
    boss = room.person("boss", Role.OPERATOR, SECRET)
    hidden = [
        await room.add_principal(root, replace(SCOUT, name=f"hidden {number}", clearance=SECRET))
        for number in range(3)
    ]
    scout = await room.add_principal(root, SCOUT)
    last = await room.add_principal(root, replace(SCOUT, name="last"))

    first = await room.list_principals(bob, after=None, limit=3)
    second = await room.list_principals(bob, after=first[-1].id, limit=1)
    rest = await room.list_principals(bob, after=second[-1].id, limit=3)

    assert {each.id for each in first} == {root.id, bob.id, boss.id}
    assert [each.id for each in (*second, *rest)] == [scout.id, last.id]
    with pytest.raises(PrincipalNotFound):
        await room.show_principal(bob, hidden[0].id)
    assert (await room.show_principal(as_principal(hidden[0]), hidden[0].id)) == hidden[0]
    assert await room.show_principal(boss, hidden[0].id) == hidden[0]
    assert {each.id for each in hidden} <= {
        each.id for each in await room.list_principals(boss, after=None, limit=10)
    }


async def test_a_viewer_sees_themselves_and_nobody_else() -> None:
    room = Room()
    viewer, bob = room.person("ana", Role.VIEWER), room.person("bob")

    assert (await room.show_principal(viewer, viewer.id)).name == "ana"
    with pytest.raises(NotPermitted):
        await room.show_principal(viewer, bob.id)
    with pytest.raises(NotPermitted):
        await room.list_principals(viewer, after=None, limit=10)


async def test_an_admin_changes_roles_and_clearance_and_the_rest_stays() -> None:
    room = Room()
    admin, bob = room.person("root", Role.ADMIN, SECRET), room.person("bob")

    role = PrincipalChange(roles=frozenset({Role.OPERATOR}))
    promoted = await room.change_principal(admin, bob.id, role)
    cleared = await room.change_principal(admin, bob.id, PrincipalChange(clearance=SECRET))

    assert promoted.roles == cleared.roles == {Role.OPERATOR}
    assert (promoted.clearance, cleared.clearance) == (TEAM, SECRET)
    assert await room.show_principal(admin, bob.id) == cleared


@pytest.mark.requirement("guard:principals:disable")
async def test_whoever_is_disabled_is_out_at_once_and_back_when_enabled() -> None:
    room = Room()
    admin, bob = room.person("root", Role.ADMIN), room.person("bob")
    key = (await room.issue_key(bob, KeyWish(name="bob's"))).key

    disabled = await room.change_principal(admin, bob.id, PrincipalChange(disabled=True))
    again = await room.change_principal(admin, bob.id, PrincipalChange(disabled=True))

    assert disabled.disabled_at == again.disabled_at is not None
    with pytest.raises(NotAuthenticated):
        await room.enters(key)
    enabled = await room.change_principal(admin, bob.id, PrincipalChange(disabled=False))
    assert enabled.disabled_at is None
    assert (await room.enters(key)).id == bob.id


@pytest.mark.parametrize(
    "change",
    [
        PrincipalChange(disabled=True),
        PrincipalChange(roles=frozenset({Role.VIEWER})),
        PrincipalChange(clearance=PUBLIC),
        PrincipalChange(),
    ],
)
async def test_nobody_changes_their_own_access(change: PrincipalChange) -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, SECRET)

    with pytest.raises(OwnAccess):
        await room.change_principal(admin, admin.id, change)


@pytest.mark.parametrize(
    "change",
    [
        PrincipalChange(clearance=SECRET),
        PrincipalChange(roles=frozenset({Role.VIEWER})),
        PrincipalChange(clearance=PUBLIC),
        PrincipalChange(disabled=True),
    ],
    ids=["raise", "demote", "lower", "disable"],
)
@pytest.mark.requirement("guard:principals:no-escalation")
async def test_whoever_stands_above_the_caller_is_not_changed_by_them(
    change: PrincipalChange,
) -> None:
    room = Room()
    low = room.person("low admin", Role.ADMIN, TEAM)
    high = room.person("high", Role.ADMIN, SECRET)
    before = await room.show_principal(low, high.id)

    with pytest.raises(Overreach):
        await room.change_principal(low, high.id, change)

    assert await room.show_principal(low, high.id) == before


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_the_one_who_may_found_spaces_is_not_changed_by_an_admin_who_may_not() -> None:
    room = Room()
    first = an_identity("first", roles=[Role.ADMIN], grants=[Scope.SPACES_CREATE])
    room.holds(first)

    with pytest.raises(Overreach, match="spaces:create"):
        await room.change_principal(
            room.person("second", Role.ADMIN), first.id, PrincipalChange(disabled=True)
        )


async def test_whoever_is_in_another_space_does_not_exist() -> None:
    room = Room()
    elsewhere = a_space("elsewhere")
    stranger = a_person("stranger", space=elsewhere)
    room.holds(an_identity("stranger", space=elsewhere), space=elsewhere)
    admin = room.person("root", Role.ADMIN, SECRET)

    with pytest.raises(PrincipalNotFound) as caught:
        await room.show_principal(admin, stranger.id)
    with pytest.raises(PrincipalNotFound):
        await room.change_principal(admin, stranger.id, PrincipalChange(disabled=True))

    assert caught.value.who == str(stranger.id)
    assert [each.name for each in await room.list_principals(admin, after=None, limit=9)] == [
        "root"
    ]
