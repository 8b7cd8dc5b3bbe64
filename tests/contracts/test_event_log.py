"""What the engine room may rely on of `EventLog`."""

import asyncio
from dataclasses import replace
from itertools import chain

import pytest

from portico.engine.core.entry import Entry, NewEntry
from portico.engine.core.errors import TopicNotFound, TopicRefused
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from tests.contracts.doors import REFUSED, Doors

SECRET = Label(Level.RESTRICTED)
TEAM = Label(Level.TEAM)
FINANCE = Label(Level.PUBLIC, frozenset({"finance"}))


def new(
    type_: str, *, topic: str = "t", label: Label = PUBLIC, topic_label: Label = PUBLIC
) -> NewEntry:
    return NewEntry(
        topic=topic, type=type_, facts={"of": type_}, label=label, topic_label=topic_label
    )


def cleared(who: Principal, label: Label) -> Principal:
    return replace(who, clearance=label)


async def types(doors: Doors, who: Principal, after: int = 0, topic: str = "t") -> list[str]:
    page = await doors.event_log.read(who, topic, after=after, limit=100)
    return [entry.type for entry in page.entries]


async def test_entries_come_back_as_they_were_told_numbered_without_a_gap(doors: Doors) -> None:
    root = await doors.founded("home")

    numbers = await doors.event_log.append(root, [new("a"), new("b")])
    later = await doors.event_log.append(root, [new("c")])

    page = await doors.event_log.read(root, "t", after=0, limit=100)
    assert (numbers, later) == ([1, 2], [3])
    assert [(entry.number, entry.type) for entry in page.entries] == [(1, "a"), (2, "b"), (3, "c")]
    assert [entry.facts for entry in page.entries] == [{"of": "a"}, {"of": "b"}, {"of": "c"}]
    assert {entry.by for entry in page.entries} == {root.id}
    assert sorted(entry.at for entry in page.entries) == [entry.at for entry in page.entries]
    assert (page.position, page.first, page.more) == (3, 1, False)


async def test_each_topic_counts_for_itself(doors: Doors) -> None:
    root = await doors.founded("home")

    numbers = await doors.event_log.append(
        root, [new("a", topic="z"), new("b", topic="y"), new("c", topic="z")]
    )

    assert numbers == [1, 1, 2]
    assert await types(doors, root, topic="z") == ["a", "c"]
    assert await types(doors, root, topic="y") == ["b"]


async def test_facts_keep_the_order_of_their_members(doors: Doors) -> None:
    root = await doors.founded("home")
    facts: JsonObject = {"z": 1, "a": {"y": None, "b": [1.5, "é"]}}

    await doors.event_log.append(root, [NewEntry(topic="t", type="a.b", facts=facts)])

    page = await doors.event_log.read(root, "t", after=0, limit=1)
    assert page.entries[0].facts == facts
    assert list(page.entries[0].facts) == ["z", "a"]


async def test_pages_follow_one_another(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.event_log.append(root, [new(str(number)) for number in range(5)])

    first = await doors.event_log.read(root, "t", after=0, limit=2)
    second = await doors.event_log.read(root, "t", after=first.position, limit=3)
    third = await doors.event_log.read(root, "t", after=second.position, limit=3)

    assert [entry.type for entry in [*first.entries, *second.entries]] == list("01234")
    assert (first.more, second.more, third.more) == (True, True, False)
    assert (third.entries, third.position) == ([], 5)


async def test_with_a_limit_of_nothing_one_learns_where_the_topic_ends(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.event_log.append(root, [new("a"), new("b")])

    page = await doors.event_log.read(root, "t", after=0, limit=0)

    assert (page.entries, page.position, page.first, page.more) == ([], 2, 1, False)


@pytest.mark.requirement("engine:events:labels")
async def test_what_is_above_the_reader_is_not_there(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), replace(SECRET, compartments=FINANCE.compartments))
    await doors.event_log.append(
        root,
        [
            new("open"),
            new("secret", label=SECRET),
            new("finance", label=FINANCE),
            new("team", label=TEAM),
        ],
    )

    assert await types(doors, cleared(root, PUBLIC)) == ["open"]
    assert await types(doors, cleared(root, TEAM)) == ["open", "team"]
    assert await types(doors, cleared(root, FINANCE)) == ["open", "finance"]
    assert await types(doors, root) == ["open", "secret", "finance", "team"]


@pytest.mark.requirement("engine:events:labels")
async def test_a_page_holds_as_many_as_asked_for_of_those_that_can_be_seen(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), SECRET)
    for number in range(6):
        await doors.event_log.append(root, [new(f"s{number}", label=SECRET), new(f"o{number}")])

    page = await doors.event_log.read(cleared(root, PUBLIC), "t", after=0, limit=4)

    assert [entry.type for entry in page.entries] == ["o0", "o1", "o2", "o3"]
    assert page.more


@pytest.mark.requirement("engine:events:labels")
async def test_a_topic_above_the_reader_is_no_topic_at_all(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), SECRET)
    low = cleared(root, TEAM)
    await doors.event_log.append(root, [new("a", topic_label=SECRET)])

    with pytest.raises(TopicNotFound):
        await doors.event_log.read(low, "t", after=0, limit=1)
    with pytest.raises(TopicNotFound):
        await doors.event_log.read(low, "nowhere", after=0, limit=1)
    with pytest.raises(TopicRefused):
        await doors.event_log.append(low, [new("b")])


@pytest.mark.requirement("engine:events:labels")
async def test_an_entry_is_never_less_secret_than_its_topic(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), replace(SECRET, compartments=FINANCE.compartments))
    await doors.event_log.append(root, [new("a", topic_label=TEAM), new("b", label=FINANCE)])

    page = await doors.event_log.read(root, "t", after=0, limit=2)

    assert [str(entry.label) for entry in page.entries] == ["team", "team+finance"]


@pytest.mark.requirement("engine:events:labels")
async def test_nobody_writes_above_their_clearance_and_nothing_of_it_stays(doors: Doors) -> None:
    root = cleared(await doors.founded("home"), TEAM)

    with pytest.raises(TopicRefused):
        await doors.event_log.append(root, [new("a"), new("b", label=SECRET)])
    with pytest.raises(TopicRefused):
        await doors.event_log.append(root, [new("a", topic="u", topic_label=SECRET)])

    assert await doors.event_log.append(root, [new("c"), new("d", topic="u")]) == [1, 1]


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_topic_of_another_space_is_another_topic(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.event_log.append(home, [new("a")])

    with pytest.raises(TopicNotFound):
        await doors.event_log.read(acme, "t", after=0, limit=1)
    assert await doors.event_log.append(acme, [new("b")]) == [1]
    assert await types(doors, home) == ["a"]


async def test_there_is_no_log_outside_of_a_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.spaces.delete(root)

    with pytest.raises(REFUSED):
        await doors.event_log.append(root, [new("a")])


async def test_what_is_told_in_something_that_fails_was_not_told(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(OSError, match="the disk is full"):
        async with doors.together(root):
            await doors.event_log.append(root, [new("a")])
            raise OSError("the disk is full")

    assert await doors.event_log.append(root, [new("b")]) == [1]
    assert await types(doors, root) == ["b"]


@pytest.mark.requirement("engine:events:gap-free")
async def test_whoever_appends_at_once_gets_numbers_of_their_own(doors: Doors) -> None:
    root = await doors.founded("home")

    async def told(who: int) -> list[int]:
        numbers: list[int] = []
        for number in range(10):
            numbers += await doors.event_log.append(root, [new(f"{who}-{number}")])
        return numbers

    numbers = await asyncio.gather(*(told(who) for who in range(4)))

    page = await doors.event_log.read(root, "t", after=0, limit=100)
    assert sorted(chain.from_iterable(numbers)) == list(range(1, 41))
    assert [entry.number for entry in page.entries] == list(range(1, 41))
    for who in range(4):
        mine = [entry.type for entry in page.entries if entry.type.startswith(f"{who}-")]
        assert mine == [f"{who}-{number}" for number in range(10)]


async def test_two_who_tell_the_same_topics_in_another_order_do_not_wait_for_each_other(
    doors: Doors,
) -> None:
    root = await doors.founded("home")
    there, back = (
        [new("a", topic="x"), new("b", topic="y")],
        [
            new("c", topic="y"),
            new("d", topic="x"),
        ],
    )

    async def told(entries: list[NewEntry]) -> None:
        for _ in range(10):
            await doors.event_log.append(root, entries)

    await asyncio.gather(told(there), told(back), told(there), told(back))

    ends = [await doors.event_log.read(root, topic, after=0, limit=0) for topic in "xy"]
    assert [page.position for page in ends] == [40, 40]


async def test_an_append_wakes_whoever_listens_once_it_can_be_read(doors: Doors) -> None:
    root = await doors.founded("home")
    seen: list[Entry] = []

    async def reading() -> None:
        with doors.bus.listen(root.space, "t") as ear:
            listening.set()
            async with asyncio.timeout(20):
                await ear.wait()
            page = await doors.event_log.read(root, "t", after=0, limit=10)
            seen.extend(page.entries)

    listening = asyncio.Event()
    reader = asyncio.create_task(reading())
    await listening.wait()
    await doors.event_log.append(root, [new("a")])
    await reader

    assert [entry.type for entry in seen] == ["a"]


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_log_goes_with_its_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.event_log.append(root, [new("a")])

    await doors.spaces.delete(root)

    again = await doors.founded("home")
    with pytest.raises(TopicNotFound):
        await doors.event_log.read(again, "t", after=0, limit=1)


async def test_whoever_stood_in_a_topic_that_is_gone_begins_anew(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.event_log.append(root, [new("a")])

    page = await doors.event_log.read(root, "t", after=7, limit=10)

    assert ([entry.type for entry in page.entries], page.position) == (["a"], 1)
