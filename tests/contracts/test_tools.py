"""What the gateway may rely on of `Tools`."""

from dataclasses import replace

import pytest

from portico.gateway.core.pin import definition_pin
from portico.gateway.core.server import Server
from portico.gateway.core.tally import Tally
from portico.gateway.core.tool import Definition, Tool
from portico.kernel.effect import Effect
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokens
from portico.testing.gateway import a_server, a_tool, an_approved_server
from tests.contracts.doors import REFUSED, Doors

ODD_NUMBERS = {"a": 1.0, "b": 1e2, "c": 2**70, "d": -0.0, "e": 1e-7, "f": 0.1, "g": 100}


async def a_home(doors: Doors, *servers: Server) -> Principal:
    root = await doors.founded("home")
    for server in servers or (a_server(),):
        await doors.servers.add(root, server)
    return root


async def test_a_tool_comes_back_as_it_was_put_in(doors: Doors) -> None:
    root = await a_home(doors)
    seen = a_tool("files.read", title="é 😀", _meta={"z": 1, "a": [None, True, ODD_NUMBERS]})
    changed = replace(
        seen,
        ref=replace(seen.ref, name="changed"),
        effect=Effect.LOCAL_READ,
        accepted=a_tool("files.read", "Once it was this.").definition,
        accepted_pin="another pin",
    )
    tools = [
        seen,
        changed,
        a_tool("files.agreed", effect=Effect.PURE),
        replace(a_tool("files.odd name, very"), refused="hidden letters"),
        replace(a_tool("files.gone", effect=Effect.IRREVERSIBLE), gone=True),
    ]

    await doors.tools.put(root, a_server().id, tools)

    assert await doors.tools.of(root, a_server()) == tools
    assert await doors.tools.all(root) == {a_server().id: tools}


async def test_a_definition_has_the_same_pin_afterwards(doors: Doors) -> None:
    root = await a_home(doors)
    tool = a_tool(numbers=ODD_NUMBERS, text="a\0b\u2028\u007f", deep=[[[[{}]]]])

    await doors.tools.put(root, a_server().id, [tool])

    [found] = await doors.tools.of(root, a_server())
    assert definition_pin(found.definition.raw) == definition_pin(tool.definition.raw)


async def test_what_is_read_otherwise_than_it_was_said_is_kept_as_it_is_read(
    doors: Doors,
) -> None:
    root = await a_home(doors)
    lenient = Definition(
        name="read",
        title="Read",
        description="",
        input_schema={"type": "object"},
        output_schema={"type": "string"},
        annotations={"readOnlyHint": True},
        raw={"name": "read", "inputSchema": {}, "description": None, "outputSchema": 7},
    )
    tool = replace(a_tool("files.read"), definition=lenient)

    await doors.tools.put(root, a_server().id, [tool])

    assert await doors.tools.of(root, a_server()) == [tool]


async def test_tools_keep_the_order_in_which_they_are_named(doors: Doors) -> None:
    root = await a_home(doors)
    tools = [a_tool(f"files.{name}") for name in ("z", "b", "Z", "a", "é")]
    await doors.tools.put(root, a_server().id, tools)

    await doors.tools.put(root, a_server().id, tools[::-1])

    assert await doors.tools.of(root, a_server()) == tools[::-1]


async def test_what_is_not_put_again_is_not_kept(doors: Doors) -> None:
    root = await a_home(doors)
    read, write = a_tool("files.read"), a_tool("files.write")
    await doors.tools.put(root, a_server().id, [read, write])

    await doors.tools.put(root, a_server().id, [write])
    rest = await doors.tools.of(root, a_server())
    await doors.tools.put(root, a_server().id, [])

    assert rest == [write]
    assert await doors.tools.of(root, a_server()) == []
    assert await doors.tools.all(root) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"effect": Effect.PURE},
        {"refused": "odd"},
        {"gone": True},
        {"tokens": 99},
        {"definition": a_tool("files.read", "Reads it otherwise.").definition},
        {"pin": "p", "definition": a_tool("files.read", "Another.").definition},
        {"accepted": a_tool("files.read", "Before.").definition, "accepted_pin": "q"},
        {"accepted": a_tool("files.read").definition, "accepted_pin": a_tool().pin},
    ],
)
async def test_every_change_of_a_tool_is_kept(doors: Doors, change: dict[str, object]) -> None:
    root = await a_home(doors)
    await doors.tools.put(root, a_server().id, [a_tool()])
    changed = replace(a_tool(), **change)  # type: ignore[arg-type] # fields

    await doors.tools.put(root, a_server().id, [changed])
    found = await doors.tools.of(root, a_server())
    await doors.tools.put(root, a_server().id, [a_tool()])

    assert found == [changed]
    assert await doors.tools.of(root, a_server()) == [a_tool()]


async def test_no_two_tools_of_a_server_have_one_name(doors: Doors) -> None:
    root = await a_home(doors)
    await doors.tools.put(root, a_server().id, [a_tool()])

    with pytest.raises(REFUSED):
        await doors.tools.put(root, a_server().id, [a_tool(), a_tool("files.read", "Other.")])

    assert await doors.tools.of(root, a_server()) == [a_tool()]


async def test_tools_are_counted_without_reading_them(doors: Doors) -> None:
    files, notes = an_approved_server("files"), a_server("notes")
    root = await a_home(doors, files, notes, a_server("empty"))
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
        files.id: Tally(agreed=2, new=1, changed=1, refused=1, gone=1, tokens=tokens),
        notes.id: Tally(new=1, tokens=a_tool("notes.a").tokens),
    }


@pytest.mark.requirement("guard:spaces:walls")
async def test_the_tools_of_another_space_do_not_exist(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    await doors.servers.add(acme, a_server())
    await doors.tools.put(acme, a_server().id, [a_tool()])

    with pytest.raises(REFUSED):
        await doors.tools.put(home, a_server().id, [a_tool("files.planted")])
    await doors.servers.add(home, a_server())
    await doors.tools.put(home, a_server().id, [])

    assert await doors.tools.all(home) == {}
    assert await doors.tools.of(home, a_server()) == []
    assert await doors.tools.tally(home) == {}
    assert await doors.tools.of(acme, a_server()) == [a_tool()]


async def test_a_server_that_does_not_exist_has_no_tools(doors: Doors) -> None:
    root = await doors.founded("home")

    with pytest.raises(REFUSED):
        await doors.tools.put(root, a_server().id, [a_tool()])

    assert await doors.tools.of(root, a_server()) == []
