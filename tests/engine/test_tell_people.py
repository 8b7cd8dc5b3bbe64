"""People are told what somebody says, as secret as what that one has read, and not too often."""

from datetime import timedelta

import pytest

from portico.engine import tell_people
from portico.engine.core.entry import Entry
from portico.engine.tell_people import NOTIFICATIONS, TellPeople
from portico.guard.core.errors import LimitReached
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.events import MemoryEventLog
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.kernel import TickingClock
from portico.testing.world import MemoryWorld

ANA, BEN = a_person("ana"), a_person("ben")
TEAM = Label(Level.TEAM)


def hidden(value: JsonValue) -> JsonValue:
    return str(value).replace("hunter2", "[hidden]")


class Room:
    def __init__(self, most: int = 10) -> None:
        self.world = MemoryWorld()
        self.world.spaces[ANA.space] = a_space()
        for each in (an_identity("ana"), an_identity("ben")):
            self.world.identities.insert((each.space, each.id), each)
        self.clock = TickingClock()
        self.log = MemoryEventLog(self.world, clock=self.clock)
        self.contexts = MemoryTaskContexts(self.world)
        self.tell = TellPeople(
            log=self.log, contexts=self.contexts, clock=self.clock, clean=hidden, most=most
        )

    async def heard(self) -> list[Entry]:
        page = await self.log.read(ANA, NOTIFICATIONS, after=0, limit=100)
        return [*page.entries]


@pytest.fixture
def room() -> Room:
    return Room()


async def test_what_is_told_says_who_said_it_and_hides_secrets(room: Room) -> None:
    label = await room.tell(BEN, "done", "the password is hunter2")

    [entry] = await room.heard()
    assert label == PUBLIC
    assert (entry.type, entry.by) == ("notification", BEN.id)
    facts = {"from": "ben", "title": "done", "text": "the password is [hidden]"}
    assert entry.facts == facts


async def test_it_is_as_secret_as_what_the_task_has_read(room: Room) -> None:
    await room.contexts.rise(BEN, TEAM, untrusted=True)

    label = await room.tell(BEN, "done", "")

    [entry] = await room.heard()
    assert label == entry.label == TEAM


async def test_nobody_tells_more_than_so_much_in_a_minute() -> None:
    room = Room(most=2)
    for _ in range(2):
        await room.tell(BEN, "again", "")

    with pytest.raises(LimitReached) as told:
        await room.tell(BEN, "again", "")
    await room.tell(ANA, "mine", "")
    room.clock.turn(told.value.retry_after + timedelta(seconds=1))
    await room.tell(BEN, "later", "")

    assert [entry.facts["title"] for entry in await room.heard()] == [
        "again",
        "again",
        "mine",
        "later",
    ]


async def test_of_many_who_speak_the_latest_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tell_people, "_REMEMBERED", 1)
    room = Room(most=1)

    await room.tell(BEN, "one", "")
    await room.tell(ANA, "two", "")
    with pytest.raises(LimitReached):
        await room.tell(ANA, "three", "")

    assert len(await room.heard()) == 2
