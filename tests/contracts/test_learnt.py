"""What the gateway may rely on of `Shapes` and `SeenFlows`."""

import asyncio
from dataclasses import replace

import pytest

from portico.gateway.core.learnt import Passed, SeenShape, ToolPlace
from portico.gateway.core.server import ServerId
from portico.gateway.core.shapes import merged, shape_of
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from tests.contracts.doors import Doors

FILES, MAIL = a_server("files"), a_server("mail")
READ, LIST, SEND = ToolPlace(FILES.id, "read"), ToolPlace(FILES.id, "list"), ToolPlace(MAIL.id, "s")
ONE, OTHER = shape_of({"id": 1, "größe": [{"a": None}]}), shape_of({"id": "x"})
FED = Passed(READ, "json.items[0].id", SEND, "to")


async def opened(doors: Doors, name: str = "home") -> Principal:
    root = await doors.founded(name)
    await doors.servers.add(root, FILES)
    await doors.servers.add(root, MAIL)
    return root


async def test_nothing_is_known_at_first(doors: Doors) -> None:
    root = await opened(doors)

    assert await doors.shapes.known(root, {READ: "p"}) == {}
    assert await doors.shapes.known(root, {}) == {}
    assert await doors.flows.counted(root, 9) == {}


async def test_what_is_learnt_is_put_together(doors: Doors) -> None:
    root = await opened(doors)

    await doors.shapes.learn(root, {READ: SeenShape("p", 2, ONE), LIST: SeenShape("p", 1, ONE)})
    await doors.shapes.learn(root, {READ: SeenShape("p", 3, OTHER)})
    await doors.shapes.learn(root, {})

    assert await doors.shapes.known(root, {READ: "p", LIST: "p", SEND: "p"}) == {
        READ: SeenShape("p", 5, merged(ONE, OTHER)),
        LIST: SeenShape("p", 1, ONE),
    }


async def test_with_another_definition_it_is_learnt_anew(doors: Doors) -> None:
    root = await opened(doors)
    await doors.shapes.learn(root, {READ: SeenShape("old", 9, ONE)})

    await doors.shapes.learn(root, {READ: SeenShape("new", 1, OTHER)})

    assert await doors.shapes.known(root, {READ: "old"}) == {}
    assert await doors.shapes.known(root, {READ: "new"}) == {READ: SeenShape("new", 1, OTHER)}


async def test_of_what_several_learn_at_once_nothing_is_lost(doors: Doors) -> None:
    root = await opened(doors)
    seen = SeenShape("p", 1, ONE)

    async with asyncio.TaskGroup() as group:
        for places in ([READ, LIST, SEND], [SEND, LIST, READ]) * 5:
            group.create_task(doors.shapes.learn(root, dict.fromkeys(places, seen)))
            group.create_task(doors.flows.learn(root, {FED: 2, replace(FED, path=""): 1}))

    known = await doors.shapes.known(root, dict.fromkeys([READ, LIST, SEND], "p"))
    assert [each.times for each in known.values()] == [10, 10, 10]
    assert {each.shape.times for each in known.values()} == {10}
    assert await doors.flows.counted(root, 9) == {FED: 20, replace(FED, path=""): 10}


async def test_what_was_passed_on_most_often_comes_first(doors: Doors) -> None:
    root = await opened(doors)
    rare, usual = replace(FED, parameter="cc"), replace(FED, path="text")

    await doors.flows.learn(root, {rare: 1, usual: 3, FED: 1})
    await doors.flows.learn(root, {})

    assert [*(await doors.flows.counted(root, 9)).items()] == [(usual, 3), (rare, 1), (FED, 1)]
    assert await doors.flows.counted(root, 1) == {usual: 3}


async def test_it_goes_with_its_server(doors: Doors) -> None:
    root = await opened(doors)
    await doors.shapes.learn(root, {READ: SeenShape("p", 1, ONE), SEND: SeenShape("p", 1, ONE)})
    await doors.flows.learn(root, {FED: 1, replace(FED, producer=SEND): 1})

    await doors.servers.remove(root, FILES.id)
    await doors.shapes.learn(root, {READ: SeenShape("p", 1, ONE)})
    await doors.flows.learn(root, {FED: 1})

    assert [*await doors.shapes.known(root, {READ: "p", SEND: "p"})] == [SEND]
    assert [*await doors.flows.counted(root, 9)] == [replace(FED, producer=SEND)]


async def test_each_space_learns_for_itself(doors: Doors) -> None:
    home, acme = await opened(doors), await opened(doors, "acme")

    await doors.shapes.learn(home, {READ: SeenShape("p", 1, ONE)})
    await doors.flows.learn(home, {FED: 1})

    assert await doors.shapes.known(acme, {READ: "p"}) == {}
    assert await doors.flows.counted(acme, 9) == {}


async def test_of_a_server_that_never_was_nothing_is_kept(doors: Doors) -> None:
    root = await opened(doors)
    nowhere = ToolPlace(ServerId(root.space.value), "x")

    await doors.shapes.learn(root, {nowhere: SeenShape("p", 1, ONE), READ: SeenShape("p", 1, ONE)})
    await doors.flows.learn(root, {replace(FED, consumer=nowhere): 1})

    assert [*await doors.shapes.known(root, {nowhere: "p", READ: "p"})] == [READ]
    assert await doors.flows.counted(root, 9) == {}


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_what_was_learnt_of_the_servers_that_its_taker_may_know(
    doors: Doors,
) -> None:
    root = await opened(doors)
    await doors.shapes.learn(root, {READ: SeenShape("p", 1, ONE), SEND: SeenShape("p", 1, OTHER)})
    await doors.flows.learn(root, {FED: 1})

    before = [row async for row in doors.spaces.export(root) if row.table in TABLES]
    await doors.servers.put(root, replace(FILES, label=Label(Level.TEAM, frozenset({"hr"}))))
    after = [row async for row in doors.spaces.export(root) if row.table in TABLES]

    assert sorted(row.table for row in before) == ["tool_flow", "tool_shape", "tool_shape"]
    assert [(row.table, row.values["tool"], row.values["shape"]) for row in after] == [
        ("tool_shape", "s", {"kinds": {"object": 1}, "members": {"id": {"kinds": {"string": 1}}}})
    ]


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_takes_it_with_it(doors: Doors) -> None:
    root = await opened(doors)
    await doors.shapes.learn(root, {READ: SeenShape("p", 1, ONE)})
    await doors.flows.learn(root, {FED: 1})
    await doors.spaces.delete(root)

    again = await opened(doors)

    assert not {row.table async for row in doors.spaces.export(again)} & TABLES


TABLES = {"tool_shape", "tool_flow"}
