"""Whoever asked for something a while ago, as they are now."""

from dataclasses import replace

from portico.guard.as_they_are import AsTheyAre
from portico.guard.core.api_key import Purpose, StoredKey
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
