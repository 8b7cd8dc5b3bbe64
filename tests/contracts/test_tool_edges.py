"""What the gateway may rely on of `EdgeBook`."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.graph.edge import EdgeKind, KnownEdges, Sightings, ToolEdge
from portico.gateway.core.learnt import ToolPlace
from portico.gateway.core.server import ServerId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING
from tests.contracts.doors import Doors

FILES, MAIL = a_server("files"), a_server("mail")
READ, LIST, SEND = ToolPlace(FILES.id, "read"), ToolPlace(FILES.id, "list"), ToolPlace(MAIL.id, "s")
LISTED = ToolEdge(LIST, READ, EdgeKind.FOLLOWS)
FED = ToolEdge(READ, SEND, EdgeKind.FEEDS)
SECRET = Label(Level.TEAM, frozenset({"hr", "legal"}))


def seen(times: int, tasks: int = 1, *, at: float = 0) -> Sightings:
    return Sightings(times, tasks, BEGINNING + timedelta(seconds=at))


async def opened(doors: Doors, name: str = "home") -> Principal:
    root = await doors.founded(name)
    await doors.servers.add(root, FILES)
    await doors.servers.add(root, MAIL)
    return replace(root, clearance=SECRET)


async def known(doors: Doors, caller: Principal, most: int = 9) -> Mapping[ToolEdge, Sightings]:
    return sightings(await doors.edges.known(caller, most))


def sightings(told: KnownEdges) -> Mapping[ToolEdge, Sightings]:
    return {
        ToolEdge(told.places[earlier], told.places[later], kind): seen
        for earlier, later, kind, seen in told.edges
    }


async def test_what_is_seen_is_added_up(doors: Doors) -> None:
    root = await opened(doors)

    await doors.edges.learn(root, PUBLIC, {LISTED: seen(2, 1, at=9), FED: seen(1, 1)})
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(3, 2, at=5)})
    await doors.edges.learn(root, PUBLIC, {})

    assert await known(doors, root) == {LISTED: seen(5, 3, at=9), FED: seen(1, 1)}


async def test_the_two_kinds_are_counted_apart(doors: Doors) -> None:
    root = await opened(doors)
    follows = replace(FED, kind=EdgeKind.FOLLOWS)

    await doors.edges.learn(root, PUBLIC, {FED: seen(1), follows: seen(4)})

    assert await known(doors, root) == {FED: seen(1), follows: seen(4)}


async def test_of_too_many_those_of_most_tasks_are_told(doors: Doors) -> None:
    root = await opened(doors)
    late, early = (replace(LISTED, later=replace(READ, tool=name)) for name in ("a", "b"))
    learnt = {FED: seen(9, 1, at=8), LISTED: seen(3, 3), early: seen(1), late: seen(1, at=2)}

    await doors.edges.learn(root, PUBLIC, learnt)

    assert {*await known(doors, root)} == {LISTED, FED, late, early}
    assert {*await known(doors, root, 4)} == {LISTED, FED, late, early}
    assert [*await known(doors, root, 3)] == [LISTED, FED, late]
    assert (await doors.edges.known(root, 1)).places == [LIST, READ]


async def test_nobody_is_told_what_was_learnt_above_their_clearance(doors: Doors) -> None:
    root = await opened(doors)
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(1)})
    await doors.edges.learn(root, SECRET, {LISTED: seen(4, 2, at=7), FED: seen(1)})

    below = replace(root, clearance=Label(Level.RESTRICTED, frozenset({"hr"})))

    told = await doors.edges.known(root, 9)
    assert sorted(each for *_, each in told.edges) == [seen(1), seen(1), seen(4, 2, at=7)]
    assert {*sightings(told)} == {LISTED, FED}
    assert {*told.places} == {LIST, READ, SEND}
    assert await known(doors, below) == {LISTED: seen(1)}


async def test_nothing_is_written_above_the_writer(doors: Doors) -> None:
    root = await opened(doors)

    await doors.edges.learn(replace(root, clearance=PUBLIC), SECRET, {LISTED: seen(1)})

    assert await known(doors, root) == {}


async def test_of_what_several_learn_at_once_nothing_is_lost(doors: Doors) -> None:
    root = await opened(doors)

    async with asyncio.TaskGroup() as group:
        for edges in ([LISTED, FED], [FED, LISTED]) * 5:
            learnt = dict.fromkeys(edges, seen(2))
            group.create_task(doors.edges.learn(root, PUBLIC, learnt))

    assert await known(doors, root) == {LISTED: seen(20, 10), FED: seen(20, 10)}


async def test_only_what_was_seen_last_stays(doors: Doors) -> None:
    root = await opened(doors)
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(9, at=1), FED: seen(1, at=2)})
    await doors.edges.learn(root, SECRET, {LISTED: seen(1)})

    await doors.edges.trim(root, PUBLIC, 1)
    await doors.edges.trim(replace(root, clearance=PUBLIC), SECRET, 0)

    assert await known(doors, root) == {FED: seen(1, at=2), LISTED: seen(1)}


async def test_it_goes_with_either_server(doors: Doors) -> None:
    root = await opened(doors)
    own = replace(FED, earlier=SEND)
    await doors.edges.learn(root, SECRET, {LISTED: seen(1), FED: seen(1), own: seen(1)})

    await doors.servers.remove(replace(root, clearance=PUBLIC), FILES.id)
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(1), FED: seen(1)})

    assert await known(doors, root) == {own: seen(1)}


async def test_each_space_learns_for_itself(doors: Doors) -> None:
    home, acme = await opened(doors), await opened(doors, "acme")
    nowhere = ToolPlace(ServerId(home.space.value), "x")

    await doors.edges.learn(home, PUBLIC, {LISTED: seen(1), replace(FED, later=nowhere): seen(1)})

    assert [*await known(doors, home)] == [LISTED]
    assert await known(doors, acme) == {}


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_has_the_edges_that_its_taker_may_know(doors: Doors) -> None:
    root = await opened(doors)
    await doors.edges.learn(root, SECRET, {FED: seen(1)})
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(2), FED: seen(1)})

    whole = await _exported(doors, root)
    below = await _exported(doors, replace(root, clearance=PUBLIC))
    await doors.servers.put(root, replace(MAIL, label=Label(Level.RESTRICTED)))

    assert len(whole) == 3
    assert sorted(below) == [("list", "read", "follows", 2), ("read", "s", "feeds", 1)]
    assert await _exported(doors, root) == [("list", "read", "follows", 2)]


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_takes_them_with_it(doors: Doors) -> None:
    root = await opened(doors)
    await doors.edges.learn(root, PUBLIC, {LISTED: seen(1)})

    await doors.spaces.delete(root)

    assert await _exported(doors, await opened(doors)) == []


async def _exported(doors: Doors, caller: Principal) -> list[tuple[object, ...]]:
    columns = ("earlier_tool", "later_tool", "kind", "times")
    return [
        tuple(row.values[column] for column in columns)
        async for row in doors.spaces.export(caller)
        if row.table == "tool_edge"
    ]
