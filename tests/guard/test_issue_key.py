"""The story of making a key: for oneself, for others, and never for more than one has."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.errors import (
    NotPermitted,
    Overreach,
    PrincipalDisabled,
    PrincipalNotFound,
)
from portico.guard.core.roles import Role, Scope
from portico.guard.issue_key import KeyWish
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.guard import TEAM, a_person, a_space, an_identity
from tests.guard.room import PEPPER, Room

SECRET = Label(Level.RESTRICTED)


async def test_a_key_is_kept_as_a_digest_and_never_as_itself() -> None:
    room = Room()

    issued = await room.issue_key(room.person("ana"), KeyWish(name="laptop"))

    held = room.world.keys[issued.key.id]
    assert held.digest == issued.key.digest(PEPPER)
    assert held.key == issued.stored
    assert issued.key.secret not in repr(held)


async def test_a_key_of_ones_own_has_all_that_one_has_unless_it_is_narrowed() -> None:
    room = Room()
    ana = room.person("ana")
    wish = KeyWish(name="laptop", scopes=frozenset({Scope.KEYS_OWN}), clearance=PUBLIC)

    whole = await room.issue_key(ana, KeyWish(name="laptop"))
    narrow = await room.issue_key(ana, wish)

    assert await room.enters(whole.key) == room.through(ana, whole.stored)
    narrowed = await room.enters(narrow.key)
    assert (narrowed.id, narrowed.scopes, narrowed.clearance) == (ana.id, wish.scopes, PUBLIC)


async def test_a_key_may_be_given_a_lifetime() -> None:
    room = Room()
    ana = room.person("ana")

    issued = await room.issue_key(ana, KeyWish(name="week", lifetime=timedelta(days=7)))

    assert issued.stored.expires_at == issued.stored.created_at + timedelta(days=7)


async def test_a_viewer_makes_no_keys() -> None:
    room = Room()

    with pytest.raises(NotPermitted, match="keys:own"):
        await room.issue_key(room.person("ana", Role.VIEWER), KeyWish(name="laptop"))


async def test_a_member_makes_no_keys_for_others() -> None:
    room = Room()
    bob = room.person("bob")

    with pytest.raises(NotPermitted, match="keys:write") as caught:
        await room.issue_key(room.person("ana"), KeyWish(name="mine now", principal=bob.id))

    assert (caught.value.name, caught.value.scope) == ("ana", Scope.KEYS_WRITE)


async def test_an_operator_makes_keys_for_others_who_may_less() -> None:
    room = Room()
    bob = room.person("bob", clearance=PUBLIC)

    issued = await room.issue_key(
        room.person("ana", Role.OPERATOR), KeyWish(name="agent", principal=bob.id)
    )

    holder = await room.enters(issued.key)
    assert (holder.id, holder.scopes, holder.clearance) == (bob.id, bob.scopes, bob.clearance)


@pytest.mark.parametrize(
    "wish",
    [
        KeyWish(name="all of it"),
        KeyWish(name="one too many", scopes=frozenset({Scope.SPACE_DELETE}), clearance=PUBLIC),
        KeyWish(name="too secret", scopes=frozenset({Scope.STATUS_READ}), clearance=SECRET),
        KeyWish(name="all the secrets", scopes=frozenset({Scope.STATUS_READ})),
        KeyWish(
            name="a compartment",
            scopes=frozenset[Scope](),
            clearance=Label(Level.TEAM, frozenset({"finance"})),
        ),
    ],
    ids=lambda wish: wish.name,
)
@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_gets_nothing_of_an_admins_through_a_key(wish: KeyWish) -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, SECRET)

    with pytest.raises(Overreach):
        await room.issue_key(room.person("ana", Role.OPERATOR), replace(wish, principal=admin.id))

    assert not room.world.keys


@pytest.mark.requirement("guard:keys:never-widen")
async def test_a_narrow_key_makes_no_wider_one() -> None:
    room = Room()
    ana = room.person("ana", Role.ADMIN, SECRET)
    wish = KeyWish(name="narrow", scopes=frozenset({Scope.KEYS_OWN}), clearance=TEAM)
    narrowed = await room.enters((await room.issue_key(ana, wish)).key)

    for wider in (
        KeyWish(name="all"),
        KeyWish(name="more", scopes=frozenset({Scope.SPACE_READ})),
        KeyWish(name="higher", scopes=frozenset({Scope.KEYS_OWN}), clearance=SECRET),
    ):
        with pytest.raises(Overreach):
            await room.issue_key(narrowed, wider)


async def test_nobody_who_is_disabled_is_given_a_key() -> None:
    room = Room()
    bob = replace(an_identity("bob"), disabled_at=room.clock.now())
    room.holds(bob)

    with pytest.raises(PrincipalDisabled, match="'bob' is disabled") as caught:
        await room.issue_key(
            room.person("ana", Role.OPERATOR), KeyWish(name="back in", principal=bob.id)
        )

    assert caught.value.who == "bob"


async def test_whoever_is_in_another_space_does_not_exist() -> None:
    room = Room()
    elsewhere = a_space("elsewhere")
    stranger = a_person("stranger", space=elsewhere)
    room.holds(an_identity("stranger", space=elsewhere), space=elsewhere)

    with pytest.raises(PrincipalNotFound):
        await room.issue_key(
            room.person("ana", Role.ADMIN), KeyWish(name="spy", principal=stranger.id)
        )


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_a_key_made_for_somebody_does_not_grow_when_they_are_promoted() -> None:
    """The operator keeps a copy of bob's key, and waits until an admin makes bob an admin."""
    room = Room()
    operator, bob = room.person("ana", Role.OPERATOR), room.person("bob")
    kept = await room.issue_key(operator, KeyWish(name="for bob", principal=bob.id))

    room.person("bob", Role.ADMIN)

    assert (await room.enters(kept.key)).scopes <= operator.scopes


@pytest.mark.requirement("guard:principals:no-escalation")
async def test_an_operator_makes_no_key_however_narrow_in_the_name_of_an_admin() -> None:
    room = Room()
    operator, admin = room.person("olga", Role.OPERATOR), room.person("root", Role.ADMIN)
    narrow = KeyWish(
        name="k", principal=admin.id, scopes=frozenset({Scope.KEYS_OWN}), clearance=PUBLIC
    )

    with pytest.raises(Overreach):
        await room.issue_key(operator, narrow)


@pytest.mark.requirement("guard:keys:expiry")
async def test_a_key_that_ends_makes_none_that_lives_longer() -> None:
    room = Room()
    short = await room.issue_key(
        room.person("ana"), KeyWish(name="a day", lifetime=timedelta(days=1))
    )
    ana = await room.enters(short.key)

    for_ever = await room.issue_key(ana, KeyWish(name="for ever"))
    longer = await room.issue_key(ana, KeyWish(name="longer", lifetime=timedelta(days=9)))
    rotated = await room.rotate_key(ana, short.stored.id, timedelta(hours=1))

    ends = {each.stored.expires_at for each in (for_ever, longer, rotated)}
    assert ends == {short.stored.expires_at}


@pytest.mark.requirement("guard:keys:never-widen")
async def test_a_narrow_key_does_not_widen_itself_to_a_compartment_of_its_holder() -> None:
    room = Room()
    admin = room.person("root", Role.ADMIN, clearance=Label(Level.TEAM, frozenset({"finance"})))
    narrow = await room.issue_key(admin, KeyWish(name="narrow", clearance=TEAM))

    with pytest.raises(Overreach, match="finance"):
        await room.issue_key(
            await room.enters(narrow.key), KeyWish(name="wide", clearance=admin.clearance)
        )
