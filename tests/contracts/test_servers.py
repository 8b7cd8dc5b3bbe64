"""What the gateway may rely on of `Servers`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.box.core.profile import Network, Place, Profile
from portico.gateway.core.confinement import Unboxed
from portico.gateway.core.errors import ServerExists, ServerNotFound
from portico.gateway.core.server import (
    Era,
    FromEnvironment,
    FromFile,
    Http,
    Identity,
    Inside,
    Launch,
    Plain,
    Server,
    ServerId,
    Stdio,
    Template,
)
from portico.kernel.effect import Effect
from portico.testing.gateway import a_server, a_tool, an_approved_server
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(days=1)
STDIO = Stdio(
    "npx",
    (Plain("-y"), Plain("it's é 😀"), FromEnvironment("HOME"), FromEnvironment("PORT", "80")),
    {
        "TOKEN": FromFile("/home/ana/.cursor/mcp.json", "/mcpServers/a~1b/env/TOKEN", "env"),
        "AUTH": Template(("Bearer ", FromEnvironment("KEY"))),
        "MODE": Plain(""),
    },
    "/srv/files",
)
HTTP = Http("https://a.example/mcp", {"X-Key": FromEnvironment("KEY")}, "sse", FromFile("f", "/u"))
EVERYTHING: dict[str, object] = {
    "enabled": False,
    "approved_launch_pin": "p1",
    "approved_by": "ana",
    "approved_at": LATER,
    "tools_accepted": True,
    "set_pin": "s2",
    "accepted_set_pin": "s1",
    "instructions": "Read first.\n",
    "accepted_instructions": "Read.",
    "offers": {"resources": [{"uri": "a:b", "size": 1.0, "big": 2**60}], "prompts": []},
    "accepted_offers": {"resources": [{"uri": "a:b"}]},
    "identity": Identity("files é", "1.0"),
    "era": Era.LEGACY,
    "listed_at": LATER,
    "failure": "it did not start",
    "timeout": 2.5,
    "profile": Profile(
        read=("/srv/é",),
        write=("/srv/notes",),
        network=Network.PUBLIC,
        reach=(Place("::1", 80), Place("db", 5432)),
    ),
    "unboxed": Unboxed(by="ana", at=LATER, launch_pin="p1"),
    "gone_at": LATER,
    "launch_pin": "p2",
}


def everything(server: Server) -> Server:
    return replace(server, **EVERYTHING)  # type: ignore[arg-type] # fields


@pytest.mark.parametrize(
    "launch", [STDIO, HTTP, Stdio("a"), Http("http://b"), Inside("builtin", "1")]
)
async def test_a_server_comes_back_as_it_was_added(doors: Doors, launch: Launch) -> None:
    root = await doors.founded("home")
    plain = a_server("plain", launch=launch)
    full = everything(a_server("full", launch=launch, origin="/home/ana/.mcp.json"))

    await doors.servers.add(root, plain)
    await doors.servers.add(root, full)

    assert await doors.servers.get(root, "plain") == plain
    assert await doors.servers.get(root, "full") == full


async def test_all_servers_are_given_by_name(doors: Doors) -> None:
    root = await doors.founded("home")
    for name in ("files-2", "zoo", "a", "files"):
        await doors.servers.add(root, a_server(name))

    found = await doors.servers.all(root)

    assert [server.name for server in found] == ["a", "files", "files-2", "zoo"]


async def test_a_server_that_is_not_there_is_not_found(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(ServerNotFound):
        await doors.servers.get(root, "files")
    with pytest.raises(ServerNotFound):
        await doors.servers.put(root, a_server())
    with pytest.raises(ServerNotFound):
        async with doors.servers.changing(root, "files"):
            pass
    await doors.servers.remove(root, a_server().id)


async def test_a_name_is_given_once_in_a_space(doors: Doors) -> None:
    root, other = await doors.founded("home"), await doors.founded("acme")
    await doors.servers.add(root, a_server())
    namesake = replace(a_server("another"), name="files")

    with pytest.raises(ServerExists, match="'files'"):
        await doors.servers.add(root, namesake)
    await doors.servers.add(other, a_server())

    assert len(await doors.servers.all(root)) == 1


async def test_an_entry_of_a_file_is_one_server(doors: Doors) -> None:
    root = await doors.founded("home")
    first = a_server("files", origin="/a.json")
    await doors.servers.add(root, first)
    elsewhere = replace(a_server("b", origin="/b.json"), entry=first.entry)

    with pytest.raises(ServerExists):
        await doors.servers.add(root, replace(a_server("c", origin="/a.json"), entry=first.entry))
    await doors.servers.add(root, elsewhere)
    await doors.servers.add(root, a_server("d"))
    await doors.servers.add(root, a_server("e"))

    assert [server.name for server in await doors.servers.all(root)] == ["b", "d", "e", "files"]


async def test_of_two_who_take_a_name_at_once_one_gets_it(doors: Doors) -> None:
    root = await doors.founded("home")
    namesakes = [replace(a_server(seed), name="files") for seed in ("one", "other")]

    results = await asyncio.gather(
        *(doors.servers.add(root, each) for each in namesakes), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["NoneType", "ServerExists"]


async def test_what_may_change_is_put_and_the_rest_stays(doors: Doors) -> None:
    root = await doors.founded("home")
    server = a_server("files", origin="/a.json")
    await doors.servers.add(root, server)
    changed = replace(everything(server), launch=HTTP)

    await doors.servers.put(
        root,
        replace(changed, name="other", origin="/b.json", entry="/x", created_at=LATER),
    )

    assert await doors.servers.get(root, "files") == changed
    await doors.servers.put(root, server)
    assert await doors.servers.get(root, "files") == server


async def test_a_letter_that_cannot_be_kept_does_not_keep_the_rest_out(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.servers.add(root, a_server())

    await doors.servers.put(
        root,
        replace(
            a_server(),
            instructions="a\0b\ud800c",
            failure="\0",
            identity=Identity("x\0", "\udfff"),
            offers={"prompts": [{"name": "a\0b"}]},
        ),
    )

    found = await doors.servers.get(root, "files")
    assert found.instructions is not None
    assert found.instructions.startswith("a")
    assert found.offers == {"prompts": [{"name": "a\0b"}]}


async def test_what_is_changed_together_is_there_together(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.servers.add(root, a_server())

    async with doors.servers.changing(root, "files") as server:
        await doors.servers.put(root, replace(server, set_pin="s"))
        await doors.tools.put(root, server.id, [a_tool()])

    assert (await doors.servers.get(root, "files")).set_pin == "s"
    assert await doors.tools.of(root, server) == [a_tool()]


async def test_of_a_change_that_fails_half_way_nothing_is_left(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.servers.add(root, a_server())
    await doors.tools.put(root, a_server().id, [a_tool("files.old")])

    with pytest.raises(RuntimeError):
        async with doors.servers.changing(root, "files") as server:
            await doors.tools.put(root, server.id, [a_tool("files.new")])
            await doors.servers.put(root, replace(server, set_pin="s"))
            raise RuntimeError

    assert await doors.servers.get(root, "files") == a_server()
    assert await doors.tools.of(root, server) == [a_tool("files.old")]


async def test_of_two_changes_at_once_neither_undoes_the_other(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.servers.add(root, a_server())

    async def add_tool(name: str) -> None:
        async with doors.servers.changing(root, "files") as server:
            tools = await doors.tools.of(root, server)
            await doors.tools.put(root, server.id, [*tools, a_tool(name)])

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(add_tool(f"files.t{number}"))

    found = await doors.tools.of(root, a_server())
    assert {tool.ref.name for tool in found} == {"t0", "t1", "t2", "t3", "t4"}


async def test_a_server_goes_with_its_tools_and_the_others_stay(doors: Doors) -> None:
    root = await doors.founded("home")
    files, notes = a_server("files"), an_approved_server("notes")
    for server in (files, notes):
        await doors.servers.add(root, server)
        await doors.tools.put(root, server.id, [a_tool(f"{server.name}.t", effect=Effect.PURE)])

    await doors.servers.remove(root, files.id)

    assert [server.name for server in await doors.servers.all(root)] == ["notes"]
    assert set(await doors.tools.all(root)) == {notes.id}
    await doors.servers.add(root, files)
    assert await doors.tools.of(root, files) == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_servers_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.servers.add(acme, a_server())

    assert await doors.servers.all(home) == []
    with pytest.raises(ServerNotFound):
        await doors.servers.get(home, "files")
    with pytest.raises(ServerNotFound):
        await doors.servers.put(home, replace(a_server(), enabled=False))
    with pytest.raises(ServerNotFound):
        async with doors.servers.changing(home, "files"):
            pass
    await doors.servers.remove(home, a_server().id)

    assert await doors.servers.get(acme, "files") == a_server()


async def test_a_space_that_does_not_exist_has_no_servers(doors: Doors) -> None:
    stranger = a_person("stranger", space=a_space("nowhere"))

    with pytest.raises(REFUSED):
        await doors.servers.add(stranger, a_server())

    assert await doors.servers.all(stranger) == []


async def test_the_servers_of_a_space_go_with_it(doors: Doors) -> None:
    home = await doors.founded("home")
    await doors.servers.add(home, a_server())
    await doors.tools.put(home, a_server().id, [a_tool()])
    await doors.spaces.delete(home)

    again = await doors.founded("home")

    assert await doors.servers.all(again) == []
    assert await doors.tools.all(again) == {}


def test_ids_of_servers_are_told_from_others() -> None:
    assert str(ServerId.mint(BEGINNING, SeededEntropy("s"))).startswith("srv_")
