"""What a project remembers stays; what it was before, and what was forgotten, goes in time."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.errors import MemoryNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.project import ProjectId
from portico.engine.core.retention import Keep
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root
from tests.contracts.doors import Doors, postgres_doors

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

NOW = SystemClock().now()
MONTH = Keep(memory=timedelta(days=30))


@dataclass(frozen=True)
class Room:
    doors: Doors
    retention: PostgresRetention
    root: Principal
    project: ProjectId

    async def put(
        self, key: str, value: str, days: int, *, label: Label = TEAM, expires: int | None = None
    ) -> None:
        """So many days ago."""
        until = None if expires is None else NOW - timedelta(days=expires)
        wanted = ToRemember(project=self.project, key=key, value=value, expires_at=until)
        await self.doors.memory.put(self.root, wanted, label, NOW - timedelta(days=days))

    async def forget(self, key: str, days: int) -> None:
        at = NOW - timedelta(days=days)
        await self.doors.memory.forget(self.root, self.project, key, TEAM, at)

    async def history(self, key: str) -> list[object]:
        found = await self.doors.memory.versions(self.root, self.project, key, 50)
        return [each.value for each in found]


@pytest.fixture
async def room(embedded_database: Addresses) -> AsyncIterator[Room]:
    engine = EnginePool(str(embedded_database.engine))
    bus = PostgresBus(embedded_database.app, system_entropy)
    async with open_pool(embedded_database.app, 3) as pool, engine.pool:
        doors = postgres_doors(Transactions(pool), bus, bus)
        root = await cleared_root(doors)
        project = await a_project(doors, root)
        yield Room(doors, PostgresRetention(engine), root, project.id)


async def test_all_of_it_is_kept_unless_somebody_says_otherwise(room: Room) -> None:
    await room.put("plan", "one", 5000)
    await room.put("plan", "two", 4000)

    assert (await room.retention.forget(Keep())).memory == 0
    assert await room.history("plan") == ["two", "one"]


async def test_what_was_followed_long_ago_goes_and_the_last_stays(room: Room) -> None:
    for value, days in (("one", 90), ("two", 60), ("three", 20), ("four", 10)):
        await room.put("plan", value, days)
    await room.put("old", "as ever", 900)
    await room.put("plan", "apart", 900, label=FINANCE)

    assert (await room.retention.forget(MONTH)).memory == 1

    assert await room.history("plan") == ["apart", "four", "three", "two"]
    assert await room.history("old") == ["as ever"]
    assert (await room.retention.forget(MONTH)).memory == 0


async def test_what_is_over_goes_whole_and_nothing_before_it_comes_up_again(room: Room) -> None:
    await room.put("gone", "one", 90)
    await room.put("gone", "two", 80)
    await room.forget("gone", 60)
    await room.put("just", "one", 90)
    await room.forget("just", 10)
    await room.put("expired", "one", 90, expires=60)
    await room.put("expiring", "one", 90, expires=10)

    assert (await room.retention.forget(MONTH)).memory == 4

    assert await room.history("gone") == []
    assert await room.history("just") == [None, "one"]
    assert await room.history("expired") == []
    assert await room.history("expiring") == ["one"]
    with pytest.raises(MemoryNotFound):
        await room.doors.memory.get(room.root, room.project, "just")
