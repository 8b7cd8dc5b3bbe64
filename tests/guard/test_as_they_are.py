"""Whoever asked for something a while ago, as they are now."""

from dataclasses import replace

import pytest

from portico.guard.as_they_are import AsTheyAre
from portico.guard.core.api_key import Purpose, StoredKey
from portico.guard.core.errors import KeyEnded, NotAuthenticated
from portico.guard.issue_key import KeyWish
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryKeyRing
from portico.testing.kernel import BEGINNING
from portico.testing.world import HeldKey
from tests.guard.room import Room

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


async def test_all_are_looked_up_at_once_as_they_are_now() -> None:
    room = Room()
    as_they_are = AsTheyAre(key_ring=MemoryKeyRing(room.world), clock=room.clock)
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


async def test_what_was_begun_in_a_session_goes_on_when_it_is_left_and_not_when_it_is_taken() -> (
    None
):
    room = Room()
    as_they_are = AsTheyAre(key_ring=MemoryKeyRing(room.world), clock=room.clock)
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeyWish(name="laptop"))
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


async def test_what_was_begun_in_a_session_that_was_left_ends_with_its_key() -> None:
    room = Room()
    as_they_are = AsTheyAre(key_ring=MemoryKeyRing(room.world), clock=room.clock)
    ana = room.person("ana")
    issued = await room.issue_key(ana, KeyWish(name="laptop"))
    session = await room.open_session(issued.key.reveal(), "browser")
    await room.leave_session(ana, session.stored.id)

    await room.revoke_key(ana, issued.stored.id)

    with pytest.raises(KeyEnded):
        await as_they_are(ana, key=session.stored.id, at=None)
