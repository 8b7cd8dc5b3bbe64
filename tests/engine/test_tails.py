"""Following topics as they grow, and from where."""

import asyncio
from dataclasses import replace

import pytest

from portico.adapters.crypto import AesSivSeal
from portico.engine.core.errors import BadCursor, RunNotFound
from portico.engine.core.event_log import Aside
from portico.engine.event_log import Cursors, EventPage, ReadRunEvents, WatchRun, WatchTopics
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import RunId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.guard import MemoryTaskContexts, a_person, a_space, an_identity
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.engine.watching import ANA, LOW, SEAL, SECRET, House, a_house
from tests.turns import settled

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
        await settled()
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
        await settled()
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
        await settled()
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
        await settled()
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
        await settled()
        await house.tell("a")
        await reader.takes(1)

    assert reader.types == ["a"]


async def test_while_the_store_is_away_nothing_comes_and_then_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.engine.event_log._STORE_PAUSE", 0.001)
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
        await settled()
        house.log.broken = True
        async with asyncio.timeout(30):
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
        await settled()
        del house.world.streams[ANA.space, "t"]
        await house.tell("new")
        async with asyncio.timeout(30):
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


async def test_a_topic_that_is_not_there_yet_or_gone_can_be_followed(house: House) -> None:
    async with house.reading(LOW, positions={"t": 5}) as reader:
        assert await reader.is_left_alone()

    assert reader.sent == []

    async with house.reading() as reader:
        assert await reader.is_left_alone()
        await house.tell("a")
        await reader.takes(1)

    assert reader.types == ["a"]


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


RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
TOPIC = str(RUN)


def may(who: Principal, *scopes: Scope) -> Principal:
    return replace(who, scopes=frozenset(scopes))


def cursor(number: int) -> str:
    return Cursors.of(SEAL, ANA.space, [TOPIC]).text({TOPIC: number})


def watch_run(house: House) -> WatchRun:
    return WatchRun(log=house.log, seal=SEAL)


async def read(
    house: House, after: str | None = None, *, who: Principal = ANA, limit: int = 10
) -> EventPage:
    contexts = MemoryTaskContexts(house.world)
    reading = ReadRunEvents(log=house.log, seal=SEAL, contexts=contexts)
    return await reading(who, RUN, after, limit)


async def test_a_run_is_followed_from_where_one_left(house: House) -> None:
    await house.tell("run.started", "step.done", topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, None) == {TOPIC: 0}
    assert await watch_run(house)(ANA, RUN, cursor(1)) == {TOPIC: 1}
    assert await watch_run(house)(ANA, RUN, cursor(2)) == {TOPIC: 2}

    await house.tell("run.started", "run.failed", "run.resumed", topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, cursor(2)) == {TOPIC: 2}


@pytest.mark.parametrize("last", ["run.done", "run.failed", "run.cancelled", "run.stuck"])
async def test_whoever_has_had_the_last_of_a_run_has_nothing_to_follow(last: str) -> None:
    house = a_house()
    await house.tell("run.started", last, topic=TOPIC)

    assert await watch_run(house)(ANA, RUN, cursor(2)) is None
    assert await watch_run(house)(ANA, RUN, cursor(1)) == {TOPIC: 1}
    assert await watch_run(house)(ANA, RUN, None) == {TOPIC: 0}


@pytest.mark.requirement("engine:events:labels")
async def test_a_run_that_is_not_there_or_above_the_caller_is_not_found(house: House) -> None:
    await house.tell("run.started", topic=TOPIC, label=SECRET)
    above = replace(house.world.streams[ANA.space, TOPIC], label=SECRET)
    house.world.streams[ANA.space, TOPIC] = above
    low = may(LOW, Scope.RUNS_READ)

    with pytest.raises(RunNotFound):
        await watch_run(house)(low, RUN, None)
    with pytest.raises(RunNotFound):
        await read(house, who=low)
    with pytest.raises(RunNotFound):
        await watch_run(a_house())(ANA, RUN, None)


async def test_whoever_watches_is_asked_again_for_the_scope_and_for_the_run(house: House) -> None:
    await house.tell("run.started", topic=TOPIC)
    watch = watch_run(house)

    await watch.again(RUN, ANA, ANA.clearance)
    await watch.again(RUN, may(LOW, Scope.RUNS_READ), ANA.clearance)
    with pytest.raises(NotPermitted):
        await watch.again(RUN, may(ANA), ANA.clearance)
    del house.world.streams[ANA.space, TOPIC]
    with pytest.raises(RunNotFound):
        await watch.again(RUN, may(LOW, Scope.RUNS_READ), ANA.clearance)


async def test_topics_are_followed_by_those_who_may() -> None:
    watch = WatchTopics(seal=SEAL)
    here = Cursors.of(SEAL, ANA.space, ["a", "b"]).text({"a": 3, "b": 5})

    assert watch(ANA, ["a", "b"], None) == {"a": 0, "b": 0}
    assert watch(ANA, ["b", "a"], here) == {"a": 3, "b": 5}
    with pytest.raises(NotPermitted):
        watch(may(ANA), ["a"], None)
    with pytest.raises(NotPermitted):
        await watch.again(may(ANA), PUBLIC)
    await watch.again(ANA, PUBLIC)


@pytest.mark.requirement("engine:events:cursors")
async def test_nothing_ever_happens_in_a_private_topic_that_is_watched_by_its_name() -> None:
    watch = WatchTopics(seal=SEAL)
    listens = may(ANA, Scope.EVENTS_READ)
    here = Cursors.of(SEAL, ANA.space, ["runs"]).text({"runs": 3})

    assert watch(listens, ["runs", f"~talk:{RUN}"], None) == {"runs": 0}
    assert watch(listens, ["runs", f"~talk:{RUN}"], here) == {"runs": 3}
    assert watch(listens, [f"~talk:{RUN}"], None) == {}


def test_a_cursor_of_elsewhere_is_refused() -> None:
    watch = WatchTopics(seal=SEAL)
    mine = Cursors.of(SEAL, ANA.space, ["a", "b"]).text({"a": 3, "b": 5})
    stranger = a_person("ana", space=a_space("acme"))
    other_house = WatchTopics(seal=AesSivSeal.from_pepper(b"another"))

    for asked, who, topics, text in [
        (watch, ANA, ["a"], mine),
        (watch, ANA, ["a", "c"], mine),
        (watch, stranger, ["a", "b"], mine),
        (other_house, ANA, ["a", "b"], mine),
        (watch, ANA, ["a", "b"], mine[:-1]),
        (watch, ANA, ["a", "b"], mine[:-2] + "zz"),
        (watch, ANA, ["a", "b"], "é"),
        (watch, ANA, ["a", "b"], "!"),
        (watch, ANA, ["a", "b"], "MTI"),
    ]:
        with pytest.raises(BadCursor):
            asked(who, topics, text)


async def test_pages_follow_one_another_to_the_end_of_the_run(house: House) -> None:
    await house.tell("run.started", "a.b", "c.d", "run.done", topic=TOPIC)

    first = await read(house, limit=2)
    second = await read(house, first.next, limit=2)
    after = await read(house, cursor(4))

    assert [entry.type for entry in first.entries] == ["run.started", "a.b"]
    assert [entry.type for entry in second.entries] == ["c.d", "run.done"]
    assert (await read(house, second.next or cursor(4))).entries == []
    assert (after.entries, after.next) == ([], None)


async def test_while_a_run_goes_on_there_is_always_a_next_page(house: House) -> None:
    await house.tell("run.started", topic=TOPIC)

    page = await read(house)
    empty = await read(house, page.next)
    await house.tell("run.failed", "run.resumed", topic=TOPIC)
    more = await read(house, empty.next)

    assert (empty.entries, empty.next) == ([], page.next)
    assert [entry.type for entry in more.entries] == ["run.failed", "run.resumed"]
    assert more.next is not None


@pytest.mark.requirement("engine:events:labels")
async def test_a_page_tells_nothing_of_what_is_hidden_not_even_by_its_cursor(house: House) -> None:
    low = may(LOW, Scope.RUNS_READ)
    await house.tell("run.started", topic=TOPIC)
    page = await read(house, who=low)

    await house.tell("secret", topic=TOPIC, label=SECRET)

    assert await read(house, page.next, who=low) == replace(page, entries=[])
    assert await read(house, None, who=low, limit=1) == page


@pytest.mark.requirement("engine:events:reset")
async def test_a_page_says_that_where_one_stood_is_gone(house: House) -> None:
    await house.tell("run.started", "a.b", "c.d", "e.f", topic=TOPIC)
    house.log.trim(ANA.space, TOPIC, 3)

    behind = await read(house, cursor(1), limit=1)
    within = await read(house, cursor(3))
    new = await read(house)

    assert ([entry.type for entry in behind.entries], behind.trimmed) == (["c.d"], True)
    assert ([entry.type for entry in within.entries], within.trimmed) == (["e.f"], False)
    assert ([entry.type for entry in new.entries], new.trimmed) == (["c.d", "e.f"], False)


async def test_pages_are_for_those_who_may() -> None:
    with pytest.raises(NotPermitted):
        await read(a_house(), who=may(ANA))


async def test_a_program_that_reads_events_has_read_as_much_as_they_hold(house: House) -> None:
    house.world.identities.insert((ANA.space, ANA.id), an_identity("ana"))
    await house.tell("run.started", topic=TOPIC, label=Label(Level.TEAM))
    program = replace(ANA, kind=PrincipalKind.AGENT)

    await read(house, who=program)

    task = await MemoryTaskContexts(house.world).get(program)
    assert (task.label, task.untrusted) == (Label(Level.TEAM), True)
