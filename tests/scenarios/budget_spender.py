"""A process that reserves, settles and releases at random: python -m tests.scenarios.budget_spender

It prints how many calls and tokens it has really spent.
"""

import asyncio
import json
import random
import sys
from dataclasses import asdict, dataclass
from decimal import Decimal
from uuid import UUID

from portico.adapters.postgres.guard.budgets import PostgresBudgets
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True)
class Job:
    address: str
    space: str
    principal: str
    number: int

    def text(self) -> str:
        return json.dumps(asdict(self))


class Spender:
    def __init__(self, job: Job, budgets: PostgresBudgets) -> None:
        self._job = job
        self._budgets = budgets
        self._chance = random.Random(job.number)
        self.spent = {"tokens": 0, "calls": 0, "cents": 0}

    async def spend(self, worker: int) -> None:
        """Until nothing more can be had."""
        caller, refused, step = self._caller, 0, 0
        while refused < 5:
            step += 1
            name = f"{self._job.number}/{worker}/{step}"
            wish = Cost(tokens=Tokens(self._chance.randint(1, 50)), calls=1, money=Decimal("0.01"))
            if await self._budgets.reserve(caller, "run", name, wish) is not None:
                refused += 1
                continue
            if self._chance.random() < 0.3:
                await self._budgets.release(caller, "run", name)
                continue
            used = Cost(
                tokens=Tokens(self._chance.randint(0, wish.tokens)), calls=1, money=wish.money
            )
            await self._budgets.settle(caller, "run", name, used)
            self.spent["tokens"] += used.tokens
            self.spent["calls"] += 1
            self.spent["cents"] += 1

    @property
    def _caller(self) -> Principal:
        return Principal(
            id=PrincipalId(UUID(self._job.principal)),
            space=SpaceId(UUID(self._job.space)),
            kind=PrincipalKind.WORKER,
            name="spender",
        )


async def main(job: Job) -> None:
    async with open_pool(job.address, 4) as pool:
        spender = Spender(job, PostgresBudgets(Transactions(pool)))
        async with asyncio.TaskGroup() as group:
            for worker in range(4):
                group.create_task(spender.spend(worker))
    sys.stdout.write(json.dumps(spender.spent))


if __name__ == "__main__":
    asyncio.run(main(Job(**json.loads(sys.stdin.read()))))
