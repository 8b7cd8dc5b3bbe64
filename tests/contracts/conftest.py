"""Each contract is held by the doors in memory, by the embedded server and, in the nightly run, by
one over TCP."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import system_entropy
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.projects import Project
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation
from tests.contracts.doors import Doors, memory_doors, postgres_doors

_REAL = [pytest.mark.postgres]
_BY_NIGHT = [*_REAL, pytest.mark.nightly]


@pytest.fixture(
    params=[
        "memory",
        pytest.param("embedded", marks=_REAL),
        pytest.param("tcp", marks=_BY_NIGHT),
    ]
)
def addresses(request: pytest.FixtureRequest) -> Addresses | None:
    """Of a fresh, migrated database; None for the doors in memory."""
    if request.param == "memory":
        return None
    found: Addresses = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
async def doors(addresses: Addresses | None) -> AsyncIterator[Doors]:
    if addresses is None:
        yield memory_doors()
        return
    buses = [PostgresBus(addresses.app, system_entropy) for _ in range(2)]
    async with open_pool(addresses.app, 6) as pool:
        running = [asyncio.create_task(bus.run()) for bus in buses]
        yield postgres_doors(Transactions(pool), *buses)
        for task in running:
            task.cancel()
        await asyncio.wait(running)


@pytest.fixture
async def root(doors: Doors) -> Principal:
    """The admin of a space that has just been founded."""
    return await doors.founded("home")


@pytest.fixture
async def admin(doors: Doors) -> Principal:
    """One who may see all that there is on the bridge and in debates."""
    return await cleared_root(doors)


@pytest.fixture
async def low(doors: Doors, admin: Principal) -> Principal:
    """Somebody of the admin's space who may see what the team may."""
    return await joined(doors, admin, "low")


@pytest.fixture
async def project(doors: Doors, admin: Principal) -> Project:
    return await a_project(doors, admin)


@pytest.fixture
async def talk(doors: Doors, admin: Principal, project: Project) -> Conversation:
    return await a_conversation(doors, admin, project)
