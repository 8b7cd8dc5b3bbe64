"""The story of files that describe servers, while Portico runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.engine.core.errors import StoreUnavailable
from portico.gateway.core.config_documents import Described, Problem, Wish
from portico.gateway.core.servers import Server, Stdio
from portico.gateway.server_files import FollowSources
from portico.kernel.principal import Principal
from portico.testing.gateway import MemoryServers, ScriptedSources, seen
from tests.gateway.server_room import READ, ROOT, Room

FILE, OTHER = "/home/ana/.cursor/mcp.json", "/home/ana/portico.toml"


def a_file(*names: str, origin: str = FILE, problems: tuple[Problem, ...] = ()) -> Described:
    wishes = [
        Wish(name=name, called=name, launch=Stdio(f"serve-{name}"), where=f"/{name}")
        for name in names
    ]
    return Described(origin=origin, client="Cursor", wishes=wishes, problems=problems)


async def approved(room: Room, file: Described, *names: str) -> None:
    """A file has described them, and somebody lets these start."""
    await room.reconcile(room.house, FILE, file.wishes)
    for name in names:
        server = await room.servers.get(ROOT, name)
        await room.approve_launch(ROOT, name, server.launch_pin)


@asynccontextmanager
async def following(room: Room, sources: ScriptedSources) -> AsyncIterator[None]:
    follow = FollowSources(
        sources=sources,
        servers=room.servers,
        reconcile=room.reconcile,
        index=room.index_server,
        pause=timedelta(milliseconds=1),
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow(ROOT.space))
        yield
        task.cancel()


async def until(true: Callable[[dict[str, Server]], object], room: Room) -> dict[str, Server]:
    while True:
        servers = {each.name: each for each in await room.servers.all(ROOT)}
        if true(servers):
            return servers
        await asyncio.sleep(0.001)


@pytest.mark.requirement("gateway:import:live")
async def test_what_the_files_say_is_so_when_it_starts_and_when_they_change() -> None:
    room, sources = Room(), ScriptedSources(a_file("a"), a_file("b", origin=OTHER))

    async with following(room, sources):
        await until(lambda servers: set(servers) == {"a", "b"}, room)
        sources.say(a_file("a", "c"), a_file(origin=OTHER))
        servers = await until(lambda servers: "c" in servers and servers["b"].gone_at, room)

    assert not any(server.may_start for server in servers.values())


async def test_a_file_that_is_not_named_any_more_takes_its_servers_along() -> None:
    room, sources = Room(), ScriptedSources(a_file("a"), a_file("b", origin=OTHER))
    await room.added("mine")

    async with following(room, sources):
        await until(lambda servers: set(servers) == {"a", "b", "mine"}, room)
        sources.say(a_file("a"))
        servers = await until(lambda servers: servers["b"].gone_at, room)

    assert servers["a"].gone_at is None
    assert servers["mine"].gone_at is None


@pytest.mark.requirement("gateway:import:live")
async def test_a_file_that_cannot_be_read_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    room, sources = Room(), ScriptedSources(a_file("a"))
    broken = a_file(problems=(Problem(reason="is not valid JSON", line=3),))

    async with following(room, sources):
        await until(lambda servers: "a" in servers, room)
        with caplog.at_level(logging.WARNING, "portico.gateway"):
            sources.say(broken, a_file("b", origin=OTHER))
            servers = await until(lambda servers: "b" in servers, room)
            sources.say(broken, a_file("b", "c", origin=OTHER))
            await until(lambda servers: "c" in servers, room)

    assert servers["a"].gone_at is None
    assert caplog.messages == [f"{FILE}:3: the file: is not valid JSON"]


async def test_a_server_that_is_left_out_is_told_and_a_note_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = Room()
    problems = (
        Problem(reason="its args are not a list", server="b"),
        Problem(reason="asks for 'x'", server="a", left_out=False),
    )

    with caplog.at_level(logging.WARNING, "portico.gateway"):
        async with following(room, ScriptedSources(a_file("a", problems=problems))):
            await until(lambda servers: "a" in servers, room)

    assert caplog.messages == [f"{FILE}: b: its args are not a list"]


async def test_what_may_start_and_was_not_asked_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    room, sources = Room(), ScriptedSources(a_file("a", "b", "c"))
    await approved(room, a_file("a", "b", "c"), "a", "b")
    room.upstreams.offers = {"a": seen(READ), "c": seen(READ)}

    with caplog.at_level(logging.WARNING, "portico.gateway"):
        async with following(room, sources):
            await until(lambda servers: servers["a"].listed_at and servers["b"].failure, room)

    assert set(room.upstreams.looked_at) == {"a", "b"}
    assert room.upstreams.looked_at.count("a") == 1
    assert "the server b could not be asked" in caplog.text


async def test_one_that_could_not_be_asked_is_asked_again() -> None:
    room, sources = Room(), ScriptedSources(a_file("a"))
    await approved(room, a_file("a"), "a")

    async with following(room, sources):
        await until(lambda servers: servers["a"].failure, room)
        room.upstreams.offers = {"a": seen(READ)}
        await until(lambda servers: servers["a"].listed_at, room)

    assert room.upstreams.looked_at.count("a") >= 2


async def test_a_server_that_hangs_does_not_keep_the_others_waiting() -> None:
    room, sources = Room(), ScriptedSources(a_file("a"))
    await approved(room, a_file("a"), "a")
    room.upstreams.offers = {"a": seen(READ)}
    room.upstreams.hang("a")

    async with following(room, sources):
        await until(lambda _: room.upstreams.looked_at, room)
        sources.say(a_file("a", "b"))
        await until(lambda servers: "b" in servers, room)

    assert room.upstreams.looked_at == ["a"]


async def test_a_file_that_says_the_same_of_servers_as_before_is_not_gone_through_again() -> None:
    room = Room()
    sources = ScriptedSources(a_file("a"), a_file("b", origin=OTHER))

    async with following(room, sources):
        await until(lambda servers: set(servers) == {"a", "b"}, room)
        await room.servers.remove(ROOT, (await room.servers.get(ROOT, "a")).id)
        sources.say(a_file("a"), a_file("b", "c", origin=OTHER))
        servers = await until(lambda servers: "c" in servers, room)

    assert set(servers) == {"b", "c"}


class LostAtFirst(MemoryServers):
    """The store does not answer three times."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.servers._world)
        self._lost = iter(range(3))

    async def all(self, caller: Principal) -> Sequence[Server]:
        if next(self._lost, None) is not None:
            raise StoreUnavailable("gone")
        return await super().all(caller)


async def test_while_there_is_no_store_it_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()
    room.reconcile = replace(room.reconcile, servers=LostAtFirst(room))

    with caplog.at_level(logging.WARNING, "portico.gateway"):
        async with following(room, ScriptedSources(a_file("a"))):
            await until(lambda servers: "a" in servers, room)

    assert len(caplog.messages) == 3
