"""Four processes spend from one budget as fast as they can: no cap is ever passed."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.guard.budgets import PostgresBudgets
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.guard.core.authentication import as_principal
from portico.guard.core.keys import ApiKey
from portico.kernel.budget import Cost, Tokens
from portico.testing.guard import a_space, an_identity
from portico.testing.memory_store import SeededEntropy
from tests.contracts.doors import PEPPER, a_key
from tests.scenarios.budget_spender import Job

pytestmark = [pytest.mark.scenario, pytest.mark.postgres]


@pytest.mark.requirement("guard:budgets:never-passed")
@pytest.mark.parametrize(
    ("cap", "short"),
    [
        (Cost(tokens=Tokens(10_000), money=Decimal(100), time=timedelta(1), calls=200), "calls"),
        (Cost(tokens=Tokens(2_000), money=Decimal(100), time=timedelta(1), calls=9_999), "tokens"),
        (
            Cost(tokens=Tokens(90_000), money=Decimal("1.5"), time=timedelta(1), calls=9_999),
            "cents",
        ),
    ],
    ids=["calls", "tokens", "money"],
)
async def test_four_processes_never_pass_a_cap_and_use_it_up(
    embedded_database: Addresses, cap: Cost, short: str
) -> None:
    space = a_space("budgets")
    first, key = an_identity(space=space), ApiKey.mint(SeededEntropy("budgets"))
    caller = as_principal(first)
    async with open_pool(embedded_database.app, 2) as pool:
        transactions = Transactions(pool)
        await PostgresSpaces(transactions).found(
            space, first, a_key(first, key), key.digest(PEPPER)
        )
        budgets = PostgresBudgets(transactions)
        await budgets.open(caller, "run", cap)
        job = (embedded_database.app, str(caller.space.value), str(caller.id.value))
        spent = await asyncio.gather(*(_spent(Job(*job, number)) for number in range(4)))
        left = await budgets.left(caller, "run")

    total = {name: sum(each[name] for each in spent) for name in spent[0]}
    assert total["calls"] == cap.calls - left.calls <= cap.calls
    assert total["tokens"] == cap.tokens - left.tokens <= cap.tokens
    assert Decimal(total["cents"]) / 100 == cap.money - left.money <= cap.money
    most = {"calls": cap.calls, "tokens": cap.tokens, "cents": int(cap.money * 100)}
    assert total[short] >= most[short] * 0.95


async def _spent(job: Job) -> dict[str, int]:
    program = [sys.executable, "-m", "tests.scenarios.budget_spender"]
    process = await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE)
    told, _ = await process.communicate(job.text().encode())
    assert process.returncode == 0
    found: dict[str, int] = json.loads(told)
    return found
