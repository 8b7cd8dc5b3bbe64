"""Server files: import, reconcile, follow."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.inline import InlineWakeups
from portico.engine.core.errors import StoreUnavailable
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.catalog_snapshot import ToolStatus
from portico.gateway.core.config_documents import Described, Problem, ServerSpec
from portico.gateway.core.errors import ServerExists
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.server_files import KEPT, ReconcileAction
from portico.gateway.core.servers import Foreign, FromFile, Server, Stdio
from portico.gateway.server_files import (
    AcceptListed,
    FollowSources,
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
from portico.testing.gateway import MemoryServers, ScriptedSources, a_server, seen
from tests.gateway.server_room import MEMBER, READ, ROOT, VIEWER, WIPE, WRITE, Room

FILE, OTHER = "/home/ana/.mcp.json", "/home/ana/.cursor/mcp.json"


def a_wish(
    name: str = "files",
    launch: Foreign | None = None,
    *,
    enabled: bool = True,
    timeout: float | None = None,
) -> ServerSpec:
    return ServerSpec(
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
    return [look.server.name for look in looks if look.tools.get(ToolStatus.LIVE)]


async def test_what_a_file_asks_for_is_there_and_waits() -> None:
    room = Room()

    fates = await room.reconcile(room.house, FILE, [a_wish("files", timeout=5), a_wish("mail")])

    files, mail = await room.servers.all(ROOT)
    assert fates == {"files": ReconcileAction.ADDED, "mail": ReconcileAction.ADDED}
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

    assert fates == {"files": ReconcileAction.CHANGED}
    assert then == []
    assert room.upstreams.stopped == ["files", "files"]
    assert await live(room) == ["files"]


async def test_another_patience_is_a_change_that_needs_no_approval(room: Room) -> None:
    fates = await room.reconcile(room.house, FILE, [a_wish("files", timeout=9)])

    assert fates == {"files": ReconcileAction.CHANGED}
    assert (await room.servers.get(ROOT, "files")).timeout == 9
    assert await live(room) == ["files"]


async def test_a_server_that_is_not_asked_for_for_a_moment_keeps_its_approval() -> None:
    room = await a_room("files", "mail")

    gone = await room.reconcile(room.house, FILE, [a_wish("mail")])
    then = await live(room)
    still = await room.reconcile(room.house, FILE, [a_wish("mail")])
    back = await room.reconcile(room.house, FILE, [a_wish("files"), a_wish("mail")])

    assert (gone, still, back) == (
        {"files": ReconcileAction.GONE},
        {},
        {"files": ReconcileAction.BACK},
    )
    assert then == ["mail"]
    assert room.upstreams.stopped == ["files"]
    assert await live(room) == ["files", "mail"]


async def test_what_a_file_has_switched_off_is_not_asked_for(room: Room) -> None:
    off = await room.reconcile(room.house, FILE, [a_wish("files", enabled=False)])
    new = await room.reconcile(room.house, OTHER, [a_wish("other", enabled=False)])
    on = await room.reconcile(room.house, FILE, [a_wish("files")])

    assert (off, new, on) == ({"files": ReconcileAction.GONE}, {}, {"files": ReconcileAction.BACK})


async def test_a_server_that_comes_back_otherwise_waits(room: Room) -> None:
    await room.reconcile(room.house, FILE, [])

    fates = await room.reconcile(room.house, FILE, [a_wish("files", Stdio("curl"))])

    server = await room.servers.get(ROOT, "files")
    assert fates == {"files": ReconcileAction.CHANGED}
    assert (server.gone_at, server.may_start) == (None, False)


async def test_a_server_that_nobody_asks_for_is_forgotten_after_a_month(room: Room) -> None:
    await room.reconcile(room.house, FILE, [])

    room.clock.turn(KEPT - timedelta(minutes=1))
    kept = await room.reconcile(room.house, FILE, [])
    room.clock.turn(timedelta(minutes=2))
    forgotten = await room.reconcile(room.house, FILE, [])

    assert (kept, forgotten) == ({}, {"files": ReconcileAction.FORGOTTEN})
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

    assert fates == {"mail": ReconcileAction.GONE}
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

    assert fates == {"files": ReconcileAction.ADDED}


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

    assert fates == {"files-2": ReconcileAction.ADDED}


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


FOLLOWED_FILE, OTHER_FOLLOWED_FILE = "/home/ana/.cursor/mcp.json", "/home/ana/portico.toml"


def a_file(
    *names: str, origin: str = FOLLOWED_FILE, problems: tuple[Problem, ...] = ()
) -> Described:
    wishes = [
        ServerSpec(name=name, called=name, launch=Stdio(f"serve-{name}"), where=f"/{name}")
        for name in names
    ]
    return Described(origin=origin, client="Cursor", wishes=wishes, problems=problems)


async def approved(room: Room, file: Described, *names: str) -> None:
    """A file has described them, and somebody lets these start."""
    await room.reconcile(room.house, FOLLOWED_FILE, file.wishes)
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
    room, sources = Room(), ScriptedSources(a_file("a"), a_file("b", origin=OTHER_FOLLOWED_FILE))

    async with following(room, sources):
        await until(lambda servers: set(servers) == {"a", "b"}, room)
        sources.say(a_file("a", "c"), a_file(origin=OTHER_FOLLOWED_FILE))
        servers = await until(lambda servers: "c" in servers and servers["b"].gone_at, room)

    assert not any(server.may_start for server in servers.values())


async def test_a_file_that_is_not_named_any_more_takes_its_servers_along() -> None:
    room, sources = Room(), ScriptedSources(a_file("a"), a_file("b", origin=OTHER_FOLLOWED_FILE))
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
            sources.say(broken, a_file("b", origin=OTHER_FOLLOWED_FILE))
            servers = await until(lambda servers: "b" in servers, room)
            sources.say(broken, a_file("b", "c", origin=OTHER_FOLLOWED_FILE))
            await until(lambda servers: "c" in servers, room)

    assert servers["a"].gone_at is None
    assert caplog.messages == [f"{FOLLOWED_FILE}:3: the file: is not valid JSON"]


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

    assert caplog.messages == [f"{FOLLOWED_FILE}: b: its args are not a list"]


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
    sources = ScriptedSources(a_file("a"), a_file("b", origin=OTHER_FOLLOWED_FILE))

    async with following(room, sources):
        await until(lambda servers: set(servers) == {"a", "b"}, room)
        await room.servers.remove(ROOT, (await room.servers.get(ROOT, "a")).id)
        sources.say(a_file("a"), a_file("b", "c", origin=OTHER_FOLLOWED_FILE))
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


# The story of taking over servers that somebody has elsewhere.

IMPORTED_FILE = "/home/ana/.cursor/mcp.json"


def an_import_file(*wishes: ServerSpec, origin: str = IMPORTED_FILE) -> Described:
    return Described(origin=origin, client="Cursor", wishes=wishes)


def an_import_wish(name: str, command: str = "serve", *, enabled: bool = True) -> ServerSpec:
    return ServerSpec(
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
def import_room() -> Room:
    return Room()


@pytest.mark.requirement("gateway:import:shown-and-approved")
async def test_what_was_chosen_is_approved_started_and_asked_and_nothing_else(
    import_room: Room,
) -> None:
    import_room.upstreams.offers = {"a": seen(READ, WRITE, WIPE), "b": seen(READ)}

    told = await imported(
        import_room, an_import_file(an_import_wish("a", "x"), an_import_wish("b", "y")), ["a"]
    )

    assert told[0] == Starting("a")
    [listed] = of(told, Listed)
    assert isinstance(listed, Listed)
    assert (listed.tools, listed.reads, listed.writes, listed.others) == (3, 1, 1, 1)
    assert listed.tokens > 0
    assert import_room.upstreams.looked_at == ["a"]
    assert import_room.upstreams.stopped == ["a"]
    assert [each.name for each in await import_room.servers.all(ROOT) if each.may_start] == ["a"]
    assert (await import_room.servers.get(ROOT, "a")).approved_by == "root"


async def test_several_are_started_at_once_and_each_is_told_twice(import_room: Room) -> None:
    names = [f"s{number}" for number in range(6)]
    import_room.upstreams.offers = {name: seen(READ) for name in names}

    told = await imported(
        import_room, an_import_file(*(an_import_wish(name, name) for name in names)), names
    )

    assert told[:4] == [Starting(name) for name in names[:4]]
    assert sorted(each.server for each in told) == sorted(names * 2)


async def test_a_server_that_does_not_start_is_told_with_what_helps(import_room: Room) -> None:
    import_room.upstreams.offers = {"b": seen(READ)}
    import_room.upstreams.last_words = {
        "a": ["ModuleNotFoundError: No module named 'mcp.server.fastmcp'"]
    }

    told = await imported(
        import_room,
        an_import_file(an_import_wish("a", "uvx"), an_import_wish("b", "y")),
        ["a", "b"],
    )

    [failed] = of(told, NotListed)
    assert isinstance(failed, NotListed)
    assert failed.server == "a"
    assert "it is not there" in failed.reason
    assert "--with 'mcp<2'" in (failed.fix or "")
    assert len(of(told, Listed)) == 1


async def test_what_is_switched_off_in_its_file_is_not_started(import_room: Room) -> None:
    told = await imported(import_room, an_import_file(an_import_wish("a", enabled=False)), ["a"])

    assert told == []
    assert await import_room.servers.all(ROOT) == []


async def test_what_an_operator_has_switched_off_stays_off(import_room: Room) -> None:
    await import_room.reconcile(import_room.house, IMPORTED_FILE, [an_import_wish("a")])
    await import_room.switch_server(ROOT, "a", enabled=False)

    assert await imported(import_room, an_import_file(an_import_wish("a")), ["a"]) == []


class ChangedMeanwhile(MemoryServers):
    """Somebody writes the file anew just before its server is approved."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.servers._world)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        async with super().changing(caller, name) as server:
            yield replace(server, launch_pin="another")


@pytest.mark.requirement("gateway:import:shown-and-approved")
async def test_only_the_command_that_was_shown_is_approved(import_room: Room) -> None:
    import_room.approve_launch = replace(
        import_room.approve_launch, servers=ChangedMeanwhile(import_room)
    )

    told = await imported(import_room, an_import_file(an_import_wish("a")), ["a"])

    assert [type(each) for each in told] == [NotListed]
    assert not (await import_room.servers.get(ROOT, "a")).may_start
    assert import_room.upstreams.looked == []


@pytest.mark.parametrize("caller", [MEMBER, VIEWER])
async def test_only_an_operator_imports(import_room: Room, caller: Principal) -> None:
    with pytest.raises(NotPermitted):
        async for _ in importing(import_room)(caller, [an_import_file(an_import_wish("a"))], set()):
            pass


async def listed_of(room: Room) -> Listed:
    room.upstreams.offers = {"a": seen(READ, WRITE, WIPE)}
    [listed] = of(await imported(room, an_import_file(an_import_wish("a")), ["a"]), Listed)
    assert isinstance(listed, Listed)
    return listed


@pytest.mark.requirement("gateway:import:yes-accepts-reads")
async def test_of_what_is_accepted_unasked_only_reads_are_known(import_room: Room) -> None:
    listed = await listed_of(import_room)

    moved = await AcceptListed(accept=import_room.accept_tools)(ROOT, [listed], Proposed.READS)

    assert moved == []
    look = await import_room.show_server(ROOT, "a")
    assert look.tools == {ToolStatus.LIVE: 3}
    assert (await import_room.tool("a.read_file")).effect.is_read_only
    assert (await import_room.tool("a.write_file")).effect is Effect.UNKNOWN


async def test_what_has_changed_since_it_was_listed_waits(import_room: Room) -> None:
    listed = await listed_of(import_room)
    import_room.upstreams.offers = {"a": seen(READ)}
    await import_room.indexed("a")

    [moved] = await AcceptListed(accept=import_room.accept_tools)(ROOT, [listed], Proposed.ALL)

    assert moved.server == "a"
    assert not (await import_room.servers.get(ROOT, "a")).approved


async def test_the_context_is_weighed_before_and_after(import_room: Room) -> None:
    weigh = WeighContext(
        servers=import_room.servers, tools=import_room.tools, tokenizer=import_room.tokenizer
    )
    empty = await weigh(ROOT)
    listed = await listed_of(import_room)
    await import_room.added("other")

    waiting = await weigh(ROOT)
    await AcceptListed(accept=import_room.accept_tools)(ROOT, [listed], Proposed.ALL)
    weight = await weigh(ROOT)

    assert (empty.servers, empty.tools, empty.before, empty.tokenizer) == (0, 0, 0, "letters")
    assert (weight.servers, weight.tools, weight.before) == (1, 3, listed.tokens)
    assert waiting.before == weight.before
    assert 0 < waiting.after < weight.after
