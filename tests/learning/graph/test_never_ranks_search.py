"""Search does not look at the learnt graph: not in its code, and not in what it finds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import portico
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.label import PUBLIC
from portico.learning.core.tool_graph import EdgeKind, ToolEdge
from portico.testing.gateway_fakes import ANYTHING
from portico.testing.guard import MemoryRules
from tests.gateway.open_room import ANA, READ, WEATHER, OpenRoom
from tests.learning.test_tool_graph import in_task

SOURCE = Path(portico.__file__).parent
SEARCH = ["portico.gateway.search", "portico.gateway.search_index"]
GRAPH = ("portico.learning", "portico.adapters.graph")
QUERIES = ["read a file", "delete it for good", "rain and wind", "write text", "nothing of this"]


def file_of(module: str) -> Path | None:
    base = SOURCE.parent / Path(*module.split("."))
    files = (base.with_suffix(".py"), base / "__init__.py")
    return next((file for file in files if file.exists()), None)


def imported(module: str) -> Iterator[str]:
    file = file_of(module)
    tree = ast.parse(file.read_text()) if file else ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def reached(start: str) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        new = {it for it in imported(waiting.pop()) if it.startswith("portico.")} - found
        found |= new
        waiting += new
    return found


@pytest.mark.requirement("gateway:graph:never-ranks")
@pytest.mark.parametrize("start", SEARCH)
def test_nothing_that_search_is_made_of_knows_the_graph(start: str) -> None:
    modules = reached(start)

    assert any(module.startswith("portico.gateway.core.search") for module in modules)
    assert [module for module in modules if module.startswith(GRAPH)] == []


def test_that_would_be_seen() -> None:
    assert any(it.startswith(GRAPH) for it in reached("portico.learning.tool_graph"))


@pytest.mark.requirement("gateway:graph:never-ranks")
async def test_what_is_found_is_the_same_whatever_was_learnt() -> None:
    room = OpenRoom(rules=MemoryRules([ANYTHING]))
    before = [await room.use.find_tools(ANA, [query]) for query in QUERIES]
    places = {
        ref: ToolPlace(server.id, ref.name)
        for server in room.world.servers.values()
        for ref in (READ.ref, WEATHER.ref)
        if server.name == ref.server
    }
    hub = ToolEdge(places[READ.ref], places[WEATHER.ref], EdgeKind.FOLLOWS)

    for number in range(300):
        room.gateway.graphs.note(in_task(ANA, number), PUBLIC, [hub])
    await room.gateway.graphs.flush()

    ranks = (await room.gateway.graphs.analysis(ANA)).ranks
    assert ranks[WEATHER.ref] > ranks[READ.ref]
    after = [await room.use.find_tools(ANA, [query]) for query in QUERIES]
    assert [found.hits for found in after] == [found.hits for found in before]
    assert [found.text for found in after] == [found.text for found in before]
