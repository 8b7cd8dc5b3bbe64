"""A text is told while it is made."""

import asyncio
from dataclasses import dataclass, field

import pytest

from portico.engine.core.entry import Aside, Entry
from portico.engine.core.errors import StoreUnavailable
from portico.engine.tell_text import TellText, Text
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label, Level
from portico.testing.kernel import TickingClock
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
            await asyncio.sleep(0.002)

    entries = await kept(house)
    assert joined(entries) == "".join(f"{number} " for number in range(50))
    assert 2 <= len(entries) < 50
    assert [entry.facts["done"] for entry in entries] == [False] * (len(entries) - 1) + [True]
    assert {(entry.type, entry.label) for entry in entries} == {("text.added", TEAM)}


async def test_an_empty_text_is_done_too(house: House) -> None:
    async with telling(house, Said())(ANA, TEXT):
        pass

    [entry] = await kept(house)
    assert entry.facts == {"part": "answer:1", "offset": 0, "text": "", "done": True}


async def test_a_text_that_is_broken_off_is_kept_and_never_done(house: House) -> None:
    with pytest.raises(OSError, match="model"):
        async with telling(house, Said(), every=10)(ANA, TEXT) as text:
            text.add("half a sen")
            raise OSError("the model went away")

    [entry] = await kept(house)
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
        async with asyncio.timeout(20):
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
