"""The stories of servers that files describe: what a file says is so, and approvals survive it."""

import asyncio
from contextvars import Context
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.inline import InlineWakeups
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.catalog_snapshot import Standing
from portico.gateway.core.config_documents import Wish
from portico.gateway.core.errors import ServerExists
from portico.gateway.core.server_files import KEPT, Fate
from portico.gateway.core.servers import Foreign, FromFile, Server, Stdio
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server, seen
from tests.gateway.server_room import READ, ROOT, Room

FILE, OTHER = "/home/ana/.mcp.json", "/home/ana/.cursor/mcp.json"


def a_wish(
    name: str = "files",
    launch: Foreign | None = None,
    *,
    enabled: bool = True,
    timeout: float | None = None,
) -> Wish:
    return Wish(
        name=name,
        called=name,
        launch=launch or Stdio(f"serve-{name}"),
        where=f"/mcpServers/{name}",
        enabled=enabled,
        timeout=timeout,
    )


async def a_room(*names: str) -> Room:
    """With servers of these names from a file, each approved, with a tool."""
    room = Room()
    await room.reconcile(room.house, FILE, [a_wish(name) for name in names])
    for name in names:
        server = await room.servers.get(ROOT, name)
        await room.approve_launch(ROOT, name, server.launch_pin)
        room.upstreams.offers[name] = seen(READ)
        await room.accepted(name)
    return room


@pytest.fixture
async def room() -> Room:
    return await a_room("files")


async def live(room: Room) -> list[str]:
    looks = await room.list_servers(ROOT)
    return [look.server.name for look in looks if look.tools.get(Standing.LIVE)]


async def test_what_a_file_asks_for_is_there_and_waits() -> None:
    room = Room()

    fates = await room.reconcile(room.house, FILE, [a_wish("files", timeout=5), a_wish("mail")])

    files, mail = await room.servers.all(ROOT)
    assert fates == {"files": Fate.ADDED, "mail": Fate.ADDED}
    assert (files.origin, files.entry, files.timeout) == (FILE, "/mcpServers/files", 5)
    assert mail.launch == Stdio("serve-mail")
    assert files.enabled
    assert not files.may_start
    assert room.upstreams.looked == []


async def test_a_file_that_says_the_same_changes_nothing(room: Room) -> None:
    before = await room.servers.all(ROOT)

    with room.bus.listen(ROOT.space, CATALOGUE) as ear:
        fates = await room.reconcile(room.house, FILE, [a_wish("files")])
        assert isinstance(ear, InlineWakeups)
        assert not ear.rung

    assert fates == {}
    assert await room.servers.all(ROOT) == before
    assert room.upstreams.stopped == []


async def test_a_changed_launch_stops_the_server_until_it_is_approved_again(room: Room) -> None:
    fates = await room.reconcile(room.house, FILE, [a_wish("files", Stdio("curl"))])
    then = await live(room)
    await room.reconcile(room.house, FILE, [a_wish("files")])

    assert fates == {"files": Fate.CHANGED}
    assert then == []
    assert room.upstreams.stopped == ["files", "files"]
    assert await live(room) == ["files"]


async def test_another_patience_is_a_change_that_needs_no_approval(room: Room) -> None:
    fates = await room.reconcile(room.house, FILE, [a_wish("files", timeout=9)])

    assert fates == {"files": Fate.CHANGED}
    assert (await room.servers.get(ROOT, "files")).timeout == 9
    assert await live(room) == ["files"]


async def test_a_server_that_is_not_asked_for_for_a_moment_keeps_its_approval() -> None:
    room = await a_room("files", "mail")

    gone = await room.reconcile(room.house, FILE, [a_wish("mail")])
    then = await live(room)
    still = await room.reconcile(room.house, FILE, [a_wish("mail")])
    back = await room.reconcile(room.house, FILE, [a_wish("files"), a_wish("mail")])

    assert (gone, still, back) == ({"files": Fate.GONE}, {}, {"files": Fate.BACK})
    assert then == ["mail"]
    assert room.upstreams.stopped == ["files"]
    assert await live(room) == ["files", "mail"]


async def test_what_a_file_has_switched_off_is_not_asked_for(room: Room) -> None:
    off = await room.reconcile(room.house, FILE, [a_wish("files", enabled=False)])
    new = await room.reconcile(room.house, OTHER, [a_wish("other", enabled=False)])
    on = await room.reconcile(room.house, FILE, [a_wish("files")])

    assert (off, new, on) == ({"files": Fate.GONE}, {}, {"files": Fate.BACK})


async def test_a_server_that_comes_back_otherwise_waits(room: Room) -> None:
    await room.reconcile(room.house, FILE, [])

    fates = await room.reconcile(room.house, FILE, [a_wish("files", Stdio("curl"))])

    server = await room.servers.get(ROOT, "files")
    assert fates == {"files": Fate.CHANGED}
    assert (server.gone_at, server.may_start) == (None, False)


async def test_a_server_that_nobody_asks_for_is_forgotten_after_a_month(room: Room) -> None:
    await room.reconcile(room.house, FILE, [])

    room.clock.turn(KEPT - timedelta(minutes=1))
    kept = await room.reconcile(room.house, FILE, [])
    room.clock.turn(timedelta(minutes=2))
    forgotten = await room.reconcile(room.house, FILE, [])

    assert (kept, forgotten) == ({}, {"files": Fate.FORGOTTEN})
    assert await room.servers.all(ROOT) == []


async def test_what_an_operator_switched_off_stays_off_whatever_the_file_says(room: Room) -> None:
    await room.switch_server(ROOT, "files", enabled=False)

    await room.reconcile(room.house, FILE, [])
    await room.reconcile(room.house, FILE, [a_wish("files")])

    assert not (await room.servers.get(ROOT, "files")).enabled


async def test_a_name_that_is_taken_or_looks_like_one_is_told_apart_for_good() -> None:
    room = Room()
    await room.added("github")
    await room.reconcile(room.house, FILE, [a_wish("github"), a_wish("g1thub")])
    first = [(each.name, each.entry) for each in await room.servers.all(ROOT)]

    await room.remove_server(ROOT, "github")
    fates = await room.reconcile(room.house, FILE, [a_wish("g1thub"), a_wish("github")])

    assert first == [
        ("g1thub-3", "/mcpServers/g1thub"),
        ("github", None),
        ("github-2", "/mcpServers/github"),
    ]
    assert fates == {}


async def test_files_do_not_touch_each_others_servers_nor_those_that_were_added(room: Room) -> None:
    await room.added("mine")
    await room.reconcile(room.house, OTHER, [a_wish("mail")])

    fates = await room.reconcile(room.house, OTHER, [])

    assert fates == {"mail": Fate.GONE}
    assert await live(room) == ["files"]
    assert (await room.servers.get(ROOT, "mine")).gone_at is None


async def test_one_that_would_start_just_as_another_is_switched_off_at_first(room: Room) -> None:
    secret = Stdio("serve", environment={"KEY": FromFile(OTHER, "/k")})

    await room.reconcile(room.house, OTHER, [a_wish("files"), a_wish("mail", secret)])

    twin = await room.servers.get(ROOT, "files-2")
    assert twin.launch == (await room.servers.get(ROOT, "files")).launch
    assert not twin.enabled
    assert (await room.servers.get(ROOT, "mail")).enabled


async def test_what_nobody_could_start_is_left_out_and_spoils_nothing() -> None:
    room = Room()

    fates = await room.reconcile(
        room.house, FILE, [a_wish("odd", Stdio("a\ud800")), a_wish("files")]
    )

    assert fates == {"files": Fate.ADDED}


async def test_two_processes_that_read_one_file_make_its_servers_once() -> None:
    room = Room()
    wishes = [a_wish(f"s{number}") for number in range(5)]

    both = await asyncio.gather(
        room.reconcile(room.house, FILE, wishes), room.reconcile(room.house, FILE, wishes)
    )

    assert sorted(name for fates in both for name in fates) == ["s0", "s1", "s2", "s3", "s4"]
    assert len(await room.servers.all(ROOT)) == 5


class Rival:
    """Another process that is a little faster, once; it reads the same file, or another."""

    def __init__(self, room: Room, origin: str) -> None:
        self._add = room.servers.add
        self._origin = origin
        self._waits = True

    async def add(self, caller: Principal, server: Server) -> None:
        if self._waits:
            self._waits = False
            rival = replace(server, id=a_server("rival").id, origin=self._origin)
            # What another process has written is not taken back with what we write.
            loop = asyncio.get_running_loop()
            await loop.create_task(self._add(caller, rival), context=Context())
        await self._add(caller, server)


async def test_a_name_that_somebody_else_takes_meanwhile_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room()
    monkeypatch.setattr(room.servers, "add", Rival(room, OTHER).add)

    fates = await room.reconcile(room.house, FILE, [a_wish("files")])

    assert fates == {"files-2": Fate.ADDED}


async def test_what_another_process_has_just_read_from_the_same_file_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = Room()
    monkeypatch.setattr(room.servers, "add", Rival(room, FILE).add)

    fates = await room.reconcile(room.house, FILE, [a_wish("files")])

    assert fates == {}
    assert [server.name for server in await room.servers.all(ROOT)] == ["files"]


async def test_it_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()

    async def taken(_caller: Principal, server: Server) -> None:
        raise ServerExists(server.name, server.name)

    monkeypatch.setattr(room.servers, "add", taken)

    with pytest.raises(ServerExists):
        await room.reconcile(room.house, FILE, [a_wish("files")])
