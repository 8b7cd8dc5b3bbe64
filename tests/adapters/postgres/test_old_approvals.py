"""Requests are forgotten with the calls of their time, but for what nobody knows the end of."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.approvals import PostgresApprovals
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.retention import Keep
from portico.guard.core.approval import Outcome
from portico.guard.core.authentication import as_principal
from portico.guard.manage_spaces import InstallHome, SpaceWish
from portico.testing.audit import MemoryAudit
from tests.guard.approvals import an_act, an_approval, approved

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


async def test_old_ones_go_and_uncertain_ones_stay(embedded_database: Addresses) -> None:
    clock, engine = SystemClock(), EnginePool(str(embedded_database.engine))
    long_ago = clock.now() - timedelta(days=91)
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
        approvals = PostgresApprovals(transactions)
        old = an_approval(ana, "old", at=long_ago)
        young = an_approval(ana, "young", act=an_act(ana, path="/b"), at=clock.now())
        unknown = an_approval(ana, "unknown", act=an_act(ana, path="/c"), at=long_ago)
        for each in (old, young, unknown):
            await approvals.add(ana, each, b"sealed")
        await approvals.answer(ana, approved(unknown, ana, at=long_ago), long_ago)
        await approvals.claim(ana, unknown.id, long_ago)
        await approvals.end(ana, replace(unknown, outcome=Outcome.UNCERTAIN))

        gone = await PostgresRetention(engine).forget(Keep())

        left = await approvals.page(
            ana, of=None, statuses=(), before=None, now=clock.now(), limit=9
        )
    assert gone.approvals == 1
    assert {each.id for each in left} == {young.id, unknown.id}
