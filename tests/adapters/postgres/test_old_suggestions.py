"""Plans that nobody ran again, and what was suggested, are forgotten with the calls of their
time."""

from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.engine_pool import EnginePool
from portico.adapters.postgres.past_plans import PostgresPastPlans
from portico.adapters.postgres.retention import PostgresRetention
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.suggestions import PostgresSuggestions
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.core.retention import Keep
from portico.guard.core.authentication import as_principal
from portico.guard.manage_spaces import InstallHome, SpaceWish
from portico.testing.audit import MemoryAudit
from portico.testing.suggestions import a_past_plan, a_suggestion

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]


async def test_old_ones_go_and_so_do_those_that_are_too_many(embedded_database: Addresses) -> None:
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
        plans, suggestions = PostgresPastPlans(transactions), PostgresSuggestions(transactions)
        await plans.learn(ana, a_past_plan(ana, "old", at=long_ago))
        for minutes, intent in enumerate(("one", "two", "three")):
            await plans.learn(ana, a_past_plan(ana, intent, at=now - timedelta(minutes=minutes)))
        await suggestions.keep(ana, a_suggestion(ana, "old", at=long_ago))
        await suggestions.keep(ana, a_suggestion(ana, "older", at=now - timedelta(hours=1)))
        await suggestions.keep(ana, young := a_suggestion(ana, "young", at=now))

        gone = await PostgresRetention(engine).forget(Keep(most_past_plans=2, most_suggestions=1))

        left = await plans.latest(ana, 10, 10)
        kept = await suggestions.latest(ana, 10)
    assert (gone.past_plans, gone.suggestions) == (2, 2)
    assert [plan.intent for plan in left] == ["one", "two"]
    assert kept == [young]
