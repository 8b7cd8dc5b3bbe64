"""Who there is in a space, who is invited, and who changes what they may do."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.authentication import as_principal
from portico.guard.core.errors import (
    InvitationUsed,
    NameTaken,
    NotAuthenticated,
    NotPermitted,
    Overreach,
    OwnAccess,
    PrincipalDisabled,
    PrincipalNotFound,
)
from portico.guard.core.keys import ApiKey
from portico.guard.core.principals import Role, Scope
from portico.guard.invitations import INVITATION_LIFETIME
from portico.guard.keys import IssuedKey, KeySpec
from portico.guard.principals import PrincipalChange, PrincipalSpec
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import TEAM, a_person, a_space, an_identity
from tests.guard.room import Room

SECRET = Label(Level.RESTRICTED)
SCOUT = PrincipalSpec(kind=PrincipalKind.AGENT, name="scout", clearance=TEAM)


async def test_an_admin_adds_an_agent_with_a_name_of_its_own(room: Room, admin: Principal) -> None:
    scout = await room.add_principal(admin, SCOUT)

    assert scout.kind is PrincipalKind.AGENT
    assert scout.roles == {Role.MEMBER}
    assert not scout.grants
    assert await room.show_principal(admin, scout.id) == scout
    with pytest.raises(NameTaken):
        await room.add_principal(admin, SCOUT)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER, Role.OPERATOR])
async def test_nobody_but_an_admin_adds_or_changes_anybody(role: Role, room: Room) -> None:
    bob = room.person("bob")
    caller = room.person("ana", role)

    with pytest.raises(NotPermitted, match="principals:write"):
        await room.add_principal(caller, SCOUT)
    with pytest.raises(NotPermitted, match="principals:write"):
        await room.change_principal(caller, bob.id, PrincipalChange(disabled=True))


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_nobody_but_an_admin_adds_anybody_and_never_above_themselves(room: Room) -> None:
    admin = room.person("root", Role.ADMIN, TEAM)

    with pytest.raises(Overreach, match="restricted"):
        await room.add_principal(admin, replace(SCOUT, clearance=SECRET))

    room = Room()
    first = an_identity("first", roles=[Role.ADMIN], grants=[Scope.SPACES_CREATE])
    room.holds(first)

    with pytest.raises(Overreach, match="spaces:create"):
        await room.change_principal(
            room.person("second", Role.ADMIN), first.id, PrincipalChange(disabled=True)
        )


async def test_everybody_is_listed_page_after_page_in_order_of_arrival(room: Room) -> None:
    admin = room.person("root", Role.ADMIN)
    added = [
        await room.add_principal(admin, replace(SCOUT, name=f"scout {number}"))
        for number in range(4)
    ]

    first = await room.list_principals(admin, after=None, limit=3)
    rest = await room.list_principals(admin, after=first[-1].id, limit=3)

    assert [each.id for each in (*first, *rest)] == [admin.id, *(each.id for each in added)]


async def test_an_agent_is_known_to_those_who_are_cleared_for_it(room: Room) -> None:
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


async def test_a_viewer_sees_themselves_and_nobody_else(room: Room) -> None:
    viewer, bob = room.person("ana", Role.VIEWER), room.person("bob")

    assert (await room.show_principal(viewer, viewer.id)).name == "ana"
    with pytest.raises(NotPermitted):
        await room.show_principal(viewer, bob.id)
    with pytest.raises(NotPermitted):
        await room.list_principals(viewer, after=None, limit=10)


async def test_an_admin_changes_roles_and_clearance_and_the_rest_stays(room: Room) -> None:
    admin, bob = room.person("root", Role.ADMIN, SECRET), room.person("bob")

    role = PrincipalChange(roles=frozenset({Role.OPERATOR}))
    promoted = await room.change_principal(admin, bob.id, role)
    cleared = await room.change_principal(admin, bob.id, PrincipalChange(clearance=SECRET))

    assert promoted.roles == cleared.roles == {Role.OPERATOR}
    assert (promoted.clearance, cleared.clearance) == (TEAM, SECRET)
    assert await room.show_principal(admin, bob.id) == cleared


@pytest.mark.requirement("guard:principals:disable")
async def test_whoever_is_disabled_is_out_at_once_and_back_when_enabled(room: Room) -> None:
    admin, bob = room.person("root", Role.ADMIN), room.person("bob")
    key = (await room.issue_key(bob, KeySpec(name="bob's"))).key

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
async def test_nobody_changes_their_own_access(change: PrincipalChange, room: Room) -> None:
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
    room: Room,
) -> None:
    low = room.person("low admin", Role.ADMIN, TEAM)
    high = room.person("high", Role.ADMIN, SECRET)
    before = await room.show_principal(low, high.id)

    with pytest.raises(Overreach):
        await room.change_principal(low, high.id, change)

    assert await room.show_principal(low, high.id) == before


async def test_whoever_is_in_another_space_does_not_exist(room: Room) -> None:
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


BOB = PrincipalSpec(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_an_invited_person_comes_in_once(room: Room, admin: Principal) -> None:
    invitation = await room.invite_person(admin, BOB)

    guest = await room.enters(invitation.key)
    issued = await room.accept_invitation(guest, invitation.key.id)
    bob = await room.enters(issued.key)

    assert (bob.id, bob.name, bob.roles) == (invitation.identity.id, "bob", {Role.MEMBER})
    assert bob.clearance == TEAM
    assert bob.may(Scope.KEYS_OWN)
    with pytest.raises(InvitationUsed):
        await room.enters(invitation.key)
    with pytest.raises(InvitationUsed):
        await room.accept_invitation(guest, invitation.key.id)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_of_two_who_come_with_the_same_link_one_gets_in(room: Room) -> None:
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)
    guest = await room.enters(invitation.key)

    results = await asyncio.gather(
        *(room.accept_invitation(guest, invitation.key.id) for _ in range(2)),
        return_exceptions=True,
    )

    assert {type(result) for result in results} == {IssuedKey, InvitationUsed}


@pytest.mark.requirement("guard:invitations:single-use")
async def test_an_invitation_ends_after_a_week(room: Room, admin: Principal) -> None:
    invitation = await room.invite_person(admin, BOB)

    room.clock.turn(INVITATION_LIFETIME)

    assert timedelta(days=7) == INVITATION_LIFETIME
    with pytest.raises(InvitationUsed, match="more than a week old"):
        await room.enters(invitation.key)
    with pytest.raises(NotAuthenticated):
        await room.enters(ApiKey(invitation.key.id, "x" * 43))


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_person_whose_link_was_lost_is_invited_again(room: Room, admin: Principal) -> None:
    lost = await room.invite_person(admin, BOB)

    again = await room.invite_again(admin, lost.identity.id)
    issued = await room.accept_invitation(await room.enters(again.key), again.key.id)

    assert again.identity == lost.identity
    assert again.key != lost.key
    assert (await room.enters(issued.key)).id == lost.identity.id


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_only_a_person_who_may_come_in_is_invited_again(room: Room) -> None:
    admin, high = room.person("low", Role.ADMIN, TEAM), Label(Level.RESTRICTED)
    above, bob = room.person("high", Role.ADMIN, high), room.person("bob")
    robot = await room.add_principal(admin, replace(BOB, kind=PrincipalKind.AGENT, name="robot"))
    await room.change_principal(admin, bob.id, PrincipalChange(disabled=True))

    with pytest.raises(Overreach):
        await room.invite_again(admin, above.id)
    with pytest.raises(PrincipalDisabled):
        await room.invite_again(admin, bob.id)
    for nobody in (an_identity("nobody").id, robot.id):
        with pytest.raises(PrincipalNotFound):
            await room.invite_again(admin, nobody)
    with pytest.raises(NotPermitted):
        await room.invite_again(room.person("ana", Role.OPERATOR), bob.id)

    assert not room.world.keys


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_guest_may_do_nothing_else(room: Room) -> None:
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)
    guest = await room.enters(invitation.key)

    for ask in (
        room.list_keys(guest, after=None, limit=1),
        room.list_principals(guest, after=None, limit=1),
        room.show_space(guest),
        room.add_principal(guest, BOB),
    ):
        with pytest.raises(NotPermitted):
            await ask


async def test_only_an_admin_invites_and_nobody_above_themselves_or_under_a_name_that_is_taken(
    room: Room, admin: Principal
) -> None:
    admin = room.person("root", Role.ADMIN, TEAM)

    with pytest.raises(NotPermitted, match="principals:write"):
        await room.invite_person(room.person("ana", Role.OPERATOR), BOB)
    with pytest.raises(Overreach, match="restricted"):
        await room.invite_person(admin, replace(BOB, clearance=Label(Level.RESTRICTED)))
    with pytest.raises(NotPermitted, match="invitation:accept"):
        await room.accept_invitation(admin, "x" * 12)

    assert not room.world.keys

    room.person("bob")

    with pytest.raises(NameTaken, match="'bob'") as caught:
        await room.invite_person(admin, BOB)

    assert caught.value.name == "bob"
    assert not room.world.keys


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_new_link_ends_the_one_that_was_lost(room: Room, admin: Principal) -> None:
    lost = await room.invite_person(admin, BOB)

    again = await room.invite_again(admin, lost.identity.id)

    with pytest.raises(InvitationUsed):
        await room.enters(lost.key)
    for disabled in (True, False):
        await room.change_principal(admin, lost.identity.id, PrincipalChange(disabled=disabled))
        with pytest.raises(InvitationUsed):
            await room.enters(again.key)
