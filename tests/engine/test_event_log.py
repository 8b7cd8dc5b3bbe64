"""The event log: publish, read, subscribe."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from portico.adapters.crypto import AesSivSeal
from portico.engine import notifications
from portico.engine.core.errors import InvalidCursor, RunNotFound, StoreUnavailable
from portico.engine.core.event_log import Entry, EphemeralEvent
from portico.engine.event_log import (
    Cursors,
    EventPage,
    ReadRunEvents,
    StreamText,
    Text,
    WatchRun,
    WatchTopics,
)
from portico.engine.notifications import NOTIFICATIONS, NotifyPeople
from portico.guard.core.errors import LimitReached, NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.engine import MemoryEventLog
from portico.testing.guard import MemoryTaskContexts, a_person, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from tests.engine.watching import ANA, LOW, SEAL, SECRET, House, Sent, a_house
from tests.turns import settled

pytestmark = pytest.mark.usefixtures("nothing_blocks")


def an_aside(text: str, label: Label = PUBLIC) -> EphemeralEvent:
    return EphemeralEvent(
        topic="t", type="text.delta", at=BEGINNING, by=None, label=label, details={"text": text}
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
        with pytest.raises(InvalidCursor):
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


TEAM = Label(Level.TEAM)
TEXT = Text(topic="t", part="answer:1", label=TEAM)


@dataclass
class Said:
    asides: list[EphemeralEvent] = field(default_factory=list)

    def __call__(self, space: SpaceId, aside: EphemeralEvent) -> None:
        assert space == ANA.space
        self.asides.append(aside)


def telling(house: House, said: Said, every: float = 0.01) -> StreamText:
    return StreamText(log=house.log, say=said, clock=TickingClock(), every=every)


async def kept(house: House) -> list[Entry]:
    page = await house.log.read(ANA, "t", after=0, limit=1000)
    return list(page.entries)


def joined(entries: list[Entry]) -> str:
    text = ""
    for entry in entries:
        assert entry.details["offset"] == len(text)
        text += str(entry.details["text"])
    return text


@pytest.mark.requirement("engine:events:text")
async def test_each_piece_is_said_at_once_with_its_offset() -> None:
    house, said = a_house(), Said()

    async with telling(house, said)(ANA, TEXT) as text:
        for piece in ("Hel", "", "lo ", "wörld"):
            text.add(piece)

    assert [aside.details for aside in said.asides] == [
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
    assert [entry.details["done"] for entry in entries] == [False] * (len(entries) - 1) + [True]
    assert {(entry.type, entry.label) for entry in entries} == {("text.added", TEAM)}


async def test_a_text_that_is_empty_is_done_and_one_that_is_broken_off_is_not(house: House) -> None:
    async with telling(house, Said())(ANA, TEXT):
        pass

    [entry] = await kept(house)
    assert entry.details == {"part": "answer:1", "offset": 0, "text": "", "done": True}

    with pytest.raises(OSError, match="model"):
        async with telling(house, Said(), every=10)(ANA, TEXT) as text:
            text.add("half a sen")
            raise OSError("the model went away")

    [_, entry] = await kept(house)
    assert (entry.details["text"], entry.details["done"]) == ("half a sen", False)


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
    tell = StreamText(log=house.log, say=house.tails.say, clock=TickingClock(), every=0.01)
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
        self.world = InMemoryStore()
        self.world.spaces[ANN.space] = a_space()
        for each in (an_identity("ana"), an_identity("ben")):
            self.world.identities.insert((each.space, each.id), each)
        self.clock = TickingClock()
        self.log = MemoryEventLog(self.world, clock=self.clock)
        self.contexts = MemoryTaskContexts(self.world)
        self.tell = NotifyPeople(
            log=self.log, contexts=self.contexts, clock=self.clock, clean=hidden, limit=most
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
    assert entry.details == facts

    await room.contexts.raise_taint(BEN, TEAM, untrusted=True)

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

    assert [entry.details["title"] for entry in await room.heard()] == [
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
