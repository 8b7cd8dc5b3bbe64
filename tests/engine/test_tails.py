"""Following topics as they grow."""

import asyncio
from dataclasses import replace

import pytest

from portico.engine.core.entry import Aside
from portico.engine.cursors import Cursors
from portico.kernel.label import PUBLIC, Label
from portico.testing.kernel import BEGINNING
from tests.engine.watching import ANA, LOW, SEAL, SECRET, House, a_house

pytestmark = pytest.mark.usefixtures("nothing_blocks")


def an_aside(text: str, label: Label = PUBLIC) -> Aside:
    return Aside(
        topic="t", type="text.delta", at=BEGINNING, by=None, label=label, facts={"text": text}
    )


def standing(cursor: str) -> dict[str, int]:
    return Cursors.of(SEAL, ANA.space, ["t"]).positions(cursor)


async def test_what_was_there_and_what_comes_arrives_in_order(house: House) -> None:
    await house.tell("a", "b")

    async with house.reading() as reader:
        await reader.takes(2)
        await house.tell("c")
        await reader.takes(1)

    assert reader.types == ["a", "b", "c"]


async def test_a_topic_that_is_not_there_yet_can_be_followed(house: House) -> None:
    async with house.reading() as reader:
        assert await reader.is_left_alone()
        await house.tell("a")
        await reader.takes(1)

    assert reader.types == ["a"]


async def test_by_its_cursor_one_goes_on_where_one_left(house: House) -> None:
    await house.tell("a", "b", "c")
    async with house.reading() as first:
        sent = await first.takes(2)

    async with house.reading(positions=standing(sent[1].cursor)) as second:
        await second.takes(1)
        assert await second.is_left_alone()

    assert second.types == ["c"]


async def test_many_follow_and_the_log_is_read_once_for_all(house: House) -> None:
    async with asyncio.TaskGroup() as readers, house.reading() as first:
        await first.takes(0)

        async def follows() -> list[str]:
            async with house.reading() as reader:
                await reader.takes(20)
                return reader.types

        others = [readers.create_task(follows()) for _ in range(50)]
        await asyncio.sleep(0.01)
        before = house.log.reads
        for number in range(20):
            await house.tell(str(number))
            await asyncio.sleep(0)
        await first.takes(20)

    assert {tuple(other.result()) for other in others} == {tuple(map(str, range(20)))}
    assert house.log.reads - before <= 25


async def test_whoever_is_too_slow_for_the_ring_reads_the_log_and_misses_nothing() -> None:
    house = a_house()
    types = [str(number) for number in range(3_000)]

    async with house.reading() as slow, house.reading() as fast:
        await asyncio.sleep(0.01)
        for start in range(0, 3_000, 100):
            await house.tell(*types[start : start + 100])
            await asyncio.sleep(0)
        await fast.takes(3_000)
        await slow.takes(3_000)

    assert fast.types == slow.types == types


async def test_several_topics_come_in_one_stream_with_one_cursor(house: House) -> None:
    async with house.reading(positions={"t": 0, "u": 0}) as reader:
        await house.tell("a")
        await reader.takes(1)
        await house.tell("b", topic="u")
        [sent] = await reader.takes(1)
        await house.tell("c")
        await house.tell("d", topic="u")
        await reader.takes(2)

    cursors = Cursors.of(SEAL, ANA.space, ["t", "u"])
    assert cursors.positions(sent.cursor) == {"t": 1, "u": 1}
    async with house.reading(positions=cursors.positions(sent.cursor)) as again:
        await again.takes(2)
    assert sorted(again.types) == ["c", "d"]


async def test_an_aside_comes_at_once_without_a_cursor_and_is_not_kept(house: House) -> None:
    await house.tell("a")
    async with house.reading() as reader, house.reading(positions={"t": 0, "u": 0}) as other:
        await reader.takes(1)
        await other.takes(1)
        house.tails.say(ANA.space, an_aside("hel"))
        house.tails.say(ANA.space, an_aside("lo"))
        said = await reader.takes(2)
        assert await other.takes(2) == said
        await house.tell("b")
        await reader.takes(1)

    assert [(sent.cursor, sent.facts) for sent in said] == [
        ("", {"text": "hel"}),
        ("", {"text": "lo"}),
    ]
    async with house.reading() as later:
        await later.takes(2)
        assert await later.is_left_alone()
    assert later.types == ["a", "b"]


@pytest.mark.requirement("engine:events:labels")
async def test_an_aside_is_only_for_those_who_are_cleared_for_it(house: House) -> None:
    async with house.reading(LOW) as low, house.reading(ANA) as high:
        await asyncio.sleep(0.01)
        house.tails.say(ANA.space, an_aside("secret", SECRET))
        await high.takes(1)
        assert await low.is_left_alone()

    assert low.sent == []


async def test_an_aside_that_nobody_follows_is_said_to_nobody(house: House) -> None:
    house.tails.say(ANA.space, an_aside("hello"))
    async with house.reading() as reader:
        house.tails.say(ANA.space, an_aside("too early: it is not known where the topic ends"))
        assert await reader.is_left_alone()

    assert reader.sent == []


@pytest.mark.requirement("engine:events:labels")
async def test_each_clearance_has_a_tail_of_its_own_and_equal_ones_share_one(house: House) -> None:
    eve = replace(LOW, id=ANA.id, name="eve")

    async with house.reading(LOW) as low, house.reading(ANA) as high, house.reading(eve):
        assert house.tails.size == (3, 2)
        await house.tell("secret", label=SECRET)
        await house.tell("open")
        await high.takes(2)
        await low.takes(1)

    assert (low.types, high.types) == (["open"], ["secret", "open"])


@pytest.mark.requirement("engine:events:no-leak")
async def test_a_tail_ends_with_its_last_follower(house: House) -> None:
    tasks = len(asyncio.all_tasks())

    async with house.reading(), house.reading():
        await asyncio.sleep(0.01)
        assert (house.tails.size, house.bus.listening) == ((2, 1), 1)
    for _ in range(20):
        async with house.reading():
            pass

    assert (house.tails.size, house.bus.listening) == ((0, 0), 0)
    assert len(asyncio.all_tasks()) == tasks


async def test_what_no_wake_up_told_of_is_found_by_looking() -> None:
    house = a_house(look=0.01)
    house.bus.deaf = True

    async with house.reading() as reader:
        await asyncio.sleep(0.005)
        await house.tell("a")
        await reader.takes(1)

    assert reader.types == ["a"]


async def test_while_the_store_is_away_nothing_comes_and_then_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.engine.tail._STORE_PAUSE", 0.001)
    house = a_house(look=0.01)
    await house.tell("a")
    house.log.away = True
    async with house.reading() as reader:
        assert await reader.is_left_alone()
        house.log.away = False
        await reader.takes(1)

    assert reader.types == ["a"]


async def test_followers_of_a_tail_that_broke_are_told_and_can_come_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = a_house(look=0.01)
    async with house.reading() as reader:
        await asyncio.sleep(0.005)
        house.log.broken = True
        async with asyncio.timeout(5):
            while not reader.subscription.broken:
                await reader.subscription.stirred()
        house.log.broken = False
        await house.tell("a")
        async with house.reading() as again:
            await again.takes(1)

    assert again.types == ["a"]
    assert "a tail of events broke" in caplog.text
    assert house.tails.size == (0, 0)


@pytest.mark.requirement("engine:events:reset")
async def test_who_stood_at_what_was_trimmed_is_told_and_goes_on_with_what_there_is() -> None:
    house = a_house()
    await house.tell("a", "b", "c", "d")
    house.log.trim(ANA.space, "t", 3)

    async with house.reading(positions={"t": 1}) as behind:
        await behind.takes(3)
    async with house.reading(positions={"t": 3}) as within:
        await within.takes(1)
    async with house.reading() as new:
        await new.takes(2)

    assert behind.types == ["reset", "c", "d"]
    assert behind.sent[0].facts == {"topic": "t"}
    assert within.types == ["d"]
    assert new.types == ["c", "d"]


@pytest.mark.requirement("engine:events:reset")
async def test_it_is_told_once_also_when_nothing_is_left(house: House) -> None:
    await house.tell("a", "b")
    house.log.trim(ANA.space, "t", 3)

    async with house.reading(positions={"t": 2}) as reader:
        await reader.takes(1)
        await house.tell("c")
        await reader.takes(1)
        assert await reader.is_left_alone()

    assert reader.types == ["reset", "c"]


@pytest.mark.requirement("engine:events:reset")
async def test_a_topic_that_was_removed_and_is_there_again_begins_anew() -> None:
    house = a_house(look=0.01)
    await house.tell("a", "b", "c")
    async with house.reading(positions={"t": 3}) as reader:
        await asyncio.sleep(0.005)
        del house.world.streams[ANA.space, "t"]
        await house.tell("new")
        async with asyncio.timeout(5):
            while not reader.subscription.broken:
                await reader.subscription.stirred()
    async with house.reading(positions={"t": 3}) as again:
        await again.takes(2)

    assert again.types == ["reset", "new"]


async def test_who_knows_more_than_the_tail_yet_gets_nothing_twice(house: House) -> None:
    await house.tell("a")
    async with house.reading() as reader:
        await reader.takes(1)
        house.bus.deaf = True
        await house.tell("b", "c")
        async with house.reading(positions={"t": 2}) as ahead:
            await ahead.takes(1)
            house.bus.deaf = False
            await house.tell("d")
            await ahead.takes(1)
            await reader.takes(3)

    assert ahead.types == ["c", "d"]
    assert reader.types == ["a", "b", "c", "d"]


async def test_a_topic_that_is_gone_is_one_in_which_nothing_happens(house: House) -> None:
    async with house.reading(LOW, positions={"t": 5}) as reader:
        assert await reader.is_left_alone()

    assert reader.sent == []


async def test_news_are_gathered_when_many_follow(house: House) -> None:
    followers = [house.reading() for _ in range(200)]
    readers = [await follower.__aenter__() for follower in followers]
    try:
        await asyncio.sleep(0.05)
        stirs, time = 0, asyncio.get_running_loop().time
        began = time()
        for number in range(50):
            await house.tell(str(number))
            await asyncio.sleep(0)
            stirs += readers[0].subscription._stirred.is_set()  # how often it is woken
            readers[0].subscription._stirred.clear()  # as if it had looked
        assert stirs <= 10 + (time() - began) * 50  # as many a second as 200 may be told
    finally:
        for follower in followers:
            await follower.__aexit__(None, None, None)
