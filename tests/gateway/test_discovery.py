"""Index what servers offer, and look again."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from portico.adapters.builtin.server import ServersWithBuiltin
from portico.adapters.inline import InlineWakeups
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.errors import (
    InvalidLaunch,
    PinMoved,
    ServerBuiltIn,
    ServerDisabled,
    ServerExists,
    ServerNotApproved,
    ServerNotFound,
    UpstreamDown,
)
from portico.gateway.core.pins import definition_pin, launch_pin
from portico.gateway.core.servers import (
    BUILTIN,
    OURS,
    Identity,
    Inside,
    ProtocolRevision,
    Server,
    Stdio,
    standing,
)
from portico.gateway.discovery import Index, KeepBuiltin, look_again
from portico.gateway.server_files import FollowSources
from portico.gateway.servers import ServerRegistration
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.gateway import ScriptedSources, seen
from portico.testing.guard import a_space
from portico.testing.memory_store import SeededEntropy, together
from tests.gateway.server_room import READ, ROOT, WIPE, WRITE, Room, raw

BOB = PrincipalId(UUID(int=7))


async def standings(room: Room, name: str = "files") -> dict[str, ToolStatus]:
    server = await room.servers.get(ROOT, name)
    return {it.ref.name: standing(server, it) for it in await room.tools.of(ROOT, server)}


async def a_room(*tools: JsonObject, accept: bool = True) -> Room:
    """With a server that was approved when it had these tools."""
    room = Room()
    await room.startable()
    room.upstreams.offers["files"] = seen(*tools)
    if accept:
        await room.accepted()
    return room


@pytest.fixture
async def room() -> Room:
    return await a_room(READ, WRITE)


async def test_what_a_server_offers_is_remembered_and_waits() -> None:
    room = Room()
    await room.startable()
    room.upstreams.offers["files"] = seen(
        READ, WRITE, instructions="Read first.", resources=[{"uri": "a:b"}]
    )

    indexed = await room.indexed()

    server = await room.servers.get(ROOT, "files")
    assert server == indexed.server
    assert indexed.changed
    assert (indexed.counted.new, indexed.left_out, indexed.unreadable) == (2, 0, [])
    assert server.instructions == "Read first."
    assert server.offers["resources"] == [{"uri": "a:b"}]
    assert server.protocol_revision is ProtocolRevision.MODERN
    assert server.listed_at is not None
    assert server.set_pin is not None
    tool = await room.tool("files.read_file")
    assert tool.pin == definition_pin(READ)
    assert tool.definition.raw == READ
    assert (tool.effect, tool.accepted) == (Effect.UNKNOWN, None)
    assert await standings(room) == {
        "read_file": ToolStatus.PENDING,
        "write_file": ToolStatus.PENDING,
    }


async def test_nothing_that_is_not_approved_is_started() -> None:
    room = Room()
    await room.added()
    await room.startable("off")
    await room.switch_server(ROOT, "off", enabled=False)

    with pytest.raises(ServerNotApproved):
        await room.indexed()
    with pytest.raises(ServerDisabled):
        await room.indexed("off")

    assert room.upstreams.looked == []


async def test_a_tool_that_changed_is_quarantined_alone_and_one_that_came_too(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ, raw("write_file", "Sends it all away."), WIPE)
    indexed = await room.indexed()

    assert indexed.changed
    assert await standings(room) == {
        "read_file": ToolStatus.LIVE,
        "write_file": ToolStatus.CHANGED,
        "wipe": ToolStatus.NEW,
    }
    changed = await room.tool("files.write_file")
    assert (changed.accepted and changed.accepted.raw) == WRITE
    assert changed.definition.description == "Sends it all away."


async def test_a_tool_that_goes_is_remembered_if_it_was_accepted(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ, WRITE, WIPE)
    await room.indexed()

    room.upstreams.offers["files"] = seen(READ)
    gone = await room.indexed()
    then = await standings(room)
    room.upstreams.offers["files"] = seen(READ, WRITE)
    await room.indexed()

    assert (gone.counted.gone, gone.counted.there) == (1, 1)
    assert then == {"read_file": ToolStatus.LIVE, "write_file": ToolStatus.GONE}
    assert await standings(room) == {"read_file": ToolStatus.LIVE, "write_file": ToolStatus.LIVE}


async def test_one_tool_that_cannot_be_read_spoils_nothing() -> None:
    room = Room()
    await room.startable()
    room.upstreams.offers["files"] = seen(
        READ,
        {"name": "odd", "inputSchema": 7},
        {"description": "It has no name."},
        raw("h\u200bidden"),
        WRITE,
        instructions="Hid\u200bden.",
        prompts=[{"title": "no name"}],
    )

    indexed = await room.indexed()

    assert (indexed.counted.new, indexed.counted.refused) == (2, 3)
    assert {each.name for each in indexed.unreadable} >= {"odd", "instructions"}
    assert indexed.server.instructions is None
    assert (await room.tool("files.odd")).refused
    server = await room.servers.get(ROOT, "files")
    names = [it.ref.name for it in await room.tools.of(ROOT, server)]
    assert names[:2] == ["read_file", "write_file"]


async def test_a_server_hides_nothing_in_its_name() -> None:
    room = await a_room(READ)
    offered = room.upstreams.offers["files"]
    room.upstreams.offers["files"] = replace(offered, identity=Identity("a\0\x1b[2K", "1\u202e"))

    first, again = await room.indexed(), await room.indexed()

    assert first.server.identity == Identity("a<U+0000><U+001B>[2K", "1<U+202E>")
    assert (first.changed, again.changed) == (True, False)


async def test_a_server_that_does_not_answer_keeps_its_tools_and_says_why() -> None:
    room = await a_room(READ)
    before = await room.servers.get(ROOT, "files")
    room.upstreams.dead.add("files")

    with pytest.raises(UpstreamDown):
        await room.indexed()
    failed = await room.servers.get(ROOT, "files")
    room.upstreams.dead.clear()
    await room.indexed()

    assert failed == replace(before, failure=failed.failure)
    assert "it is not there" in str(failed.failure)
    assert await standings(room) == {"read_file": ToolStatus.LIVE}
    assert (await room.servers.get(ROOT, "files")).failure is None


@pytest.mark.parametrize(
    ("removed", "dead", "error"),
    [
        (False, False, PinMoved),
        (False, True, UpstreamDown),
        (True, False, ServerNotFound),
        (True, True, UpstreamDown),
    ],
)
async def test_what_came_of_looking_at_another_launch_is_not_written(
    *, removed: bool, dead: bool, error: type[Exception]
) -> None:
    room = await a_room(READ)
    room.upstreams.hang("files")
    room.upstreams.offers["files"] = seen(WIPE)
    looking = asyncio.ensure_future(room.indexed())
    await asyncio.sleep(0)
    if dead:
        room.upstreams.dead.add("files")
    if removed:
        await room.remove_server(ROOT, "files")
    else:
        server = await room.servers.get(ROOT, "files")
        await room.servers.put(ROOT, replace(server, launch_pin="another"))
    before = await room.servers.all(ROOT)

    room.upstreams.release("files")
    with pytest.raises(error):
        await looking

    assert await room.servers.all(ROOT) == before
    assert removed or set(await standings(room)) == {"read_file"}


async def test_what_one_person_is_not_shown_is_there_for_the_others(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ, WIPE)
    await look_again(room.index_server, ROOT.space, "files", BOB)

    assert await standings(room) == {
        "read_file": ToolStatus.LIVE,
        "write_file": ToolStatus.LIVE,
        "wipe": ToolStatus.NEW,
    }
    quarantined = [act for act in room.audit.acts if act["action"] == "tool.quarantined"]
    assert [act["subject"] for act in quarantined] == ["files.wipe"]


async def test_that_another_person_is_shown_less_is_no_change(room: Room) -> None:
    room.upstreams.offers["files"] = seen(WRITE)
    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        await look_again(room.index_server, ROOT.space, "files", BOB)
        room.upstreams.offers["files"] = seen(WRITE, READ)
        await look_again(room.index_server, ROOT.space, "files", ROOT.id)
        told = await rung(ear)

    assert not told


async def test_what_is_gone_when_somebody_asks_is_gone_whoever_is_shown_less(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)

    await room.restart_server(ROOT, "files")
    await look_again(room.index_server, ROOT.space, "files", BOB)

    assert await standings(room) == {"read_file": ToolStatus.LIVE, "write_file": ToolStatus.GONE}


async def test_what_is_gone_without_anybodys_login_is_gone(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)

    await look_again(room.index_server, ROOT.space, "files", None)

    assert await standings(room) == {"read_file": ToolStatus.LIVE, "write_file": ToolStatus.GONE}


async def test_a_server_that_cannot_be_looked_at_again_breaks_nobody() -> None:
    room = await a_room(READ)
    room.upstreams.dead.add("files")

    await look_again(room.index_server, ROOT.space, "files", BOB)

    assert (await room.servers.get(ROOT, "files")).failure is not None


async def rung(ear: object) -> bool:
    assert isinstance(ear, InlineWakeups)
    return ear.rung


async def test_whoever_keeps_the_catalogue_is_told_of_changes_and_of_nothing_else() -> None:
    room = await a_room(READ, accept=False)

    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        first = await room.indexed()
        told = await rung(ear)
    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        same = await room.indexed()
        untold = await rung(ear)
    room.upstreams.offers["files"] = seen(READ, instructions="New words.")
    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        other = await room.indexed()
        told_again = await rung(ear)

    assert (first.changed, told) == (True, True)
    assert (same.changed, untold) == (False, False)
    assert (other.changed, told_again) == (True, True)


async def test_two_who_look_at_once_write_the_same(room: Room) -> None:
    one, other = await asyncio.gather(room.indexed(), room.indexed())

    assert isinstance(one.server, Server)
    assert one.server.set_pin == other.server.set_pin
    assert set((await standings(room)).values()) == {ToolStatus.LIVE}


LAUNCH = Inside(BUILTIN, "1")


def keeping(room: Room, launch: Inside = LAUNCH) -> KeepBuiltin:
    return KeepBuiltin(
        servers=room.servers,
        unit_of_work=together,
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
def builtin_room() -> Room:
    return Room()


async def test_it_is_there_as_soon_as_somebody_looks_and_waits_for_approval(
    builtin_room: Room,
) -> None:
    servers = ServersWithBuiltin(builtin_room.servers, keeping(builtin_room))

    [server] = await servers.all(ROOT)

    assert (server.name, server.origin, server.launch) == (BUILTIN, OURS, LAUNCH)
    assert server.launch_pin == launch_pin(LAUNCH)
    assert not server.may_start
    assert await servers.get(ROOT, BUILTIN) == server


async def test_whoever_listens_is_told_once(builtin_room: Room) -> None:
    keep = keeping(builtin_room)

    with builtin_room.bus.listen(ROOT.space, CATALOGUE) as wakeups:
        assert isinstance(wakeups, InlineWakeups)
        await keep(ROOT.space)
        assert wakeups.rung
        await wakeups.wait()
        await keep(ROOT.space)
        assert not wakeups.rung


async def test_each_way_to_the_servers_finds_it(builtin_room: Room) -> None:
    async with ServersWithBuiltin(builtin_room.servers, keeping(builtin_room)).changing(
        ROOT, BUILTIN
    ) as found:
        assert found.launch == LAUNCH

    other = Room()
    servers = ServersWithBuiltin(other.servers, keeping(other))
    mine = await builtin_room.added("mine")
    await servers.add(ROOT, mine)
    await servers.put(ROOT, replace(mine, enabled=False))
    assert [each.name for each in await servers.all(ROOT)] == [BUILTIN, "mine"]
    assert not (await servers.get(ROOT, "mine")).enabled
    await servers.remove(ROOT, mine.id)

    assert [each.name for each in await servers.all(ROOT)] == [BUILTIN]


async def test_two_processes_add_it_once(builtin_room: Room) -> None:
    await asyncio.gather(*(keeping(builtin_room)(ROOT.space) for _ in range(3)))

    assert (await ours(builtin_room)).name == BUILTIN


async def test_a_server_that_had_its_name_before_keeps_it(builtin_room: Room) -> None:
    theirs = replace(await builtin_room.added("mine"), name=BUILTIN)
    await builtin_room.servers.remove(ROOT, theirs.id)
    await builtin_room.servers.add(ROOT, theirs)

    await keeping(builtin_room)(ROOT.space)

    assert (await ours(builtin_room)).name == "builtin-2"
    assert (await builtin_room.servers.get(ROOT, BUILTIN)).launch == Stdio("serve")


async def test_nobody_can_take_its_name_or_its_launch_or_remove_it(builtin_room: Room) -> None:
    for name in (BUILTIN, "bui1tin"):
        with pytest.raises(ServerExists):
            await builtin_room.add_server(ROOT, ServerRegistration(name=name, launch=Stdio("a")))
    with pytest.raises(InvalidLaunch):
        await builtin_room.add_server(ROOT, ServerRegistration(name="mine", launch=LAUNCH))
    await keeping(builtin_room)(ROOT.space)
    with pytest.raises(ServerBuiltIn) as told:
        await builtin_room.remove_server(ROOT, BUILTIN)

    assert told.value.fix == "Switch it off: portico servers disable builtin"
    assert (await ours(builtin_room)).name == BUILTIN


async def test_no_file_that_goes_away_takes_it_along(builtin_room: Room) -> None:
    await keeping(builtin_room)(ROOT.space)
    sources = ScriptedSources()
    follow = FollowSources(
        sources=sources,
        servers=builtin_room.servers,
        reconcile=builtin_room.reconcile,
        index=builtin_room.index_server,
    )

    await follow._as_they_say(builtin_room.house)  # one round of it, without waiting

    assert (await ours(builtin_room)).gone_at is None


async def test_another_version_waits_to_be_approved_anew(builtin_room: Room) -> None:
    builtin_room.upstreams.offers[BUILTIN] = seen(READ)
    await keeping(builtin_room)(ROOT.space)
    await let_in(builtin_room)
    assert (await ours(builtin_room)).approved

    await keeping(builtin_room)(ROOT.space)
    assert (await ours(builtin_room)).approved
    await keeping(builtin_room, replace(LAUNCH, version="2"))(ROOT.space)

    server = await ours(builtin_room)
    assert not server.may_start
    assert server.launch == Inside(BUILTIN, "2")
    [review] = await builtin_room.review(ROOT, BUILTIN)
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


async def test_what_it_offers_is_asked_anew_when_portico_starts(builtin_room: Room) -> None:
    builtin_room.upstreams.offers[BUILTIN] = seen(READ, WRITE)
    await keeping(builtin_room)(ROOT.space)
    await let_in(builtin_room)

    builtin_room.upstreams.offers[BUILTIN] = seen(READ)
    keep, asked = keeping(builtin_room), Asked(builtin_room.index_server)
    await keep(ROOT.space)
    async with asking(keep, asked):
        await asked.times.acquire()

    assert (await builtin_room.tool("builtin.write_file")).gone


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
    builtin_room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    builtin_room.upstreams.dead.add(BUILTIN)
    keep, asked = keeping(builtin_room), Asked(builtin_room.index_server)
    await keep(ROOT.space)
    server = await ours(builtin_room)
    await builtin_room.approve_launch(ROOT, server.name, server.launch_pin)

    with caplog.at_level(logging.WARNING, "portico.gateway"):
        async with asking(keep, asked):
            await asked.times.acquire()

    assert [line.partition(":")[0] for line in caplog.messages] == [
        "it is not known what Portico's own tools are here"
    ]
