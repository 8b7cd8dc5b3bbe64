"""A text is told while it is made; people are told what somebody says."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from portico.engine import notifications
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Aside, Entry
from portico.engine.event_log import TellText, Text
from portico.engine.notifications import NOTIFICATIONS, TellPeople
from portico.guard.core.errors import LimitReached
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.engine import MemoryEventLog
from portico.testing.guard import MemoryTaskContexts, a_person, a_space, an_identity
from portico.testing.memory_store import MemoryWorld, TickingClock
from tests.engine.watching import ANA, House, Sent, a_house

TEAM = Label(Level.TEAM)
TEXT = Text(topic="t", part="answer:1", label=TEAM)


@dataclass
class Said:
    asides: list[Aside] = field(default_factory=list)

    def __call__(self, space: SpaceId, aside: Aside) -> None:
        assert space == ANA.space
        self.asides.append(aside)


def telling(house: House, said: Said, every: float = 0.01) -> TellText:
    return TellText(log=house.log, say=said, clock=TickingClock(), every=every)


async def kept(house: House) -> list[Entry]:
    page = await house.log.read(ANA, "t", after=0, limit=1000)
    return list(page.entries)


def joined(entries: list[Entry]) -> str:
    text = ""
    for entry in entries:
        assert entry.facts["offset"] == len(text)
        text += str(entry.facts["text"])
    return text


@pytest.mark.requirement("engine:events:text")
async def test_each_piece_is_said_at_once_with_its_offset() -> None:
    house, said = a_house(), Said()

    async with telling(house, said)(ANA, TEXT) as text:
        for piece in ("Hel", "", "lo ", "wörld"):
            text.add(piece)

    assert [aside.facts for aside in said.asides] == [
        {"part": "answer:1", "offset": 0, "text": "Hel"},
        {"part": "answer:1", "offset": 3, "text": "lo "},
        {"part": "answer:1", "offset": 6, "text": "wörld"},
    ]
    assert {(aside.type, aside.label, aside.by) for aside in said.asides} == {
        ("text.delta", TEAM, ANA.id)
    }


@pytest.mark.requirement("engine:events:text")
async def test_what_was_added_is_kept_now_and_then_and_all_of_it_at_the_end(house: House) -> None:
    async with telling(house, Said())(ANA, TEXT) as text:
        for number in range(50):
            text.add(f"{number} ")
        while (ANA.space, "t") not in house.world.streams:  # noqa: ASYNC110 # seen only so
            await asyncio.sleep(0)
        for number in range(50, 100):
            text.add(f"{number} ")

    entries = await kept(house)
    assert joined(entries) == "".join(f"{number} " for number in range(100))
    assert 2 <= len(entries) < 100
    assert [entry.facts["done"] for entry in entries] == [False] * (len(entries) - 1) + [True]
    assert {(entry.type, entry.label) for entry in entries} == {("text.added", TEAM)}


async def test_a_text_that_is_empty_is_done_and_one_that_is_broken_off_is_not(house: House) -> None:
    async with telling(house, Said())(ANA, TEXT):
        pass

    [entry] = await kept(house)
    assert entry.facts == {"part": "answer:1", "offset": 0, "text": "", "done": True}

    with pytest.raises(OSError, match="model"):
        async with telling(house, Said(), every=10)(ANA, TEXT) as text:
            text.add("half a sen")
            raise OSError("the model went away")

    [_, entry] = await kept(house)
    assert (entry.facts["text"], entry.facts["done"]) == ("half a sen", False)


async def test_while_the_store_is_away_it_goes_on_and_nothing_is_lost() -> None:
    house, said = a_house(), Said()
    house.log.away = True
    async with telling(house, said, every=0.001)(ANA, TEXT) as text:
        text.add("a")
        await asyncio.sleep(0.01)
        house.log.away = False
        text.add("b")

    assert joined(await kept(house)) == "ab"


async def test_a_store_that_stays_away_is_told_at_the_end(house: House) -> None:
    house.log.away = True
    with pytest.raises(StoreUnavailable):
        async with telling(house, Said(), every=10)(ANA, TEXT) as text:
            text.add("a")
    with pytest.raises(OSError, match="model"):
        async with telling(house, Said(), every=10)(ANA, TEXT) as text:
            text.add("a")
            raise OSError("the model went away")


async def test_whoever_is_cancelled_leaves_nothing_running(house: House) -> None:
    tasks = len(asyncio.all_tasks())

    async def forever() -> None:
        async with telling(house, Said())(ANA, TEXT) as text:
            text.add("a")
            await asyncio.sleep(1000)

    task = asyncio.create_task(forever())
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)

    assert task.cancelled()
    assert len(asyncio.all_tasks()) == tasks


@pytest.mark.requirement("engine:events:text")
async def test_who_follows_it_live_and_who_comes_later_have_the_same_text(house: House) -> None:
    tell = TellText(log=house.log, say=house.tails.say, clock=TickingClock(), every=0.01)
    words = [f"word{number} " for number in range(40)]

    async with house.reading() as live:
        await asyncio.sleep(0.01)
        async with tell(ANA, TEXT) as text:
            for word in words:
                text.add(word)
                await asyncio.sleep(0.001)
        async with asyncio.timeout(30):
            while not (live.sent and live.sent[-1].facts.get("done")):
                await live.takes(1)
    async with house.reading() as later:
        await later.takes(1)
        await later.take_what_there_is()

    assert assembled(live.sent) == assembled(later.sent) == "".join(words)
    assert "text.delta" in live.types
    assert set(later.types) == {"text.added"}


def assembled(sent: list[Sent]) -> str:
    """As the reference tells clients to do it."""
    text = ""
    for each in sent:
        offset, piece = int(str(each.facts["offset"])), str(each.facts["text"])
        if offset <= len(text) < offset + len(piece):
            text += piece[len(text) - offset :]
    return text


ANN, BEN = a_person("ana"), a_person("ben")


def hidden(value: JsonValue) -> JsonValue:
    return str(value).replace("hunter2", "[hidden]")


class Room:
    def __init__(self, most: int = 10) -> None:
        self.world = MemoryWorld()
        self.world.spaces[ANN.space] = a_space()
        for each in (an_identity("ana"), an_identity("ben")):
            self.world.identities.insert((each.space, each.id), each)
        self.clock = TickingClock()
        self.log = MemoryEventLog(self.world, clock=self.clock)
        self.contexts = MemoryTaskContexts(self.world)
        self.tell = TellPeople(
            log=self.log, contexts=self.contexts, clock=self.clock, clean=hidden, most=most
        )

    async def heard(self) -> list[Entry]:
        page = await self.log.read(ANN, NOTIFICATIONS, after=0, limit=100)
        return [*page.entries]


@pytest.fixture
def room() -> Room:
    return Room()


async def test_what_is_told_is_as_secret_as_what_was_read_and_says_who_said_it(room: Room) -> None:
    label = await room.tell(BEN, "done", "the password is hunter2")

    [entry] = await room.heard()
    assert label == PUBLIC
    assert (entry.type, entry.by) == ("notification", BEN.id)
    facts = {"from": "ben", "title": "done", "text": "the password is [hidden]"}
    assert entry.facts == facts

    await room.contexts.rise(BEN, TEAM, untrusted=True)

    label = await room.tell(BEN, "done", "")

    [_, entry] = await room.heard()
    assert label == entry.label == TEAM


async def test_nobody_tells_more_than_so_much_in_a_minute() -> None:
    room = Room(most=2)
    for _ in range(2):
        await room.tell(BEN, "again", "")

    with pytest.raises(LimitReached) as told:
        await room.tell(BEN, "again", "")
    await room.tell(ANN, "mine", "")
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
    monkeypatch.setattr(notifications, "_REMEMBERED", 1)
    room = Room(most=1)

    await room.tell(BEN, "one", "")
    await room.tell(ANN, "two", "")
    with pytest.raises(LimitReached):
        await room.tell(ANN, "three", "")

    assert len(await room.heard()) == 2
