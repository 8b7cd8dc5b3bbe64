"""The stories of listing, showing, rotating and revoking keys."""

from datetime import timedelta

import pytest

from portico.guard.core.errors import (
    KeyEnded,
    KeyNotFound,
    NotAuthenticated,
    NotPermitted,
    Overreach,
)
from portico.guard.core.roles import Role, Scope
from portico.guard.issue_key import KeyWish
from portico.guard.manage_principals import PrincipalWish
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import TEAM, a_person, a_space, an_identity
from tests.guard.room import Room

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SECRET = Label(Level.RESTRICTED)


async def test_a_member_lists_their_own_keys_and_an_operator_all() -> None:
    room = Room()
    ana, bob = room.person("ana"), room.person("bob", Role.OPERATOR)
    for name in ("one", "two"):
        await room.issue_key(ana, KeyWish(name=f"ana's {name}"))
    await room.issue_key(bob, KeyWish(name="bob's"))

    own = await room.list_keys(ana, after=None, limit=10)
    all_ = await room.list_keys(bob, after=None, limit=10)

    assert [key.name for key in own] == ["ana's one", "ana's two"]
    assert [key.name for key in all_] == ["ana's one", "ana's two", "bob's"]


async def test_keys_are_listed_page_after_page() -> None:
    room = Room()
    ana = room.person("ana")
    for number in range(5):
        await room.issue_key(ana, KeyWish(name=str(number)))

    pages, after = [], None
    while page := await room.list_keys(ana, after=after, limit=2):
        pages.append([key.name for key in page])
        after = page[-1].id

    assert pages == [["0", "1"], ["2", "3"], ["4"]]


async def test_a_viewer_lists_no_keys() -> None:
    room = Room()

    with pytest.raises(NotPermitted, match="keys:own"):
        await room.list_keys(room.person("ana", Role.VIEWER), after=None, limit=10)


async def test_invitations_are_not_among_the_keys() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN)
    invited = await room.invite_person(
        admin, PrincipalWish(kind=PrincipalKind.PERSON, name="bob", clearance=TEAM)
    )

    assert await room.list_keys(admin, after=None, limit=10) == []
    with pytest.raises(KeyNotFound):
        await room.show_key(admin, invited.key.id)
    with pytest.raises(KeyNotFound):
        await room.rotate_key(admin, invited.key.id, HOUR)
    with pytest.raises(KeyNotFound):
        await room.revoke_key(admin, invited.key.id)


async def test_somebody_elses_key_does_not_exist_for_a_member() -> None:
    room = Room()
    ana = room.person("ana")
    bobs = await room.issue_key(room.person("bob"), KeyWish(name="bob's"))

    for ask in (
        room.show_key(ana, bobs.stored.id),
        room.rotate_key(ana, bobs.stored.id, HOUR),
        room.revoke_key(ana, bobs.stored.id),
    ):
        with pytest.raises(KeyNotFound) as caught:
            await ask
        assert caught.value.key_id == bobs.stored.id


async def test_a_key_of_another_space_does_not_exist_even_for_an_admin() -> None:
    room = Room()
    elsewhere = a_space("elsewhere")
    room.holds(an_identity("stranger", space=elsewhere), space=elsewhere)
    theirs = await room.issue_key(a_person("stranger", space=elsewhere), KeyWish(name="theirs"))
    admin = room.person("root", Role.ADMIN, SECRET)

    for ask in (
        room.show_key(admin, theirs.stored.id),
        room.rotate_key(admin, theirs.stored.id, HOUR),
        room.revoke_key(admin, theirs.stored.id),
    ):
        with pytest.raises(KeyNotFound):
            await ask
    assert await room.list_keys(admin, after=None, limit=10) == []


async def test_whoever_may_only_read_keys_changes_none() -> None:
    room = Room()
    bobs = await room.issue_key(room.person("bob"), KeyWish(name="bob's"))
    operator = room.person("ana", Role.OPERATOR)
    wish = KeyWish(name="reader", scopes=frozenset({Scope.KEYS_READ}))
    reader = await room.enters((await room.issue_key(operator, wish)).key)

    assert await room.show_key(reader, bobs.stored.id) == bobs.stored
    with pytest.raises(NotPermitted, match="keys:write"):
        await room.revoke_key(reader, bobs.stored.id)
    with pytest.raises(NotPermitted, match="keys:write"):
        await room.rotate_key(reader, bobs.stored.id, HOUR)


@pytest.mark.requirement("guard:keys:rotate-with-overlap")
async def test_both_keys_work_during_the_overlap_and_then_only_the_new_one() -> None:
    room = Room()
    ana = room.person("ana")
    old = await room.issue_key(ana, KeyWish(name="laptop"))

    new = await room.rotate_key(ana, old.stored.id, DAY)

    assert new.stored.name == "laptop"
    assert (await room.enters(old.key)).id == (await room.enters(new.key)).id == ana.id
    room.clock.turn(DAY)
    assert await room.enters(new.key) == room.through(ana, new.stored)
    with pytest.raises(NotAuthenticated):
        await room.enters(old.key)


@pytest.mark.requirement("guard:keys:rotate-with-overlap")
async def test_without_an_overlap_the_old_key_ends_at_once() -> None:
    room = Room()
    ana = room.person("ana")
    old = await room.issue_key(ana, KeyWish(name="leaked"))

    await room.rotate_key(ana, old.stored.id, timedelta(0))

    with pytest.raises(NotAuthenticated):
        await room.enters(old.key)


async def test_a_rotated_key_is_as_narrow_and_lives_as_long_as_the_old_one() -> None:
    room = Room()
    ana = room.person("ana")
    scopes = frozenset({Scope.KEYS_OWN})
    wish = KeyWish(name="week", scopes=scopes, clearance=PUBLIC, lifetime=7 * DAY)
    old = await room.issue_key(ana, wish)
    await room.enters(old.key)

    room.clock.turn(DAY)
    new = await room.rotate_key(ana, old.stored.id, HOUR)

    assert (new.stored.scopes, new.stored.clearance) == (scopes, PUBLIC)
    assert new.stored.expires_at == new.stored.created_at + 7 * DAY
    assert new.stored.last_used_at is None


async def test_what_has_ended_is_not_rotated() -> None:
    room = Room()
    ana = room.person("ana")
    revoked = await room.issue_key(ana, KeyWish(name="revoked"))
    expired = await room.issue_key(ana, KeyWish(name="expired", lifetime=HOUR))
    await room.revoke_key(ana, revoked.stored.id)
    room.clock.turn(HOUR)

    for key in (revoked, expired):
        with pytest.raises(KeyEnded) as caught:
            await room.rotate_key(ana, key.stored.id, HOUR)
        assert caught.value.key_id == key.stored.id


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_does_not_rotate_an_admins_key_into_their_own_hands() -> None:
    room = Room()
    admins = await room.issue_key(room.person("root", Role.ADMIN), KeyWish(name="root's"))

    with pytest.raises(Overreach):
        await room.rotate_key(room.person("ana", Role.OPERATOR), admins.stored.id, DAY)

    assert len(room.world.keys) == 1


@pytest.mark.requirement("guard:keys:revoke")
async def test_a_revoked_key_opens_nothing_and_may_be_revoked_again() -> None:
    room = Room()
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeyWish(name="leaked"))

    await room.revoke_key(ana, issued.stored.id)
    first = await room.show_key(ana, issued.stored.id)
    await room.revoke_key(ana, issued.stored.id)

    assert await room.show_key(ana, issued.stored.id) == first
    with pytest.raises(NotAuthenticated):
        await room.enters(issued.key)


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_shuts_out_whoever_is_below_them_and_nobody_above() -> None:
    room = Room()
    admin, operator = room.person("root", Role.ADMIN), room.person("olga", Role.OPERATOR)
    bob = room.person("bob")
    above = await room.issue_key(admin, KeyWish(name="root's"))
    below = await room.issue_key(bob, KeyWish(name="bob's"))

    await room.revoke_key(operator, below.stored.id)
    with pytest.raises(Overreach):
        await room.revoke_key(operator, above.stored.id)

    await room.authenticate(above.key.reveal())
    with pytest.raises(NotAuthenticated):
        await room.authenticate(below.key.reveal())


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_nobody_rotates_their_own_key_who_may_make_none_of_their_own() -> None:
    """Its successor is at a clean task: for a program that would be forgetting what it read."""
    room = Room()
    operator = room.person("ana", Role.OPERATOR)
    scopes = frozenset({Scope.KEYS_READ, Scope.KEYS_WRITE})
    narrow = await room.issue_key(operator, KeyWish(name="narrow", scopes=scopes))
    program = await room.enters(narrow.key)

    with pytest.raises(NotPermitted, match="keys:own"):
        await room.rotate_key(program, narrow.stored.id, HOUR)

    await room.revoke_key(program, narrow.stored.id)
    with pytest.raises(NotAuthenticated):
        await room.enters(narrow.key)
