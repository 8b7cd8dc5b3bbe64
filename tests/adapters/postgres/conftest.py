"""What the tests of PostgreSQL share: a pool, stores on it, and somebody who is at home there."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.engine.retention import PostgresRetention
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import EnginePool, Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.guard.core.authentication import as_principal
from portico.guard.ports import Audit
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryAudit
from tests.contracts.doors import Doors, postgres_doors


@pytest.fixture(params=["embedded", pytest.param("tcp", marks=pytest.mark.nightly)])
def database(request: pytest.FixtureRequest) -> Addresses:
    """On each server that is supported."""
    found: Addresses = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
async def transactions(embedded_database: Addresses) -> AsyncIterator[Transactions]:
    async with open_pool(embedded_database.app, 4) as pool:
        yield Transactions(pool)


@pytest.fixture
def doors(embedded_database: Addresses, transactions: Transactions) -> Doors:
    """Nobody says anything on their bus."""
    bus = PostgresBus(embedded_database.app, system_entropy)
    return postgres_doors(transactions, bus, bus)


@pytest.fixture
async def retention(embedded_database: Addresses) -> AsyncIterator[PostgresRetention]:
    engine = EnginePool(str(embedded_database.engine))
    async with engine.pool:
        yield PostgresRetention(engine)


async def installed(
    transactions: Transactions, name: str = "home", audit: Audit | None = None
) -> Principal:
    """The admin of a new space."""
    install = InstallHome(
        spaces=PostgresSpaces(transactions),
        unit_of_work=transactions.begin,
        audit=audit or MemoryAudit(),
        clock=SystemClock(),
        entropy=system_entropy,
        pepper=b"p",
    )
    return as_principal((await install(SpaceSpec(name=name, admin="ana"))).admin)


Install = Callable[..., Awaitable[Principal]]


@pytest.fixture
def install() -> Install:
    return installed


@pytest.fixture
async def ana(transactions: Transactions) -> Principal:
    return await installed(transactions)
