"""The guard and the gateway of `just bench guard`, opened in the process that measures them."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.gateway import Opened, open_gateway
from portico.app.secrets import Auditing, open_audit
from portico.app.shared_dependencies import SharedDependencies
from portico.app.use_cases import use_cases
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardHouse:
    addresses: Addresses
    transactions: Transactions
    outside: SharedDependencies
    auditing: Auditing
    opened: Opened
    caller: Principal
    """The agent that `init` has left a key for, as every client comes in."""
    database: psutil.Process

    def cpu(self) -> tuple[float, float]:
        """Seconds so far: of this process, and of the database with all that it runs."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime, sum(map(_cpu, self._backends()))

    def _backends(self) -> list[psutil.Process]:
        """Each connection has one; who has ended is in the account of the first process."""
        return [self.database, *self.database.children()]


@asynccontextmanager
async def guard_house() -> AsyncIterator[GuardHouse]:
    ground = AppContext()
    addresses, clock = ground.store.addresses, SystemClock()
    bus = PostgresBus(addresses.app, system_entropy)
    async with open_pool(addresses.app, 8) as pool, asyncio.TaskGroup() as background:
        transactions = Transactions(pool)
        auditing = open_audit(ground, transactions)
        outside = SharedDependencies(
            transactions=transactions,
            bus=bus,
            audit=auditing.audit,
            clock=clock,
            entropy=system_entropy,
        )
        opened = open_gateway(ground, outside)
        lasting = [
            background.create_task(bus.run()),
            background.create_task(auditing.run()),
        ]
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        entry = await use_cases(ground, transactions).authenticate(key.strip())
        async with opened.running(_no_files):
            yield GuardHouse(
                addresses=addresses,
                transactions=transactions,
                outside=outside,
                auditing=auditing,
                opened=opened,
                caller=entry.principal,
                database=_postmaster(ground),
            )
        for task in lasting:
            task.cancel()


async def _no_files() -> None:
    """What other clients' files describe is not measured here."""


def _postmaster(ground: AppContext) -> psutil.Process:
    [pid_file] = ground.loaded.paths.postgres.glob("*/postmaster.pid")
    return psutil.Process(int(pid_file.read_text().split()[0]))


def _cpu(process: psutil.Process) -> float:
    try:
        used = process.cpu_times()
    except psutil.Error:
        return 0.0
    return used.user + used.system + used.children_user + used.children_system
