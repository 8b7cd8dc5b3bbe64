"""Debates stay until somebody says otherwise; then those that are over go, with all of theirs."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.debate_rows import talk_topic
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.debate.core.debate import Debate, DebateId, DebateStatus
from portico.engine.core.entry import NewEntry
from portico.engine.core.errors import TopicNotFound
from portico.engine.core.retention import Keep
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import TEAM, cleared_root
from tests.contracts.debate_table import a_debate, cost, said
from tests.contracts.doors import Doors, postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

NOW = SystemClock().now()
MONTH = Keep(debates=timedelta(days=30))


@dataclass(frozen=True)
class Room:
    doors: Doors
    retention: PostgresRetention
    root: Principal

    async def held(self, name: str, days: int | None, *, part_of: DebateId | None = None) -> Debate:
        """One that was over so many days ago, or is still on."""
        debate = a_debate(self.root, name, part_of=part_of)
        await self.doors.debates.begin(self.root, debate)
        await self.doors.debates.note(self.root, debate.id, said(), TEAM)
        await self.doors.purse.reserve(self.root, debate.id, "said", cost(1))
        told = NewEntry(topic=talk_topic(debate.id), type="standing", label=TEAM, topic_label=TEAM)
        await self.doors.event_log.append(self.root, [told])
        if days is not None:
            at = NOW - timedelta(days=days)
            await self.doors.debates.end(self.root, debate.id, DebateStatus.STOPPED, None, at=at)
        return debate

    async def left(self) -> set[DebateId]:
        found = await self.doors.debates.page(
            self.root, project=None, status=None, words=None, after=None, limit=50
        )
        return {each.id for each in found}


@pytest.fixture
async def room(embedded_database: Addresses) -> AsyncIterator[Room]:
    engine = EnginePool(str(embedded_database.engine))
    bus = PostgresBus(embedded_database.app, system_entropy)
    async with open_pool(embedded_database.app, 3) as pool, engine.pool:
        doors = postgres_doors(Transactions(pool), bus, bus)
        yield Room(doors, PostgresRetention(engine), await cleared_root(doors))


async def test_debates_are_kept_unless_somebody_says_otherwise(room: Room) -> None:
    debate = await room.held("old", 5000)

    assert (await room.retention.forget(Keep())).debates == 0
    assert await room.left() == {debate.id}


async def test_what_is_long_over_goes_with_its_parts_and_what_was_told_of_it(room: Room) -> None:
    old, lately, running = [await room.held(*each) for each in (("a", 40), ("b", 3), ("c", None))]
    part = await room.held("part", 3, part_of=old.id)

    assert (await room.retention.forget(MONTH)).debates == 2

    assert await room.left() == {lately.id, running.id}
    for gone in (old, part):
        with pytest.raises(TopicNotFound):
            await room.doors.event_log.read(room.root, talk_topic(gone.id), after=0, limit=1)
    kept = await room.doors.event_log.read(room.root, talk_topic(lately.id), after=0, limit=9)
    assert len(kept.entries) == 1
    assert (await room.retention.forget(MONTH)).debates == 0


async def test_an_analysis_of_which_a_part_is_still_on_stays(room: Room) -> None:
    whole = await room.held("whole", 40)
    await room.held("part", None, part_of=whole.id)

    assert (await room.retention.forget(MONTH)).debates == 0
    assert await room.left() == {whole.id}
