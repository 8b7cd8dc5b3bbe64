"""What the engine room may rely on of `EventLog`, and of `Bus`: little, and across processes."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain

import pytest

from portico.engine.core.errors import TopicNotFound, TopicRefused
from portico.engine.core.event_log import Entry, NewEntry
from portico.engine.ports import EventLog, Wakeups
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import a_space
from tests.contracts.doors import REFUSED, Doors

HOME, ACME = a_space("home").id, a_space("acme").id
PATIENCE = 30.0
SECRET = Label(Level.RESTRICTED)
TEAM = Label(Level.TEAM)
FINANCE = Label(Level.PUBLIC, frozenset({"finance"}))


@pytest.fixture
def log(doors: Doors) -> EventLog:
    return doors.event_log


@pytest.fixture
def high(root: Principal) -> Principal:
    """Cleared for all that there is here."""
    return cleared(root, replace(SECRET, compartments=FINANCE.compartments))


def new(
    type_: str, *, topic: str = "t", label: Label = PUBLIC, topic_label: Label = PUBLIC
) -> NewEntry:
    return NewEntry(
        topic=topic, type=type_, details={"of": type_}, label=label, topic_label=topic_label
    )


def cleared(who: Principal, label: Label) -> Principal:
    return replace(who, clearance=label)


async def types(log: EventLog, who: Principal, after: int = 0, topic: str = "t") -> list[str]:
    page = await log.read(who, topic, after=after, limit=100)
    return [entry.type for entry in page.entries]


async def test_entries_come_back_as_they_were_told_numbered_without_a_gap(
    log: EventLog, root: Principal
) -> None:
    facts: JsonObject = {"z": 1, "a": {"y": None, "b": [1.5, "é"]}}

    numbers = await log.append(root, [new("a"), new("b", topic="other"), new("c")])
    later = await log.append(root, [NewEntry(topic="t", type="d.e", details=facts)])

    page = await log.read(root, "t", after=0, limit=100)
    assert (numbers, later) == ([1, 1, 2], [3])
    told = [(entry.number, entry.type, entry.details) for entry in page.entries]
    assert told == [(1, "a", {"of": "a"}), (2, "c", {"of": "c"}), (3, "d.e", facts)]
    assert list(page.entries[-1].details) == ["z", "a"]
    assert {entry.by for entry in page.entries} == {root.id}
    assert sorted(entry.at for entry in page.entries) == [entry.at for entry in page.entries]
    assert (page.position, page.first, page.more) == (3, 1, False)
    assert await types(log, root, topic="other") == ["b"]


async def test_pages_follow_one_another(log: EventLog, root: Principal) -> None:
    """With a limit of nothing one learns where the topic ends; whoever stood in one that is gone
    begins anew."""
    await log.append(root, [new(str(number)) for number in range(5)])

    first = await log.read(root, "t", after=0, limit=2)
    second = await log.read(root, "t", after=first.position, limit=3)
    third = await log.read(root, "t", after=second.position, limit=3)
    end = await log.read(root, "t", after=0, limit=0)

    assert [entry.type for entry in [*first.entries, *second.entries]] == list("01234")
    assert (first.more, second.more, third.more) == (True, True, False)
    assert (third.entries, third.position) == ([], 5)
    assert (end.entries, end.position, end.first, end.more) == ([], 5, 1, False)
    assert await types(log, root, after=7) == list("01234")


@pytest.mark.requirement("engine:events:labels")
async def test_what_is_above_the_reader_is_not_there_and_does_not_shorten_a_page(
    log: EventLog, high: Principal
) -> None:
    labels = {"open": PUBLIC, "secret": SECRET, "finance": FINANCE, "team": TEAM}
    await log.append(high, [new(name, label=label) for name, label in labels.items()])
    for number in range(6):
        told = [new(f"s{number}", topic="u", label=SECRET), new(f"o{number}", topic="u")]
        await log.append(high, told)

    assert await types(log, cleared(high, PUBLIC)) == ["open"]
    assert await types(log, cleared(high, TEAM)) == ["open", "team"]
    assert await types(log, cleared(high, FINANCE)) == ["open", "finance"]
    assert await types(log, high) == ["open", "secret", "finance", "team"]
    page = await log.read(cleared(high, PUBLIC), "u", after=0, limit=4)
    assert [entry.type for entry in page.entries] == ["o0", "o1", "o2", "o3"]
    assert page.more


@pytest.mark.requirement("engine:events:labels")
async def test_a_topic_above_the_reader_is_no_topic_at_all(log: EventLog, high: Principal) -> None:
    low = cleared(high, TEAM)
    await log.append(high, [new("a", topic_label=SECRET)])

    for topic in ("t", "nowhere"):
        with pytest.raises(TopicNotFound):
            await log.read(low, topic, after=0, limit=1)
    with pytest.raises(TopicRefused):
        await log.append(low, [new("b")])


@pytest.mark.requirement("engine:events:labels")
async def test_an_entry_is_never_less_secret_than_its_topic_and_never_above_its_writer(
    log: EventLog, high: Principal
) -> None:
    low = cleared(high, TEAM)
    await log.append(high, [new("a", topic_label=TEAM), new("b", label=FINANCE)])
    page = await log.read(high, "t", after=0, limit=2)
    assert [str(entry.label) for entry in page.entries] == ["team", "team+finance"]

    with pytest.raises(TopicRefused):
        await log.append(low, [new("a", topic="u"), new("b", topic="u", label=SECRET)])
    with pytest.raises(TopicRefused):
        await log.append(low, [new("a", topic="v", topic_label=SECRET)])
    assert await log.append(low, [new("c", topic="u"), new("d", topic="v")]) == [1, 1]


@pytest.mark.requirement("guard:spaces:walls")
@pytest.mark.requirement("guard:spaces:delete")
async def test_a_log_is_of_its_space_and_goes_with_it(doors: Doors, root: Principal) -> None:
    log, acme = doors.event_log, await doors.founded("acme")
    await log.append(root, [new("a")])

    with pytest.raises(TopicNotFound):
        await log.read(acme, "t", after=0, limit=1)
    assert await log.append(acme, [new("b")]) == [1]
    assert await types(log, root) == ["a"]

    await doors.spaces.delete(root)
    with pytest.raises(REFUSED):
        await log.append(root, [new("a")])
    again = await doors.founded("home")
    with pytest.raises(TopicNotFound):
        await log.read(again, "t", after=0, limit=1)


async def test_what_is_told_in_something_that_fails_was_not_told(
    doors: Doors, root: Principal
) -> None:
    with pytest.raises(OSError, match="the disk is full"):
        async with doors.together(root):
            await doors.event_log.append(root, [new("a")])
            raise OSError("the disk is full")

    assert await doors.event_log.append(root, [new("b")]) == [1]
    assert await types(doors.event_log, root) == ["b"]


@pytest.mark.requirement("engine:events:gap-free")
async def test_whoever_appends_at_once_gets_numbers_of_their_own(
    log: EventLog, root: Principal
) -> None:
    async def told(who: int) -> list[int]:
        numbers: list[int] = []
        for number in range(10):
            numbers += await log.append(root, [new(f"{who}-{number}")])
        return numbers

    numbers = await asyncio.gather(*(told(who) for who in range(4)))

    page = await log.read(root, "t", after=0, limit=100)
    assert sorted(chain.from_iterable(numbers)) == list(range(1, 41))
    assert [entry.number for entry in page.entries] == list(range(1, 41))
    for who in range(4):
        mine = [entry.type for entry in page.entries if entry.type.startswith(f"{who}-")]
        assert mine == [f"{who}-{number}" for number in range(10)]


async def test_two_who_tell_the_same_topics_in_another_order_do_not_wait_for_each_other(
    log: EventLog, root: Principal
) -> None:
    there = [new("a", topic="x"), new("b", topic="y")]

    async def told(entries: list[NewEntry]) -> None:
        for _ in range(10):
            await log.append(root, entries)

    await asyncio.gather(*(told(each) for each in (there, there[::-1]) * 2))

    ends = [await log.read(root, topic, after=0, limit=0) for topic in "xy"]
    assert [page.position for page in ends] == [40, 40]


async def test_an_append_wakes_whoever_listens_once_it_can_be_read(
    doors: Doors, root: Principal
) -> None:
    seen: list[Entry] = []

    async def reading() -> None:
        with doors.bus.listen(root.space, "t") as ear:
            listening.set()
            await heard(ear)
            page = await doors.event_log.read(root, "t", after=0, limit=10)
            seen.extend(page.entries)

    listening = asyncio.Event()
    reader = asyncio.create_task(reading())
    await listening.wait()
    await doors.event_log.append(root, [new("a")])
    await reader

    assert [entry.type for entry in seen] == ["a"]


async def heard(wakeups: Wakeups) -> None:
    async with asyncio.timeout(PATIENCE):
        await wakeups.wait()


async def is_quiet(wakeups: Wakeups) -> bool:
    try:
        async with asyncio.timeout(0.2):
            await wakeups.wait()
    except TimeoutError:
        return True
    return False


async def connected(doors: Doors) -> None:
    """What is said before a process listens is not heard there."""
    for bus, other in ((doors.bus, doors.elsewhere), (doors.elsewhere, doors.bus)):
        with bus.listen(HOME, "connected") as ear:
            while True:
                other.wake(HOME, "connected")
                if not await is_quiet(ear):
                    break


async def test_all_who_listen_here_or_elsewhere_are_woken_by_their_topic_alone(
    doors: Doors,
) -> None:
    """What was said while one did not wait is remembered once; whoever has left hears nothing."""
    await connected(doors)
    here, there = doors.bus, doors.elsewhere

    with (
        here.listen(HOME, "r") as one,
        here.listen(HOME, "r") as two,
        there.listen(HOME, "r") as it,
    ):
        with here.listen(HOME, "r") as leaves:
            pass
        for space, topic in ((HOME, "other"), (ACME, "r")):
            here.wake(space, topic)
        for ear in (one, it):
            assert await is_quiet(ear)

        for _ in range(5):
            here.wake(HOME, "r")
        for ear in (one, two, it):
            await heard(ear)
        for ear in (one, leaves):
            assert await is_quiet(ear)


async def test_many_topics_at_once_all_arrive(doors: Doors) -> None:
    await connected(doors)
    topics = [f"topic {number} {'é' * 150}" for number in range(300)]

    with ExitStack() as open_ones:
        ears = [open_ones.enter_context(doors.elsewhere.listen(HOME, topic)) for topic in topics]
        for topic in topics:
            doors.bus.wake(HOME, topic)

        for ear in ears:
            await heard(ear)
