"""The stories of what a server offers, and of what was accepted staying what it was."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from portico.adapters.inline import InlineWakeups
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.errors import (
    PinMoved,
    ServerDisabled,
    ServerNotApproved,
    ServerNotFound,
    UpstreamDown,
)
from portico.gateway.core.pins import definition_pin
from portico.gateway.core.servers import Era, Identity, Server, standing
from portico.gateway.discovery import look_again
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId
from portico.kernel.json import JsonObject
from portico.testing.gateway import seen
from tests.gateway.server_room import READ, ROOT, WIPE, WRITE, Room, raw

BOB = PrincipalId(UUID(int=7))


async def standings(room: Room, name: str = "files") -> dict[str, Standing]:
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
    assert server.era is Era.MODERN
    assert server.listed_at is not None
    assert server.set_pin is not None
    tool = await room.tool("files.read_file")
    assert tool.pin == definition_pin(READ)
    assert tool.definition.raw == READ
    assert (tool.effect, tool.accepted) == (Effect.UNKNOWN, None)
    assert await standings(room) == {
        "read_file": Standing.PENDING,
        "write_file": Standing.PENDING,
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
        "read_file": Standing.LIVE,
        "write_file": Standing.CHANGED,
        "wipe": Standing.NEW,
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
    assert then == {"read_file": Standing.LIVE, "write_file": Standing.GONE}
    assert await standings(room) == {"read_file": Standing.LIVE, "write_file": Standing.LIVE}


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
    assert await standings(room) == {"read_file": Standing.LIVE}
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
        "read_file": Standing.LIVE,
        "write_file": Standing.LIVE,
        "wipe": Standing.NEW,
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

    assert await standings(room) == {"read_file": Standing.LIVE, "write_file": Standing.GONE}


async def test_what_is_gone_without_anybodys_login_is_gone(room: Room) -> None:
    room.upstreams.offers["files"] = seen(READ)

    await look_again(room.index_server, ROOT.space, "files", None)

    assert await standings(room) == {"read_file": Standing.LIVE, "write_file": Standing.GONE}


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
    assert set((await standings(room)).values()) == {Standing.LIVE}
