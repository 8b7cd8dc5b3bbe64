"""The story of an invitation: a link that works once."""

import asyncio
from datetime import timedelta

import pytest

from portico.guard.core.api_key import ApiKey
from portico.guard.core.errors import (
    InvitationUsed,
    NameTaken,
    NotAuthenticated,
    NotPermitted,
    Overreach,
    PrincipalDisabled,
    PrincipalNotFound,
)
from portico.guard.core.roles import Role, Scope
from portico.guard.invite import INVITATION_LIFETIME
from portico.guard.issue_key import IssuedKey
from portico.guard.manage_principals import PrincipalChange, PrincipalWish
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import TEAM, an_identity
from tests.guard.room import Room

BOB = PrincipalWish(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_an_invited_person_comes_in_with_a_key_of_their_own() -> None:
    room = Room()
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)

    guest = await room.enters(invitation.key)
    issued = await room.accept_invitation(guest, invitation.key.id)
    bob = await room.enters(issued.key)

    assert (bob.id, bob.name, bob.roles) == (invitation.identity.id, "bob", {Role.MEMBER})
    assert bob.clearance == TEAM
    assert bob.may(Scope.KEYS_OWN)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_of_two_who_come_with_the_same_link_one_gets_in() -> None:
    room = Room()
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)
    guest = await room.enters(invitation.key)

    results = await asyncio.gather(
        *(room.accept_invitation(guest, invitation.key.id) for _ in range(2)),
        return_exceptions=True,
    )

    assert {type(result) for result in results} == {IssuedKey, InvitationUsed}


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_used_link_opens_nothing() -> None:
    room = Room()
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)
    guest = await room.enters(invitation.key)
    await room.accept_invitation(guest, invitation.key.id)

    with pytest.raises(InvitationUsed):
        await room.enters(invitation.key)
    with pytest.raises(InvitationUsed):
        await room.accept_invitation(guest, invitation.key.id)


async def test_an_invitation_ends_after_a_week() -> None:
    room = Room()
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)

    room.clock.turn(INVITATION_LIFETIME)

    assert timedelta(days=7) == INVITATION_LIFETIME
    with pytest.raises(InvitationUsed, match="more than a week old"):
        await room.enters(invitation.key)


async def test_an_invitation_to_somebody_who_was_disabled_since_opens_nothing() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    invitation = await room.invite_person(admin, BOB)

    await room.change_principal(admin, invitation.identity.id, PrincipalChange(disabled=True))

    with pytest.raises(InvitationUsed):
        await room.enters(invitation.key)


@pytest.mark.requirement("guard:invitations:single-use")
async def test_only_who_shows_the_link_itself_hears_that_it_is_over() -> None:
    room = Room()
    invitation = await room.invite_person(room.person("root", Role.ADMIN), BOB)
    room.clock.turn(INVITATION_LIFETIME)

    with pytest.raises(NotAuthenticated):
        await room.enters(ApiKey(invitation.key.id, "x" * 43))


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_person_whose_link_was_lost_is_invited_again() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    lost = await room.invite_person(admin, BOB)

    again = await room.invite_again(admin, lost.identity.id)
    issued = await room.accept_invitation(await room.enters(again.key), again.key.id)

    assert again.identity == lost.identity
    assert again.key != lost.key
    assert (await room.enters(issued.key)).id == lost.identity.id


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_nobody_above_the_caller_or_disabled_is_invited_again() -> None:
    room = Room()
    admin, high = room.person("low", Role.ADMIN, TEAM), Label(Level.RESTRICTED)
    above, bob = room.person("high", Role.ADMIN, high), room.person("bob")
    await room.change_principal(admin, bob.id, PrincipalChange(disabled=True))

    with pytest.raises(Overreach):
        await room.invite_again(admin, above.id)
    with pytest.raises(PrincipalDisabled):
        await room.invite_again(admin, bob.id)
    with pytest.raises(PrincipalNotFound):
        await room.invite_again(admin, an_identity("nobody").id)
    with pytest.raises(NotPermitted):
        await room.invite_again(room.person("ana", Role.OPERATOR), bob.id)

    assert not room.world.keys


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_guest_may_do_nothing_else() -> None:
    room = Room()
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


async def test_without_an_invitation_nothing_can_be_accepted() -> None:
    room = Room()

    with pytest.raises(NotPermitted, match="invitation:accept"):
        await room.accept_invitation(room.person("root", Role.ADMIN), "x" * 12)


async def test_only_an_admin_invites_and_nobody_above_themselves() -> None:
    room = Room()
    above = PrincipalWish(kind=PrincipalKind.PERSON, name="bob", clearance=Label(Level.RESTRICTED))

    with pytest.raises(NotPermitted, match="principals:write"):
        await room.invite_person(room.person("ana", Role.OPERATOR), BOB)
    with pytest.raises(Overreach, match="restricted"):
        await room.invite_person(room.person("root", Role.ADMIN, TEAM), above)

    assert not room.world.keys


async def test_nobody_is_invited_under_a_name_that_is_taken() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    room.person("bob")

    with pytest.raises(NameTaken, match="'bob'") as caught:
        await room.invite_person(admin, BOB)

    assert caught.value.name == "bob"
    assert not room.world.keys


@pytest.mark.requirement("guard:invitations:single-use")
async def test_a_new_link_ends_the_one_that_was_lost_and_disabling_ends_them_all() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    wish = PrincipalWish(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)
    lost = await room.invite_person(admin, wish)

    again = await room.invite_again(admin, lost.identity.id)

    with pytest.raises(InvitationUsed):
        await room.enters(lost.key)
    await room.change_principal(admin, lost.identity.id, PrincipalChange(disabled=True))
    await room.change_principal(admin, lost.identity.id, PrincipalChange(disabled=False))
    with pytest.raises(InvitationUsed):
        await room.enters(again.key)


async def test_only_a_person_is_invited_again() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    wish = PrincipalWish(kind=PrincipalKind.AGENT, name="robot", clearance=TEAM)
    robot = await room.add_principal(admin, wish)

    with pytest.raises(PrincipalNotFound):
        await room.invite_again(admin, robot.id)
