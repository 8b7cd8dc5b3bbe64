"""A key that is shown at the door, and whoever asked for something, as they are now."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.errors import KeyEnded, NotAuthenticated
from portico.guard.core.keys import ApiKey, KeyHolder, Purpose, StoredKey
from portico.guard.core.principals import Scope
from portico.guard.keys import IssuedKey, KeySpec
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryKeyRing, an_identity
from portico.testing.memory_store import BEGINNING, HeldKey, SeededEntropy
from tests.guard.room import Room


async def ana_with_a_key(room: Room) -> IssuedKey:
    return await room.issue_key(room.person("ana"), KeySpec(name="laptop"))


async def test_a_key_lets_its_holder_in_with_as_much_as_it_has(room: Room) -> None:
    issued = await ana_with_a_key(room)

    entry = await room.authenticate(issued.key.reveal())

    assert entry.principal == room.through(room.person("ana"), issued.stored)
    assert entry.key_id == issued.stored.id

    wish = KeySpec(name="status page", scopes=frozenset({Scope.STATUS_READ}))
    issued = await room.issue_key(room.person("ana"), wish)

    principal = await room.enters(issued.key)

    assert principal.scopes == {Scope.STATUS_READ}


@pytest.mark.requirement("guard:keys:only-the-living-open")
async def test_whatever_is_wrong_the_refusal_is_the_same(room: Room, ana: Principal) -> None:
    revoked = await room.issue_key(ana, KeySpec(name="revoked"))
    await room.revoke_key(ana, revoked.stored.id)
    expired = await room.issue_key(ana, KeySpec(name="short", lifetime=timedelta(seconds=1)))
    disabled = await room.issue_key(room.person("bob"), KeySpec(name="bob's"))
    room.holds(replace(an_identity("bob"), disabled_at=room.clock.now()))
    unknown = ApiKey.mint(SeededEntropy("a stranger"))
    guessed = ApiKey(revoked.key.id, unknown.secret)

    refusals: set[str] = set()
    for shown in (
        "",
        "Bearer",
        "ptc_",
        revoked.key.reveal()[:-1],
        *(key.reveal() for key in (revoked.key, expired.key, disabled.key, unknown, guessed)),
    ):
        with pytest.raises(NotAuthenticated) as caught:
            await room.authenticate(shown)
        refusals.add(f"{caught.value} {caught.value.fix}")

    assert len(refusals) == 1


async def test_a_session_lets_in_where_a_cookie_is_shown_and_nowhere_else(room: Room) -> None:
    issued = await ana_with_a_key(room)
    session = await room.open_session(issued.key.reveal(), "Firefox")

    entry = await room.authenticate.session(session.key.reveal())

    assert entry.principal == room.through(room.person("ana"), session.stored)
    assert entry.key_id == session.stored.id
    with pytest.raises(NotAuthenticated):
        await room.authenticate(session.key.reveal())
    with pytest.raises(NotAuthenticated):
        await room.authenticate.session(issued.key.reveal())


async def test_in_the_session_of_whoever_may_make_no_keys_the_session_is_still_known() -> None:
    room = Room()
    issued = await room.issue_key(
        room.person("ana"), KeySpec(name="reader", scopes=frozenset({Scope.TOOLS_READ}))
    )
    session = await room.open_session(issued.key.reveal(), "Firefox")

    entry = await room.authenticate.session(session.key.reveal())

    assert entry.key_id == session.stored.id
    assert entry.principal.key == issued.stored.id


@pytest.mark.requirement("guard:keys:only-the-living-open")
async def test_whatever_is_wrong_with_a_cookie_the_refusal_is_the_same(room: Room) -> None:
    ana = room.person("ana")
    issued = await ana_with_a_key(room)
    ended, guessed, old = [
        await room.open_session(issued.key.reveal(), name) for name in ("a", "b", "c")
    ]
    await room.end_session(ana, ended.stored.id)
    unknown = ApiKey.mint(SeededEntropy("a stranger"))
    room.clock.turn(timedelta(days=14))

    refusals: set[str] = set()
    for shown in (
        "",
        "a.token.of_somebody",
        *(
            key.reveal()
            for key in (ended.key, ApiKey(guessed.key.id, unknown.secret), old.key, unknown)
        ),
    ):
        with pytest.raises(NotAuthenticated) as caught:
            await room.authenticate.session(shown)
        refusals.add(f"{caught.value} {caught.value.fix}")

    assert len(refusals) == 1


async def test_a_token_of_others_is_no_session_and_opens_none(room: Room) -> None:
    issued = await ana_with_a_key(room)
    holder = await room.authenticate.access(issued.key.reveal())

    async def of_token(_text: str) -> KeyHolder:
        return holder

    authenticate = replace(room.authenticate, of_token=of_token)

    assert (await authenticate("a.token.of_somebody")).key_id == issued.stored.id
    for way_in in (authenticate.session, authenticate.access):
        with pytest.raises(NotAuthenticated):
            await way_in("a.token.of_somebody")


@pytest.mark.requirement("guard:keys:last-used")
async def test_the_last_use_is_noted_but_not_more_than_once_a_minute(room: Room) -> None:
    issued = await ana_with_a_key(room)

    noted = []
    for wait in (0, 10, 60, 5):
        room.clock.turn(timedelta(seconds=wait))
        await room.enters(issued.key)
        noted.append(room.world.keys[issued.key.id].key.last_used_at)

    assert noted[0] is not None
    assert noted[0] == noted[1]
    assert noted[2] is not None
    assert noted[2] > noted[0]
    assert noted[2] == noted[3]


SECRET = Label(Level.CONFIDENTIAL)


def a_key(room: Room, who: Principal) -> StoredKey:
    key = StoredKey(
        id=f"key of {who.name}",
        space=who.space,
        principal=who.id,
        purpose=Purpose.ACCESS,
        name="k",
        scopes=None,
        clearance=SECRET,
        created_at=BEGINNING,
    )
    room.world.keys[key.id] = HeldKey(key, b"")
    return key


async def test_all_are_looked_up_at_once_as_they_are_now(room: Room) -> None:
    as_they_are = RevalidatePrincipal(key_ring=MemoryKeyRing(room.world), clock=room.clock)
    ana, bob, eve = (room.person(name, clearance=SECRET) for name in ("ana", "bob", "eve"))
    keys = [a_key(room, who) for who in (ana, bob, eve)]
    was = room.world.identities[bob.space, bob.id]
    room.world.identities[bob.space, bob.id] = replace(was, clearance=PUBLIC)
    room.world.keys[keys[2].id] = HeldKey(replace(keys[2], revoked_at=BEGINNING), b"")

    now = await as_they_are.all_of([*(key.id for key in keys), "nowhere"])

    assert {key: who.clearance for key, who in now.items()} == {
        keys[0].id: SECRET,
        keys[1].id: PUBLIC,
    }


async def test_what_was_begun_in_a_session_goes_on_when_it_is_left_and_not_when_it_is_taken(
    room: Room,
) -> None:
    as_they_are = RevalidatePrincipal(key_ring=MemoryKeyRing(room.world), clock=room.clock)
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeySpec(name="laptop"))
    left, taken = [await room.open_session(issued.key.reveal(), name) for name in "ab"]
    inside = await room.in_session(left.key)

    assert await as_they_are(ana, key=inside.key, at=None) == inside
    await room.leave_session(inside, left.stored.id)
    await room.end_session(inside, taken.stored.id)

    with pytest.raises(NotAuthenticated):
        await room.in_session(left.key)
    assert (await as_they_are(ana, key=inside.key, at=None)).id == ana.id
    assert [*await as_they_are.all_of([left.stored.id, taken.stored.id])] == [left.stored.id]
    with pytest.raises(KeyEnded):
        await as_they_are(ana, key=taken.stored.id, at=None)


async def test_what_was_begun_in_a_session_that_was_left_ends_with_its_key(room: Room) -> None:
    as_they_are = RevalidatePrincipal(key_ring=MemoryKeyRing(room.world), clock=room.clock)
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeySpec(name="laptop"))
    session = await room.open_session(issued.key.reveal(), "browser")
    await room.leave_session(ana, session.stored.id)

    await room.revoke_key(ana, issued.stored.id)

    with pytest.raises(KeyEnded):
        await as_they_are(ana, key=session.stored.id, at=None)
