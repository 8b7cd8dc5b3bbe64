"""What the gateway may rely on of `Servers` and `Tools`."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.catalog_snapshot import Definition, Tool
from portico.gateway.core.errors import ServerExists, ServerNotFound
from portico.gateway.core.pins import definition_pin
from portico.gateway.core.servers import (
    FromEnvironment,
    FromFile,
    Http,
    Identity,
    Inside,
    Launch,
    Plain,
    ProtocolRevision,
    Server,
    Stdio,
    Template,
    ToolCounts,
    Unsandboxed,
)
from portico.gateway.ports import Servers, Tools
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.sandbox.core.profile import Network, NetworkEndpoint, Profile
from portico.testing.gateway import a_server, a_tool, an_approved_server
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING
from tests.contracts.doors import REFUSED, Doors

LATER = BEGINNING + timedelta(days=1)
FILES = a_server()
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
LAUNCHES: list[Launch] = [STDIO, HTTP, Stdio("a"), Http("http://b"), Inside("builtin", "1")]
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
    "protocol_revision": ProtocolRevision.LEGACY,
    "listed_at": LATER,
    "failure": "it did not start",
    "timeout": 2.5,
    "profile": Profile(
        read=("/srv/é",),
        write=("/srv/notes",),
        network=Network.PUBLIC,
        reach=(NetworkEndpoint("::1", 80), NetworkEndpoint("db", 5432)),
    ),
    "unsandboxed": Unsandboxed(by="ana", at=LATER, launch_pin="p1"),
    "gone_at": LATER,
    "launch_pin": "p2",
}
ODD_NUMBERS = {"a": 1.0, "b": 1e2, "c": 2**70, "d": -0.0, "e": 1e-7, "f": 0.1, "g": 100}
CHANGES: list[dict[str, object]] = [
    {"effect": Effect.PURE},
    {"refused": "odd"},
    {"gone": True},
    {"tokens": 99},
    {"definition": a_tool("files.read", "Reads it otherwise.").definition},
    {"pin": "p", "definition": a_tool("files.read", "Another.").definition},
    {"accepted": a_tool("files.read", "Before.").definition, "accepted_pin": "q"},
    {"accepted": a_tool("files.read").definition, "accepted_pin": a_tool().pin},
]


def everything(server: Server) -> Server:
    return replace(server, **EVERYTHING)  # type: ignore[arg-type] # fields


@pytest.fixture
def servers(doors: Doors) -> Servers:
    return doors.servers


@pytest.fixture
async def tools(doors: Doors, root: Principal) -> Tools:
    """Of a server that there is."""
    await doors.servers.add(root, FILES)
    return doors.tools


async def test_a_server_comes_back_as_it_was_added(servers: Servers, root: Principal) -> None:
    for number, launch in enumerate(LAUNCHES):
        plain = a_server(f"plain-{number}", launch=launch)
        full = everything(a_server(f"full-{number}", launch=launch, origin="/home/ana/.mcp.json"))
        for server in (plain, full):
            await servers.add(root, server)
            assert await servers.get(root, server.name) == server

    names = [server.name for server in await servers.all(root)]
    assert names == sorted(names)
    assert len(names) == 2 * len(LAUNCHES)


async def test_a_name_and_an_entry_of_a_file_are_one_server_in_a_space(
    doors: Doors, root: Principal
) -> None:
    servers, other = doors.servers, await doors.founded("acme")
    first = a_server("files", origin="/a.json")
    namesakes = [replace(a_server(seed), name="twice") for seed in ("one", "other")]
    await servers.add(root, first)

    results = await asyncio.gather(
        *(servers.add(root, each) for each in namesakes), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "ServerExists"]
    with pytest.raises(ServerExists, match="'files'"):
        await servers.add(root, replace(a_server("another"), name="files"))
    with pytest.raises(ServerExists):
        await servers.add(root, replace(a_server("c", origin="/a.json"), entry=first.entry))

    await servers.add(other, a_server())
    await servers.add(root, replace(a_server("b", origin="/b.json"), entry=first.entry))
    for name in ("d", "e"):
        await servers.add(root, a_server(name))
    found = [server.name for server in await servers.all(root)]
    assert found == ["b", "d", "e", "files", "twice"]


async def test_what_may_change_is_put_and_the_rest_stays(servers: Servers, root: Principal) -> None:
    server = a_server("files", origin="/a.json")
    await servers.add(root, server)
    changed = replace(everything(server), launch=HTTP)

    await servers.put(
        root,
        replace(changed, name="other", origin="/b.json", entry="/x", created_at=LATER),
    )

    assert await servers.get(root, "files") == changed
    await servers.put(root, server)
    assert await servers.get(root, "files") == server


async def test_a_letter_that_cannot_be_kept_does_not_keep_the_rest_out(
    servers: Servers, root: Principal
) -> None:
    offers = {"prompts": [{"name": "a\0b"}]}
    odd = replace(FILES, instructions="a\0b\ud800c", failure="\0", offers=offers)
    await servers.add(root, FILES)

    await servers.put(root, replace(odd, identity=Identity("x\0", "\udfff")))

    found = await servers.get(root, "files")
    assert found.instructions is not None
    assert found.instructions.startswith("a")
    assert found.offers == offers


async def test_what_is_changed_together_is_there_together_or_not_at_all(
    doors: Doors, root: Principal, tools: Tools
) -> None:
    async with doors.servers.changing(root, "files") as server:
        await doors.servers.put(root, replace(server, set_pin="s"))
        await tools.put(root, server.id, [a_tool()])
    with pytest.raises(RuntimeError):
        async with doors.servers.changing(root, "files") as server:
            await tools.put(root, server.id, [a_tool("files.new")])
            await doors.servers.put(root, FILES)
            raise RuntimeError

    assert await doors.servers.get(root, "files") == replace(FILES, set_pin="s")
    assert await tools.of(root, server) == [a_tool()]


async def test_of_two_changes_at_once_neither_undoes_the_other(
    doors: Doors, root: Principal, tools: Tools
) -> None:
    async def add_tool(name: str) -> None:
        async with doors.servers.changing(root, "files") as server:
            known = await tools.of(root, server)
            await tools.put(root, server.id, [*known, a_tool(name)])

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(add_tool(f"files.t{number}"))

    found = {tool.ref.name for tool in await tools.of(root, FILES)}
    assert found == {"t0", "t1", "t2", "t3", "t4"}


async def test_a_server_goes_with_its_tools_and_the_others_stay(
    doors: Doors, root: Principal, tools: Tools
) -> None:
    notes = an_approved_server("notes")
    await doors.servers.add(root, notes)
    for server in (FILES, notes):
        await tools.put(root, server.id, [a_tool(f"{server.name}.t", effect=Effect.PURE)])

    await doors.servers.remove(root, FILES.id)

    assert [server.name for server in await doors.servers.all(root)] == ["notes"]
    assert set(await tools.all(root)) == {notes.id}
    await doors.servers.add(root, FILES)
    assert await tools.of(root, FILES) == []


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_servers_and_tools_of_another_space_do_not_exist_and_go_with_it(
    doors: Doors, root: Principal
) -> None:
    servers, tools, acme = doors.servers, doors.tools, await doors.founded("acme")
    stranger = a_person("stranger", space=a_space("nowhere"))
    await servers.add(acme, FILES)
    await tools.put(acme, FILES.id, [a_tool()])

    assert await servers.all(root) == await servers.all(stranger) == []
    for refused in (
        servers.get(root, "files"),
        servers.put(root, replace(FILES, enabled=False)),
        servers.changing(root, "files").__aenter__(),
    ):
        with pytest.raises(ServerNotFound):
            await refused
    await servers.remove(root, FILES.id)
    with pytest.raises(REFUSED):
        await tools.put(root, FILES.id, [a_tool("files.planted")])
    assert await tools.of(root, FILES) == []
    with pytest.raises(REFUSED):
        await servers.add(stranger, FILES)

    await servers.add(root, FILES)
    await tools.put(root, FILES.id, [])
    assert await tools.all(root) == {}
    assert await tools.tally(root) == {}
    assert await tools.of(root, FILES) == []
    assert await servers.get(acme, "files") == FILES
    assert await tools.of(acme, FILES) == [a_tool()]
    await doors.spaces.delete(acme)
    again = await doors.founded("acme")
    assert await servers.all(again) == []
    assert await tools.all(again) == {}


async def test_tools_come_back_as_they_were_put_in_and_in_that_order(
    tools: Tools, root: Principal
) -> None:
    """With the same pins; and what is read otherwise than it was said is kept as it is read."""
    seen = a_tool("files.read", title="é 😀", _meta={"z": 1, "a": [None, True, ODD_NUMBERS]})
    changed = replace(
        seen,
        ref=replace(seen.ref, name="changed"),
        effect=Effect.LOCAL_READ,
        accepted=a_tool("files.read", "Once it was this.").definition,
        accepted_pin="another pin",
    )
    lenient = Definition(
        name="read",
        title="Read",
        description="",
        input_schema={"type": "object"},
        output_schema={"type": "string"},
        annotations={"readOnlyHint": True},
        raw={"name": "read", "inputSchema": {}, "description": None, "outputSchema": 7},
    )
    kept = [
        seen,
        changed,
        a_tool("files.agreed", effect=Effect.PURE),
        a_tool("files.n", numbers=ODD_NUMBERS, text="a\0b\u2028\u007f", deep=[[[[{}]]]]),
        replace(a_tool("files.lenient"), definition=lenient),
        replace(a_tool("files.odd name, very"), refused="hidden letters"),
        replace(a_tool("files.gone", effect=Effect.IRREVERSIBLE), gone=True),
        *(a_tool(f"files.{name}") for name in ("z", "b", "Z", "a", "é")),
    ]

    for order in (kept, kept[::-1]):
        await tools.put(root, FILES.id, order)

        found = await tools.of(root, FILES)
        assert found == order
        pins = [definition_pin(tool.definition.raw) for tool in order]
        assert [definition_pin(tool.definition.raw) for tool in found] == pins
        assert await tools.all(root) == {FILES.id: order}


async def test_every_change_of_a_tool_is_kept_and_what_is_not_put_again_is_not(
    tools: Tools, root: Principal
) -> None:
    for change in CHANGES:
        changed = replace(a_tool(), **change)  # type: ignore[arg-type] # fields
        for put in ([a_tool(), a_tool("files.write")], [changed], [a_tool()]):
            await tools.put(root, FILES.id, put)
            assert await tools.of(root, FILES) == put

    with pytest.raises(REFUSED):
        await tools.put(root, FILES.id, [a_tool(), a_tool("files.read", "Other.")])
    assert await tools.of(root, FILES) == [a_tool()]
    await tools.put(root, FILES.id, [])
    assert await tools.of(root, FILES) == []
    assert await tools.all(root) == {}


async def test_tools_are_counted_without_reading_them(doors: Doors, root: Principal) -> None:
    files, notes = an_approved_server("files"), a_server("notes")
    for server in (files, notes, a_server("empty")):
        await doors.servers.add(root, server)
    agreed = a_tool("files.a", effect=Effect.PURE)
    tools: list[Tool] = [
        agreed,
        replace(agreed, ref=replace(agreed.ref, name="b"), tokens=Tokens(1000)),
        a_tool("files.new"),
        replace(agreed, ref=replace(agreed.ref, name="c"), pin="other"),
        replace(a_tool("files.d"), refused="odd"),
        replace(agreed, ref=replace(agreed.ref, name="e"), refused="odd", gone=True),
    ]
    await doors.tools.put(root, files.id, tools)
    await doors.tools.put(root, notes.id, [a_tool("notes.a")])

    counted = await doors.tools.tally(root)

    tokens = Tokens(sum(tool.tokens for tool in tools[:-1]))
    assert counted == {
        files.id: ToolCounts(agreed=2, new=1, changed=1, refused=1, gone=1, tokens=tokens),
        notes.id: ToolCounts(new=1, tokens=a_tool("notes.a").tokens),
    }
