"""The server that is a part of Portico, over doors in memory and over a real database alike."""

import asyncio

import pytest

from portico.adapters.builtin.server import LAUNCH, ServersWithBuiltin
from portico.gateway.core.servers import BUILTIN, OURS
from portico.gateway.discovery import KeepBuiltin
from portico.kernel.principal import Principal
from portico.testing.memory_store import SeededEntropy
from tests.contracts.doors import Doors


def keeping(doors: Doors, process: str = "one") -> ServersWithBuiltin:
    keep = KeepBuiltin(
        servers=doors.servers,
        unit_of_work=doors.together,
        audit=doors.audit,
        bus=doors.bus,
        clock=doors.clock,
        entropy=SeededEntropy(process),
        launch=LAUNCH,
    )
    return ServersWithBuiltin(doors.servers, keep)


async def there(doors: Doors, caller: Principal) -> list[tuple[str, str]]:
    return [(each.name, each.origin) for each in await doors.servers.all(caller)]


async def test_it_is_in_every_space_that_somebody_looks_into_once(
    doors: Doors, root: Principal
) -> None:
    """Whatever becomes of what it was added for, by several processes and several callers."""
    other, processes = await doors.founded("acme"), [keeping(doors, str(n)) for n in range(3)]

    with pytest.raises(LookupError):
        async with doors.together(other):
            await processes[0].all(other)
            raise LookupError
    assert await there(doors, other) == [(BUILTIN, OURS)]
    assert await there(doors, root) == []

    await asyncio.gather(*(each.all(root) for each in processes * 2))
    assert await there(doors, root) == [(BUILTIN, OURS)]
    assert (await processes[0].get(root, BUILTIN)).launch == LAUNCH
