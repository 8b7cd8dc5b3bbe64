"""What the gateway may rely on of what it learns: `Shapes`, `ObservedFlows`, `EdgeStore` and
`LearnedCounts`."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.inferred_schema import ObservedSchema, Passed, ToolPlace, merged, shape_of
from portico.gateway.core.servers import ServerId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.observation import Count, CountKey
from portico.learning.core.tool_graph import EdgeKind, KnownEdges, Sightings, ToolEdge
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING
from tests.contracts.doors import Doors

FILES, MAIL = a_server("files"), a_server("mail")
READ, LIST, SEND = ToolPlace(FILES.id, "read"), ToolPlace(FILES.id, "list"), ToolPlace(MAIL.id, "s")
SECRET = Label(Level.TEAM, frozenset({"hr", "legal"}))
BELOW = Label(Level.RESTRICTED, frozenset({"hr"}))
ONE, OTHER = shape_of({"id": 1, "größe": [{"a": None}]}), shape_of({"id": "x"})
SHAPE = ObservedSchema("p", 1, ONE)
PASSED = Passed(READ, "json.items[0].id", SEND, "to")
LISTED = ToolEdge(LIST, READ, EdgeKind.FOLLOWS)
FED = ToolEdge(READ, SEND, EdgeKind.FEEDS)


@pytest.fixture
async def home(doors: Doors) -> Principal:
    return await opened(doors)


async def opened(doors: Doors, name: str = "home") -> Principal:
    """Whoever is cleared for all that is learnt there of two servers."""
    root = await doors.founded(name)
    await doors.servers.add(root, FILES)
    await doors.servers.add(root, MAIL)
    return replace(root, clearance=SECRET)


async def test_what_is_learnt_of_shapes_is_put_together_until_the_definition_is_another(
    doors: Doors, home: Principal
) -> None:
    shapes = doors.shapes
    assert await shapes.known(home, {READ: "p"}) == {}

    await shapes.learn(home, {READ: ObservedSchema("p", 2, ONE), LIST: SHAPE})
    await shapes.learn(home, {READ: ObservedSchema("p", 3, OTHER)})
    await shapes.learn(home, {})
    assert await shapes.known(home, {}) == {}
    assert await shapes.known(home, {READ: "p", LIST: "p", SEND: "p"}) == {
        READ: ObservedSchema("p", 5, merged(ONE, OTHER)),
        LIST: SHAPE,
    }

    await shapes.learn(home, {READ: ObservedSchema("new", 1, OTHER)})
    assert await shapes.known(home, {READ: "p"}) == {}
    assert await shapes.known(home, {READ: "new"}) == {READ: ObservedSchema("new", 1, OTHER)}


async def test_what_was_passed_on_most_often_comes_first(doors: Doors, home: Principal) -> None:
    rare, usual = replace(PASSED, parameter="cc"), replace(PASSED, path="text")
    assert await doors.flows.counted(home, 9) == {}

    await doors.flows.learn(home, {rare: 1, usual: 3, PASSED: 1})
    await doors.flows.learn(home, {})

    assert [*(await doors.flows.counted(home, 9)).items()] == [(usual, 3), (rare, 1), (PASSED, 1)]
    assert await doors.flows.counted(home, 1) == {usual: 3}


async def test_of_what_several_learn_at_once_nothing_is_lost(doors: Doors, home: Principal) -> None:
    apart, kept = replace(PASSED, path=""), [SERVER, BOTH, NONE]
    async with asyncio.TaskGroup() as group:
        for step in (1, -1) * 5:
            places, edges = [READ, LIST, SEND][::step], [LISTED, FED][::step]
            group.create_task(doors.shapes.learn(home, dict.fromkeys(places, SHAPE)))
            group.create_task(doors.flows.learn(home, {PASSED: 2, apart: 1}))
            group.create_task(doors.edges.learn(home, PUBLIC, dict.fromkeys(edges, seen(2))))
            group.create_task(
                doors.counts.learn(home, PUBLIC, dict.fromkeys(kept[::step], count(2, 1)))
            )

    known = await doors.shapes.known(home, dict.fromkeys([READ, LIST, SEND], "p"))
    assert [each.times for each in known.values()] == [10, 10, 10]
    assert {each.shape.times for each in known.values()} == {10}
    assert await doors.flows.counted(home, 9) == {PASSED: 20, apart: 10}
    assert await edges_of(doors, home) == {LISTED: seen(20, 10), FED: seen(20, 10)}
    assert await counts_of(doors, home) == dict.fromkeys(kept, count(20, 10))


def seen(times: int, tasks: int = 1, *, at: float = 0) -> Sightings:
    return Sightings(times, tasks, BEGINNING + timedelta(seconds=at))


async def edges_of(doors: Doors, caller: Principal, most: int = 9) -> Mapping[ToolEdge, Sightings]:
    return sightings(await doors.edges.known(caller, most))


def sightings(told: KnownEdges) -> Mapping[ToolEdge, Sightings]:
    return {
        ToolEdge(told.places[earlier], told.places[later], kind): seen
        for earlier, later, kind, seen in told.edges
    }


async def test_what_is_seen_of_edges_is_added_up_each_kind_apart(
    doors: Doors, home: Principal
) -> None:
    follows = replace(FED, kind=EdgeKind.FOLLOWS)

    learnt = {LISTED: seen(2, 1, at=9), FED: seen(1), follows: seen(4)}
    await doors.edges.learn(home, PUBLIC, learnt)
    await doors.edges.learn(home, PUBLIC, {LISTED: seen(3, 2, at=5)})
    await doors.edges.learn(home, PUBLIC, {})

    assert await edges_of(doors, home) == {**learnt, LISTED: seen(5, 3, at=9)}


async def test_of_too_many_edges_those_of_most_tasks_are_told(
    doors: Doors, home: Principal
) -> None:
    late, early = (replace(LISTED, later=replace(READ, tool=name)) for name in ("a", "b"))
    learnt = {FED: seen(9, 1, at=8), LISTED: seen(3, 3), early: seen(1), late: seen(1, at=2)}

    await doors.edges.learn(home, PUBLIC, learnt)

    assert {*await edges_of(doors, home)} == {LISTED, FED, late, early}
    assert {*await edges_of(doors, home, 4)} == {LISTED, FED, late, early}
    assert [*await edges_of(doors, home, 3)] == [LISTED, FED, late]
    assert (await doors.edges.known(home, 1)).places == [LIST, READ]


async def test_nobody_is_told_of_edges_above_their_clearance_nor_writes_them(
    doors: Doors, home: Principal
) -> None:
    below = replace(home, clearance=BELOW)
    await doors.edges.learn(home, PUBLIC, {LISTED: seen(1)})
    await doors.edges.learn(home, SECRET, {LISTED: seen(4, 2, at=7), FED: seen(1)})
    await doors.edges.learn(replace(home, clearance=PUBLIC), SECRET, {LISTED: seen(9)})

    told = await doors.edges.known(home, 9)
    assert sorted(each for *_, each in told.edges) == [seen(1), seen(1), seen(4, 2, at=7)]
    assert {*sightings(told)} == {LISTED, FED}
    assert {*told.places} == {LIST, READ, SEND}
    assert await edges_of(doors, below) == {LISTED: seen(1)}


def key(*parts: object, kind: str = "next") -> CountKey:
    return CountKey.of(kind, json.dumps([str(part) for part in parts]))


def count(tried: int, hit: int = 0, *, at: float = 0) -> Count:
    return Count(tried, hit, BEGINNING + timedelta(seconds=at))


SERVER, BOTH, NONE = key(FILES.id, "read"), key(FILES.id.value, MAIL.id, "größe"), key("words")


async def counts_of(
    doors: Doors, caller: Principal, label: Label = PUBLIC
) -> dict[CountKey, Count]:
    return dict(await doors.counts.known(caller, label, 9))


async def test_what_is_counted_is_added_up_each_kind_apart(doors: Doors, home: Principal) -> None:
    other = replace(SERVER, kind="other")

    learnt = {SERVER: count(2, 1, at=9), other: count(2), NONE: count(1, at=1)}
    await doors.counts.learn(home, PUBLIC, learnt)
    await doors.counts.learn(home, PUBLIC, {SERVER: count(3, 2, at=5), BOTH: count(0)})
    await doors.counts.learn(home, PUBLIC, {})

    expected = {**learnt, BOTH: count(0), SERVER: count(5, 3, at=9)}
    assert await counts_of(doors, home) == expected


async def test_counts_come_in_the_order_in_which_they_were_last_seen(
    doors: Doors, home: Principal
) -> None:
    other = key("words", kind="other")
    learnt = {SERVER: count(1, at=3), BOTH: count(1, at=1), NONE: count(1, at=2), other: count(1)}

    await doors.counts.learn(home, PUBLIC, learnt)

    asked = [await doors.counts.known(home, PUBLIC, most) for most in (9, 2)]
    assert [[each for each, _ in found] for found in asked] == [
        [other, BOTH, NONE, SERVER],
        [other, NONE, SERVER],
    ]
    assert await doors.counts.known(home, PUBLIC, 9, ["other", "x"]) == [(other, count(1))]


async def test_nobody_is_told_what_was_counted_above_their_clearance(
    doors: Doors, home: Principal
) -> None:
    below = replace(home, clearance=BELOW)

    await doors.counts.learn(home, SECRET, {SERVER: count(1)})
    await doors.counts.learn(below, SECRET, {NONE: count(1)})
    await doors.counts.learn(below, PUBLIC, {NONE: count(2)})

    assert await doors.counts.labels(home) == [PUBLIC, SECRET]
    assert await doors.counts.labels(below) == [PUBLIC]
    assert await counts_of(doors, home, SECRET) == {SERVER: count(1)}
    assert await counts_of(doors, below, SECRET) == {}
    assert await counts_of(doors, home) == {NONE: count(2)}


async def test_what_does_not_fit_is_not_kept(doors: Doors, home: Principal) -> None:
    nowhere = ToolPlace(ServerId(home.space.value), "x")
    unfit = [
        key("x" * 4_000),
        key(nowhere.server),
        *(CountKey.of(kind, "1") for kind in ("", "k" * 33)),
        *(CountKey.of("next", words) for words in ("", "\x00", "\ud800")),
    ]
    long = CountKey.of("k" * 32, "x" * 4_000)

    await doors.counts.learn(home, PUBLIC, dict.fromkeys([*unfit, long], count(1)))
    await doors.edges.learn(home, PUBLIC, {LISTED: seen(1), replace(FED, later=nowhere): seen(1)})
    await doors.shapes.learn(home, {nowhere: SHAPE, READ: SHAPE})
    await doors.flows.learn(home, {replace(PASSED, consumer=nowhere): 1})

    assert await counts_of(doors, home) == {long: count(1)}
    assert [*await edges_of(doors, home)] == [LISTED]
    assert [*await doors.shapes.known(home, {nowhere: "p", READ: "p"})] == [READ]
    assert await doors.flows.counted(home, 9) == {}


async def test_only_what_was_seen_last_stays(doors: Doors, home: Principal) -> None:
    other, low = replace(SERVER, kind="other"), replace(home, clearance=PUBLIC)
    learnt = {SERVER: count(1, at=1), BOTH: count(1, at=2), other: count(1)}
    for label in (PUBLIC, SECRET):
        await doors.counts.learn(home, label, learnt)
    await doors.edges.learn(home, PUBLIC, {LISTED: seen(9, at=1), FED: seen(1, at=2)})
    await doors.edges.learn(home, SECRET, {LISTED: seen(1)})

    for book in (doors.counts, doors.edges):
        await book.trim(home, PUBLIC, 1)
        await book.trim(low, SECRET, 0)

    assert await counts_of(doors, home) == {BOTH: count(1, at=2), other: count(1)}
    assert await counts_of(doors, home, SECRET) == learnt
    assert await edges_of(doors, home) == {FED: seen(1, at=2), LISTED: seen(1)}


async def learnt_everything(doors: Doors, caller: Principal, label: Label = PUBLIC) -> None:
    await doors.shapes.learn(caller, {READ: SHAPE, SEND: ObservedSchema("p", 1, OTHER)})
    await doors.flows.learn(caller, {PASSED: 1, replace(PASSED, producer=SEND): 1})
    edges = {LISTED: seen(2), FED: seen(1), replace(FED, earlier=SEND): seen(1)}
    await doors.edges.learn(caller, label, edges)
    counts = {SERVER: count(1), BOTH: count(2), NONE: count(3)}
    await doors.counts.learn(caller, label, counts)


async def test_what_is_learnt_goes_with_any_server_that_it_names(
    doors: Doors, home: Principal
) -> None:
    await learnt_everything(doors, home, SECRET)

    await doors.servers.remove(replace(home, clearance=PUBLIC), FILES.id)
    await learnt_everything(doors, home)

    assert [*await doors.shapes.known(home, {READ: "p", SEND: "p"})] == [SEND]
    assert [*await doors.flows.counted(home, 9)] == [replace(PASSED, producer=SEND)]
    assert [*await edges_of(doors, home)] == [replace(FED, earlier=SEND)]
    assert [*await counts_of(doors, home, SECRET)] == [NONE]


@pytest.mark.requirement("guard:spaces:export")
@pytest.mark.requirement("guard:spaces:delete")
async def test_each_space_learns_for_itself_and_takes_it_with_it(
    doors: Doors, home: Principal
) -> None:
    acme, below = await opened(doors, "acme"), replace(home, clearance=PUBLIC)
    await learnt_everything(doors, home, SECRET)
    await learnt_everything(doors, home)
    await doors.servers.remove(acme, FILES.id)

    async def exported(caller: Principal) -> dict[str, list[str]]:
        tables: dict[str, list[str]] = {}
        async for row in doors.spaces.export(caller):
            known = row.values
            if row.table == "tool_edge":
                told = [known[its] for its in ("earlier_tool", "later_tool", "kind", "times")]
            else:
                told = [known.get("tool") or known.get("key") or known.get("path")]
            if row.table in ("tool_edge", "prediction_count", "inferred_schema", "tool_flow"):
                tables.setdefault(row.table, []).append(" ".join(map(str, told)))
        return {table: sorted(rows) for table, rows in tables.items()}

    counts, shapes = sorted([SERVER.key, BOTH.key, NONE.key]), ["read", "s"]
    edges, flows = ["list read follows 2", "read s feeds 1", "s s feeds 1"], [PASSED.path] * 2
    own = {
        "prediction_count": counts,
        "tool_edge": edges,
        "tool_flow": flows,
        "inferred_schema": shapes,
    }
    above = {"prediction_count": sorted(counts * 2), "tool_edge": sorted(edges * 2)}
    assert await exported(below) == own
    assert await exported(home) == {**own, **above}
    rows = [row.values async for row in doors.spaces.export(home) if row.table == "inferred_schema"]
    members = {"id": {"kinds": {"string": 2}}}
    assert {"kinds": {"object": 2}, "members": members} in [row["shape"] for row in rows]
    await doors.servers.put(home, replace(MAIL, label=Label(Level.RESTRICTED)))
    assert await exported(home) == {
        "prediction_count": sorted([SERVER.key, NONE.key] * 2),
        "tool_edge": ["list read follows 2"] * 2,
        "inferred_schema": ["read"],
    }

    assert await exported(acme) == {}
    assert await doors.counts.labels(acme) == []
    assert await doors.shapes.known(acme, {READ: "p"}) == {}
    assert await doors.flows.counted(acme, 9) == {}
    assert await edges_of(doors, acme) == {}
    assert await counts_of(doors, acme) == {}
    await doors.spaces.delete(home)
    assert await exported(await opened(doors)) == {}
