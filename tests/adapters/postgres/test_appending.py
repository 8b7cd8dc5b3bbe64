"""Appends that go together: each with its own rights, in its own order, at its own risk."""

import asyncio
from dataclasses import dataclass, replace

import psycopg
import pytest

from portico.adapters.inline.bus import InlineBus
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.event_log import PostgresEventLog
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.entry import NewEntry
from portico.engine.core.errors import TopicRefused
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from tests.adapters.postgres.conftest import Install

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


@dataclass(frozen=True)
class Room:
    log: PostgresEventLog
    ana: Principal
    eve: Principal


@pytest.fixture
async def room(transactions: Transactions, ana: Principal, install: Install) -> Room:
    log = PostgresEventLog(transactions, InlineBus(), SystemClock(), system_entropy)
    return Room(log, ana, await install(transactions, "elsewhere"))


def news(topic: str, number: int, label: Label = PUBLIC) -> NewEntry:
    return NewEntry(topic=topic, type="x.y", facts={"n": number}, label=label)


async def test_each_has_the_number_that_it_is_told_and_no_number_is_left_out(room: Room) -> None:
    topics = ["b", "a", "c"]

    numbers = await asyncio.gather(
        *(room.log.append(room.ana, [news(topics[n % 3], n)]) for n in range(150))
    )

    for place, topic in enumerate(topics):
        page = await room.log.read(room.ana, topic, after=0, limit=999)
        assert [entry.number for entry in page.entries] == list(range(1, 51))
        there = {entry.facts["n"]: entry.number for entry in page.entries}
        assert there == {n: numbers[n][0] for n in range(place, 150, 3)}


async def test_whoever_waits_for_one_before_the_next_finds_them_in_that_order(room: Room) -> None:
    async def writer(name: str) -> None:
        for number in range(40):
            entry = NewEntry(topic="t", type="x.y", facts={"by": name, "n": number})
            await room.log.append(room.ana, [entry])

    await asyncio.gather(*(writer(name) for name in "abcdef"))

    page = await room.log.read(room.ana, "t", after=0, limit=999)
    for name in "abcdef":
        theirs = [e.facts["n"] for e in page.entries if e.facts["by"] == name]
        assert theirs == list(range(40))


async def test_one_that_is_refused_does_not_take_the_others_with_it(room: Room) -> None:
    low = replace(room.ana, clearance=PUBLIC)
    secret = Label(Level.TEAM)

    given = await asyncio.gather(
        room.log.append(room.ana, [news("t", 1)]),
        room.log.append(room.ana, [news("t", 2)]),
        room.log.append(low, [news("t", 3, secret)]),
        room.log.append(room.ana, [news("t", 4)]),
        return_exceptions=True,
    )

    assert given[0] == [1]
    assert isinstance(given[2], TopicRefused)
    page = await room.log.read(room.ana, "t", after=0, limit=9)
    assert [entry.facts["n"] for entry in page.entries] == [1, 2, 4]


async def test_each_is_written_into_its_own_space_by_its_own_hand(room: Room) -> None:
    await asyncio.gather(
        *(room.log.append(who, [news("t", 1)]) for who in (room.ana, room.eve, room.ana))
    )

    for who, count in ((room.ana, 2), (room.eve, 1)):
        page = await room.log.read(who, "t", after=0, limit=9)
        assert [entry.by for entry in page.entries] == [who.id] * count


async def test_one_who_gives_up_waiting_does_not_hold_up_the_others(
    room: Room, embedded_database: Addresses
) -> None:
    with psycopg.connect(str(embedded_database.owner)) as owner:
        await room.log.append(room.ana, [news("held", 0)])
        owner.execute("SELECT 1 FROM portico.stream WHERE topic = 'held' FOR UPDATE")
        waiting = [
            asyncio.ensure_future(room.log.append(room.ana, [news("held", n)])) for n in (1, 2)
        ]
        await asyncio.sleep(0.1)
        waiting[0].cancel()
        owner.rollback()

        assert await waiting[1]

    page = await room.log.read(room.ana, "held", after=0, limit=9)
    assert [entry.number for entry in page.entries] == [1, 2, 3]
