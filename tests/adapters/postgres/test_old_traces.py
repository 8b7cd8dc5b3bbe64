"""Traces are forgotten after a while, with all that is in them; those of runs that are on are
not."""

from dataclasses import replace
from datetime import timedelta
from typing import LiteralString

import pytest

from portico.adapters.joins.agent_talk import talk_topic
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.traces import PostgresTraces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.trace import RunTrace
from portico.engine.core.retention import Keep
from portico.guard.core.authentication import as_principal
from portico.guard.manage_spaces import InstallHome, SpaceWish
from portico.kernel.principal import Principal
from portico.testing.agent_data import a_saying, a_turn, a_use, an_agent_run
from portico.testing.audit import MemoryAudit

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

_GOING_ON: LiteralString = """
    INSERT INTO run (space_id, run_id, principal_id, kind, fingerprint, level, clearance_level,
                     queue, status, input, created_at)
    VALUES (%(space)s, %(run)s, %(principal)s, 'agent', 'f', 1, 1, 'runs', 'waiting', '{}', %(at)s)
"""
_TOPIC: LiteralString = """
    INSERT INTO stream (space_id, topic, level, last) VALUES (%(space)s, %(topic)s, 1, 0)
"""


async def traced(traces: PostgresTraces, caller: Principal, run: RunTrace) -> None:
    await traces.begin(caller, run, a_saying(run))
    await traces.add_turn(caller, a_turn(run))
    await traces.add_use(caller, a_use(run))


async def test_old_ones_go_and_what_is_on_stays(embedded_database: Addresses) -> None:
    clock, engine = SystemClock(), EnginePool(str(embedded_database.engine))
    now = clock.now()
    long_ago = now - timedelta(days=91)
    async with open_pool(embedded_database.app, 2) as pool, engine.pool:
        transactions = Transactions(pool)
        install = InstallHome(
            spaces=PostgresSpaces(transactions),
            together=transactions.begin,
            audit=MemoryAudit(),
            clock=clock,
            entropy=system_entropy,
            pepper=b"p",
        )
        ana = as_principal((await install(SpaceWish(name="home", admin="ana"))).admin)
        traces = PostgresTraces(transactions)
        old, on, young = (
            an_agent_run(ana, 1, at=long_ago),
            an_agent_run(ana, 2, at=long_ago),
            an_agent_run(ana, 3, at=now),
        )
        for run in (old, on, young):
            await traced(traces, ana, run)
        async with transactions.begin(ana) as connection:
            values = {"space": ana.space.value, "run": on.run.value, "principal": ana.id.value}
            await connection.execute(_GOING_ON, {**values, "at": long_ago})

            for run in (old, on):
                topic = {"space": ana.space.value, "topic": talk_topic(run.run)}
                await connection.execute(_TOPIC, topic)

        gone = await PostgresRetention(engine).forget(Keep())

        with pytest.raises(AgentRunNotFound):
            await traces.read(ana, old.run)
        assert len((await traces.read(ana, on.run)).turns) == 1
        assert len((await traces.read(ana, young.run)).uses) == 1
        await traces.begin(ana, replace(old, started_at=now), a_saying(old))
        again = await traces.read(ana, old.run)
        async with transactions.begin(ana) as connection:
            topics = await (await connection.execute("SELECT topic FROM stream")).fetchall()
    assert gone.traces == 1
    assert (again.turns, again.uses) == ((), ())
    assert [row["topic"] for row in topics] == [talk_topic(on.run)]
