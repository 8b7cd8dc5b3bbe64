"""What should never happen, and is put right all the same: runs that nobody put in line, legs that
ended without their run, processes that go by one name."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from portico.adapters.dbos.late_line import LateLine
from portico.adapters.dbos.tables import DbosTables
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.lease import Lease
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.run import Leg, Place, RunStatus, Turn
from portico.engine.kinds import Kind
from portico.kernel.durable import Durable
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.engines import Engine, dbos_engine

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(90)]


async def quick(durable: Durable, _given: JsonObject) -> JsonValue:
    async def act(_key: str) -> JsonValue:
        return "done"

    return await durable.step("only", act)


async def waits(durable: Durable, _given: JsonObject) -> JsonValue:
    return await durable.wait_for_signal("answer")


@pytest.fixture
async def engine(embedded_database: Addresses) -> AsyncIterator[Engine]:
    kinds = [Kind(name="quick", work=quick), Kind(name="waits", work=waits)]
    async with dbos_engine(embedded_database, kinds, []) as made:
        yield made


def owner_does(addresses: Addresses, statement: str) -> int:
    with psycopg.connect(str(addresses.owner), autocommit=True) as owner:
        return owner.execute(statement.encode()).rowcount


async def test_a_run_that_nobody_put_in_line_is_found(
    engine: Engine, embedded_database: Addresses
) -> None:
    engine.hold()
    run = await engine.started("quick")
    engine.line.forget()
    engine.let_go()
    assert owner_does(embedded_database, _AGED) == 1

    assert (await engine.over(run.id)).status is RunStatus.DONE


async def test_a_run_goes_on_in_a_database_that_has_lost_the_tables_of_the_line(
    engine: Engine, embedded_database: Addresses
) -> None:
    """As one that was restored from a backup: those tables are in none."""
    run = await engine.started("waits")
    await engine.waiting(run.id)
    owner_does(embedded_database, "DELETE FROM dbos.workflow_status")

    await engine.signal(engine.ana, run.id, "answer", "here")

    assert (await engine.over(run.id)).result == "here"


async def test_a_leg_that_ended_without_its_run_is_followed_by_another(
    engine: Engine, embedded_database: Addresses
) -> None:
    run = await engine.started("quick")
    await engine.over(run.id)
    owner_does(
        embedded_database,
        "UPDATE portico.run SET status = 'running', finished_at = NULL, result = NULL,"
        " changed_at = now() - interval '1 minute'",
    )

    ended = await engine.over(run.id)

    assert (ended.status, ended.leg) == (RunStatus.DONE, 2)


_AGED = "UPDATE portico.run SET changed_at = now() - interval '1 minute'"


async def test_a_lease_is_had_by_one_and_known_to_be_lost(embedded_database: Addresses) -> None:
    address = str(embedded_database.engine)

    async with Lease(address, "one").held() as held:
        with pytest.raises(StoreUnavailable):
            async with Lease(address, "one").held():
                pass
        async with Lease(address, "other").held():
            pass
        losing = asyncio.ensure_future(held.lost())
        await asyncio.sleep(0.1)
        with psycopg.connect(str(embedded_database.admin), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'portico lease one'"
            )
        async with asyncio.timeout(10):
            await losing
    async with Lease(address, "one").held():
        pass


async def test_the_tables_of_the_line_are_made_once(embedded_database: Addresses) -> None:
    tables = DbosTables(str(embedded_database.owner))

    await tables.migrate()
    before = _companion(embedded_database)
    await tables.migrate()

    assert _companion(embedded_database) == before


def _companion(addresses: Addresses) -> object:
    with psycopg.connect(str(addresses.owner)) as owner:
        return owner.execute("SELECT version, migrated_at FROM portico.companion").fetchone()


class Noted:
    """A line that only remembers who was there."""

    def __init__(self) -> None:
        self.joined: list[Turn] = []
        self.left: list[Leg] = []

    async def join(self, turn: Turn) -> None:
        self.joined.append(turn)

    async def leave(self, leg: Leg) -> None:
        self.left.append(leg)


async def test_whoever_joins_before_there_is_a_line_is_put_there_when_it_comes() -> None:
    late, line = LateLine(), Noted()
    legs = [Leg(RunId.mint(BEGINNING, SeededEntropy(n)), 1) for n in range(3)]
    turns = [Turn(leg, Place()) for leg in legs]

    await late.join(turns[0])
    await late.join(turns[1])
    await late.leave(legs[1])
    await late.bring(line)
    await late.join(turns[2])
    await late.leave(legs[2])

    assert line.joined == [turns[0], turns[2]]
    assert line.left == [legs[2]]
