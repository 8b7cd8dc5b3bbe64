"""The story of taking over servers that somebody has elsewhere."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.config_documents import Described, Wish
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.servers import Server, Stdio
from portico.gateway.server_files import (
    AcceptListed,
    ImportServers,
    Listed,
    NotListed,
    Progress,
    Starting,
)
from portico.gateway.surface import WeighContext
from portico.guard.core.errors import NotPermitted
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.testing.gateway import MemoryServers, seen
from tests.gateway.server_room import MEMBER, READ, ROOT, VIEWER, WIPE, WRITE, Room

FILE = "/home/ana/.cursor/mcp.json"


def a_file(*wishes: Wish, origin: str = FILE) -> Described:
    return Described(origin=origin, client="Cursor", wishes=wishes)


def a_wish(name: str, command: str = "serve", *, enabled: bool = True) -> Wish:
    return Wish(
        name=name, called=name, launch=Stdio(command), where=f"/mcpServers/{name}", enabled=enabled
    )


def importing(room: Room) -> ImportServers:
    return ImportServers(
        servers=room.servers,
        upstreams=room.upstreams,
        reconcile=room.reconcile,
        approve=room.approve_launch,
        index=room.index_server,
        review=room.review,
    )


async def imported(room: Room, file: Described, names: Collection[str]) -> Sequence[Progress]:
    chosen = {(file.origin, f"/mcpServers/{name}") for name in names}
    return [each async for each in importing(room)(ROOT, [file], chosen)]


def of(told: Sequence[Progress], kind: type[Progress]) -> Sequence[Progress]:
    return [each for each in told if isinstance(each, kind)]


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.mark.requirement("gateway:import:shown-and-approved")
async def test_what_was_chosen_is_approved_started_and_asked_and_nothing_else(room: Room) -> None:
    room.upstreams.offers = {"a": seen(READ, WRITE, WIPE), "b": seen(READ)}

    told = await imported(room, a_file(a_wish("a", "x"), a_wish("b", "y")), ["a"])

    assert told[0] == Starting("a")
    [listed] = of(told, Listed)
    assert isinstance(listed, Listed)
    assert (listed.tools, listed.reads, listed.writes, listed.others) == (3, 1, 1, 1)
    assert listed.tokens > 0
    assert room.upstreams.looked_at == ["a"]
    assert room.upstreams.stopped == ["a"]
    assert [each.name for each in await room.servers.all(ROOT) if each.may_start] == ["a"]
    assert (await room.servers.get(ROOT, "a")).approved_by == "root"


async def test_several_are_started_at_once_and_each_is_told_twice(room: Room) -> None:
    names = [f"s{number}" for number in range(6)]
    room.upstreams.offers = {name: seen(READ) for name in names}

    told = await imported(room, a_file(*(a_wish(name, name) for name in names)), names)

    assert told[:4] == [Starting(name) for name in names[:4]]
    assert sorted(each.server for each in told) == sorted(names * 2)


async def test_a_server_that_does_not_start_is_told_with_what_helps(room: Room) -> None:
    room.upstreams.offers = {"b": seen(READ)}
    room.upstreams.last_words = {"a": ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'"]}

    told = await imported(room, a_file(a_wish("a", "uvx"), a_wish("b", "y")), ["a", "b"])

    [failed] = of(told, NotListed)
    assert isinstance(failed, NotListed)
    assert failed.server == "a"
    assert "it is not there" in failed.reason
    assert "--with 'mcp<2'" in (failed.fix or "")
    assert len(of(told, Listed)) == 1


async def test_what_is_switched_off_in_its_file_is_not_started(room: Room) -> None:
    told = await imported(room, a_file(a_wish("a", enabled=False)), ["a"])

    assert told == []
    assert await room.servers.all(ROOT) == []


async def test_what_an_operator_has_switched_off_stays_off(room: Room) -> None:
    await room.reconcile(room.house, FILE, [a_wish("a")])
    await room.switch_server(ROOT, "a", enabled=False)

    assert await imported(room, a_file(a_wish("a")), ["a"]) == []


class ChangedMeanwhile(MemoryServers):
    """Somebody writes the file anew just before its server is approved."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.servers._world)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        async with super().changing(caller, name) as server:
            yield replace(server, launch_pin="another")


@pytest.mark.requirement("gateway:import:shown-and-approved")
async def test_only_the_command_that_was_shown_is_approved(room: Room) -> None:
    room.approve_launch = replace(room.approve_launch, servers=ChangedMeanwhile(room))

    told = await imported(room, a_file(a_wish("a")), ["a"])

    assert [type(each) for each in told] == [NotListed]
    assert not (await room.servers.get(ROOT, "a")).may_start
    assert room.upstreams.looked == []


@pytest.mark.parametrize("caller", [MEMBER, VIEWER])
async def test_only_an_operator_imports(room: Room, caller: Principal) -> None:
    with pytest.raises(NotPermitted):
        async for _ in importing(room)(caller, [a_file(a_wish("a"))], set()):
            pass


async def listed_of(room: Room) -> Listed:
    room.upstreams.offers = {"a": seen(READ, WRITE, WIPE)}
    [listed] = of(await imported(room, a_file(a_wish("a")), ["a"]), Listed)
    assert isinstance(listed, Listed)
    return listed


@pytest.mark.requirement("gateway:import:yes-accepts-reads")
async def test_of_what_is_accepted_unasked_only_reads_are_known(room: Room) -> None:
    listed = await listed_of(room)

    moved = await AcceptListed(accept=room.accept_tools)(ROOT, [listed], Proposed.READS)

    assert moved == []
    look = await room.show_server(ROOT, "a")
    assert look.tools == {Standing.LIVE: 3}
    assert (await room.tool("a.read_file")).effect.reads_only
    assert (await room.tool("a.write_file")).effect is Effect.UNKNOWN


async def test_what_has_changed_since_it_was_listed_waits(room: Room) -> None:
    listed = await listed_of(room)
    room.upstreams.offers = {"a": seen(READ)}
    await room.indexed("a")

    [moved] = await AcceptListed(accept=room.accept_tools)(ROOT, [listed], Proposed.ALL)

    assert moved.server == "a"
    assert not (await room.servers.get(ROOT, "a")).approved


async def test_the_context_is_weighed_before_and_after(room: Room) -> None:
    weigh = WeighContext(servers=room.servers, tools=room.tools, tokenizer=room.tokenizer)
    empty = await weigh(ROOT)
    listed = await listed_of(room)
    await room.added("other")

    waiting = await weigh(ROOT)
    await AcceptListed(accept=room.accept_tools)(ROOT, [listed], Proposed.ALL)
    weight = await weigh(ROOT)

    assert (empty.servers, empty.tools, empty.before, empty.tokenizer) == (0, 0, 0, "letters")
    assert (weight.servers, weight.tools, weight.before) == (1, 3, listed.tokens)
    assert waiting.before == weight.before
    assert 0 < waiting.after < weight.after
