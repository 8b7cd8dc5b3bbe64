"""The server that is a part of Portico, over doors in memory and over a real database alike."""

import asyncio

import pytest

from portico.adapters.builtin.offers import LAUNCH
from portico.adapters.builtin.servers import ServersWithBuiltin
from portico.gateway.core.server import BUILTIN, OURS
from portico.gateway.keep_builtin import KeepBuiltin
from portico.kernel.principal import Principal
from portico.testing.kernel import SeededEntropy
from tests.contracts.doors import Doors


def keeping(doors: Doors, process: str = "one") -> ServersWithBuiltin:
    keep = KeepBuiltin(
        servers=doors.servers,
        together=doors.together,
        audit=doors.audit,
        bus=doors.bus,
        clock=doors.clock,
        entropy=SeededEntropy(process),
        launch=LAUNCH,
    )
    return ServersWithBuiltin(doors.servers, keep)


async def there(doors: Doors, caller: Principal) -> list[tuple[str, str]]:
    return [(each.name, each.origin) for each in await doors.servers.all(caller)]


async def test_it_is_in_every_space_that_somebody_looks_into(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("acme")
    servers = keeping(doors)

    await servers.all(root)

    assert await there(doors, root) == [(BUILTIN, OURS)]
    assert await there(doors, other) == []
    assert (await servers.get(other, BUILTIN)).launch == LAUNCH


async def test_several_processes_and_several_callers_add_it_once(doors: Doors) -> None:
    root = await doors.founded("home")
    processes = [keeping(doors, str(number)) for number in range(3)]

    await asyncio.gather(*(each.all(root) for each in processes * 2))

    assert await there(doors, root) == [(BUILTIN, OURS)]


class NeverMind(Exception):
    """Somebody thinks better of what they have begun."""


async def test_it_stays_whatever_becomes_of_what_it_was_added_for(doors: Doors) -> None:
    root = await doors.founded("home")
    servers = keeping(doors)

    with pytest.raises(NeverMind):
        async with doors.together(root):
            await servers.all(root)
            raise NeverMind

    assert (await servers.get(root, BUILTIN)).origin == OURS
