"""The story of the server that is a part of Portico: in every space, and approved as any other."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from portico.adapters.builtin.server import ServersWithBuiltin
from portico.adapters.inline import InlineWakeups
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.errors import BadLaunch, ServerBuiltIn, ServerExists
from portico.gateway.core.pins import launch_pin
from portico.gateway.core.servers import BUILTIN, OURS, Inside, Server, Stdio
from portico.gateway.discovery import Index, KeepBuiltin
from portico.gateway.server_files import FollowSources
from portico.gateway.servers import ServerWish
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.testing.gateway import ScriptedSources, seen
from portico.testing.guard import a_space
from portico.testing.memory_store import SeededEntropy, together
from tests.gateway.server_room import READ, ROOT, WRITE, Room

LAUNCH = Inside(BUILTIN, "1")


def keeping(room: Room, launch: Inside = LAUNCH) -> KeepBuiltin:
    return KeepBuiltin(
        servers=room.servers,
        together=together,
        audit=room.audit,
        bus=room.bus,
        clock=room.clock,
        entropy=SeededEntropy("ours"),
        launch=launch,
    )


@asynccontextmanager
async def asking(keep: KeepBuiltin, index: Index) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keep.run(index))
        yield
        task.cancel()


async def ours(room: Room) -> Server:
    [found] = [each for each in await room.servers.all(ROOT) if each.origin == OURS]
    return found


async def let_in(room: Room) -> None:
    server = await ours(room)
    await room.approve_launch(ROOT, server.name, server.launch_pin)
    await room.accepted(server.name)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_it_is_there_as_soon_as_somebody_looks_and_waits_for_approval(room: Room) -> None:
    servers = ServersWithBuiltin(room.servers, keeping(room))

    [server] = await servers.all(ROOT)

    assert (server.name, server.origin, server.launch) == (BUILTIN, OURS, LAUNCH)
    assert server.launch_pin == launch_pin(LAUNCH)
    assert not server.may_start
    assert await servers.get(ROOT, BUILTIN) == server


async def test_whoever_listens_is_told_once(room: Room) -> None:
    keep = keeping(room)

    with room.bus.listen(ROOT.space, CATALOGUE) as wakeups:
        assert isinstance(wakeups, InlineWakeups)
        await keep(ROOT.space)
        assert wakeups.rung
        await wakeups.wait()
        await keep(ROOT.space)
        assert not wakeups.rung


async def test_each_way_to_the_servers_finds_it(room: Room) -> None:
    async with ServersWithBuiltin(room.servers, keeping(room)).changing(ROOT, BUILTIN) as found:
        assert found.launch == LAUNCH

    other = Room()
    servers = ServersWithBuiltin(other.servers, keeping(other))
    mine = await room.added("mine")
    await servers.add(ROOT, mine)
    await servers.put(ROOT, replace(mine, enabled=False))
    assert [each.name for each in await servers.all(ROOT)] == [BUILTIN, "mine"]
    assert not (await servers.get(ROOT, "mine")).enabled
    await servers.remove(ROOT, mine.id)

    assert [each.name for each in await servers.all(ROOT)] == [BUILTIN]


async def test_two_processes_add_it_once(room: Room) -> None:
    await asyncio.gather(*(keeping(room)(ROOT.space) for _ in range(3)))

    assert (await ours(room)).name == BUILTIN


async def test_a_server_that_had_its_name_before_keeps_it(room: Room) -> None:
    theirs = replace(await room.added("mine"), name=BUILTIN)
    await room.servers.remove(ROOT, theirs.id)
    await room.servers.add(ROOT, theirs)

    await keeping(room)(ROOT.space)

    assert (await ours(room)).name == "builtin-2"
    assert (await room.servers.get(ROOT, BUILTIN)).launch == Stdio("serve")


async def test_nobody_can_take_its_name_or_its_launch_or_remove_it(room: Room) -> None:
    for name in (BUILTIN, "bui1tin"):
        with pytest.raises(ServerExists):
            await room.add_server(ROOT, ServerWish(name=name, launch=Stdio("a")))
    with pytest.raises(BadLaunch):
        await room.add_server(ROOT, ServerWish(name="mine", launch=LAUNCH))
    await keeping(room)(ROOT.space)
    with pytest.raises(ServerBuiltIn) as told:
        await room.remove_server(ROOT, BUILTIN)

    assert told.value.fix == "Switch it off: portico servers disable builtin"
    assert (await ours(room)).name == BUILTIN


async def test_no_file_that_goes_away_takes_it_along(room: Room) -> None:
    await keeping(room)(ROOT.space)
    sources = ScriptedSources()
    follow = FollowSources(
        sources=sources, servers=room.servers, reconcile=room.reconcile, index=room.index_server
    )

    await follow._as_they_say(room.house)  # one round of it, without waiting

    assert (await ours(room)).gone_at is None


async def test_another_version_waits_to_be_approved_anew(room: Room) -> None:
    room.upstreams.offers[BUILTIN] = seen(READ)
    await keeping(room)(ROOT.space)
    await let_in(room)
    assert (await ours(room)).approved

    await keeping(room)(ROOT.space)
    assert (await ours(room)).approved
    await keeping(room, replace(LAUNCH, version="2"))(ROOT.space)

    server = await ours(room)
    assert not server.may_start
    assert server.launch == Inside(BUILTIN, "2")
    [review] = await room.review(ROOT, BUILTIN)
    assert [(each.before, each.after) for each in review.launch_changes] == [('"1"', '"2"')]


async def unasked(_caller: Principal, _name: str) -> None:
    """It has nothing to say."""


@dataclass
class Asked:
    """Does what it is told to, and says that it has been asked."""

    index: Index
    by: list[SpaceId] = field(default_factory=list)
    times: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def __call__(self, caller: Principal, name: str) -> None:
        self.by.append(caller.space)
        try:
            await self.index(caller, name)
        finally:
            self.times.release()


async def test_what_it_offers_is_asked_anew_when_portico_starts(room: Room) -> None:
    room.upstreams.offers[BUILTIN] = seen(READ, WRITE)
    await keeping(room)(ROOT.space)
    await let_in(room)

    room.upstreams.offers[BUILTIN] = seen(READ)
    keep, asked = keeping(room), Asked(room.index_server)
    await keep(ROOT.space)
    async with asking(keep, asked):
        await asked.times.acquire()

    assert (await room.tool("builtin.write_file")).gone


async def test_before_it_is_approved_it_is_asked_nothing() -> None:
    room, acme = Room(), a_space("acme")
    room.servers._world.spaces[acme.id] = acme
    keep, asked = keeping(room), Asked(unasked)
    await keep(acme.id)
    await keep(ROOT.space)
    server = await ours(room)
    await room.approve_launch(ROOT, server.name, server.launch_pin)

    async with asking(keep, asked):
        await asked.times.acquire()

    assert asked.by == [ROOT.space]


async def test_what_cannot_be_asked_is_told_and_stops_nothing(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.upstreams.dead.add(BUILTIN)
    keep, asked = keeping(room), Asked(room.index_server)
    await keep(ROOT.space)
    server = await ours(room)
    await room.approve_launch(ROOT, server.name, server.launch_pin)

    with caplog.at_level(logging.WARNING, "portico.gateway"):
        async with asking(keep, asked):
            await asked.times.acquire()

    assert [line.partition(":")[0] for line in caplog.messages] == [
        "it is not known what Portico's own tools are here"
    ]
