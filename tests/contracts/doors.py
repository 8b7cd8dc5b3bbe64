"""Every door of the lower floors and the gateway, in memory or in PostgreSQL, and who is there."""

from dataclasses import dataclass, replace

import psycopg

from portico.adapters.postgres.acquaintances import PostgresAcquaintances
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.call_history import PostgresCallHistory
from portico.adapters.postgres.event_log import PostgresEventLog
from portico.adapters.postgres.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.principals import PostgresPrincipals
from portico.adapters.postgres.receipts import PostgresReceipts
from portico.adapters.postgres.results import PostgresResults
from portico.adapters.postgres.servers import PostgresServers
from portico.adapters.postgres.space_settings import PostgresSpaceSettings
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.tools import PostgresTools
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.postgres.vectors import PostgresVectors
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.engine.ports import Bus, EventLog, Receipts
from portico.gateway.ports import Acquaintances, CallHistory, Results, Servers, Tools, Vectors
from portico.guard.core.api_key import ApiKey, Purpose, StoredKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.identity import Identity
from portico.guard.core.roles import Role
from portico.guard.ports import KeyRing, Keys, Principals, Spaces, SpaceSettings, Together
from portico.kernel.principal import Principal
from portico.testing.calls import MemoryAcquaintances, MemoryCallHistory
from portico.testing.engine import MemoryReceipts
from portico.testing.events import MemoryBus, MemoryEventLog
from portico.testing.gateway import MemoryResults, MemoryServers, MemoryTools, MemoryVectors
from portico.testing.guard import (
    MemoryKeyRing,
    MemoryKeys,
    MemoryPrincipals,
    MemorySpaces,
    MemorySpaceSettings,
    a_space,
    an_identity,
)
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld, RowRefused, together

REFUSED = (RowRefused, psycopg.Error)
"""A row that may not be there: no caller of ours comes so far, so that nobody translates it."""

PEPPER = b"pepper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    key_ring: KeyRing
    keys: Keys
    principals: Principals
    spaces: Spaces
    settings: SpaceSettings
    receipts: Receipts
    event_log: EventLog
    bus: Bus
    elsewhere: Bus
    """The same bus, in another process."""
    together: Together
    servers: Servers
    tools: Tools
    vectors: Vectors
    calls: CallHistory
    calls_elsewhere: CallHistory
    """The same record, in another process."""
    results: Results
    acquaintances: Acquaintances
    clock: TickingClock

    async def founded(self, name: str) -> Principal:
        """The admin of a new space of this name."""
        space = a_space(name)
        admin = an_identity("root", space=space, roles=[Role.ADMIN])
        key = ApiKey.mint(SeededEntropy(f"first key of {name}"))
        await self.spaces.found(space, admin, a_key(admin, key), key.digest(PEPPER))
        return as_principal(admin)

    async def joined(self, admin: Principal, name: str) -> Identity:
        """Somebody new in the admin's space."""
        space = await self.spaces.get(admin)
        identity = an_identity(name, space=space)
        await self.principals.add(admin, identity)
        return identity

    async def key_of(self, caller: Principal, holder: Identity, name: str = "k") -> StoredKey:
        """A key of the holder's, made by the caller; the same name, the same key."""
        key = ApiKey.mint(SeededEntropy(f"{name} of {holder.id}"))
        stored = a_key(holder, key, name)
        await self.keys.add(caller, stored, key.digest(PEPPER))
        return stored


def a_key(holder: Identity, key: ApiKey, name: str = "first") -> StoredKey:
    return StoredKey(
        id=key.id,
        space=holder.space,
        principal=holder.id,
        purpose=Purpose.ACCESS,
        name=name,
        scopes=None,
        clearance=holder.clearance,
        created_at=BEGINNING,
    )


def another_id(key: StoredKey, seed: str = "another") -> StoredKey:
    return replace(key, id=ApiKey.mint(SeededEntropy(seed)).id)


def memory_doors() -> Doors:
    world, bus, clock = MemoryWorld(), MemoryBus(), TickingClock()
    return Doors(
        key_ring=MemoryKeyRing(world),
        keys=MemoryKeys(world),
        principals=MemoryPrincipals(world),
        spaces=MemorySpaces(world),
        settings=MemorySpaceSettings(world),
        receipts=MemoryReceipts(world),
        event_log=MemoryEventLog(world, bus),
        bus=bus,
        elsewhere=bus,
        together=together,
        servers=MemoryServers(world),
        tools=MemoryTools(world),
        vectors=MemoryVectors(world),
        calls=MemoryCallHistory(world, clock),
        calls_elsewhere=MemoryCallHistory(world, clock, "other"),
        results=MemoryResults(world),
        acquaintances=MemoryAcquaintances(world),
        clock=clock,
    )


def postgres_doors(transactions: Transactions, bus: PostgresBus, elsewhere: PostgresBus) -> Doors:
    clock = TickingClock()
    return Doors(
        key_ring=PostgresKeyRing(transactions),
        keys=PostgresKeys(transactions),
        principals=PostgresPrincipals(transactions),
        spaces=PostgresSpaces(transactions),
        settings=PostgresSpaceSettings(transactions),
        receipts=PostgresReceipts(transactions),
        event_log=PostgresEventLog(transactions, bus, SystemClock(), system_entropy),
        bus=bus,
        elsewhere=elsewhere,
        together=transactions.begin,
        servers=PostgresServers(transactions),
        tools=PostgresTools(transactions),
        vectors=PostgresVectors(transactions),
        calls=PostgresCallHistory(transactions, clock, "one"),
        calls_elsewhere=PostgresCallHistory(transactions, clock, "other"),
        results=PostgresResults(transactions),
        acquaintances=PostgresAcquaintances(transactions),
        clock=clock,
    )
