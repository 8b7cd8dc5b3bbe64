"""What plans teach the graph, and how little one task does."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.servers import ServerId
from portico.learning.core.graph import task_bound
from portico.learning.core.graph.edge import EdgeKind, Sightings, ToolEdge
from portico.learning.core.graph.plan_edges import plan_edges
from portico.learning.core.graph.task_bound import TaskBound
from portico.testing.gateway import a_server
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan_documents import read_plan

EXPRESSIONS = JmespathExpressions()
FILES = ServerId.mint(BEGINNING, SeededEntropy("files"))
PLAN = read_plan(
    {
        "steps": [
            {"id": "list", "tool": "files.list"},
            {
                "id": "read",
                "tool": "files.read",
                "arguments": {"a": {"$from": "list.json.a"}, "b": {"$from": "list.json.b"}},
            },
            {"id": "log", "tool": "files.log", "after": ["read"]},
            {
                "id": "each",
                "tool": "files.each",
                "for_each": {"in": {"$from": "list.json.all"}},
                "when": "read.json",
            },
            {"id": "gone", "tool": "mail.send", "arguments": {"a": {"$from": "list.text"}}},
        ]
    },
    EXPRESSIONS,
)


def place(ref: ToolRef) -> ToolPlace | None:
    return ToolPlace(FILES, ref.name) if ref.server == "files" else None


def edge(earlier: str, later: str, kind: EdgeKind) -> ToolEdge:
    return ToolEdge(ToolPlace(FILES, earlier), ToolPlace(FILES, later), kind)


def test_every_edge_is_learnt_once_and_none_to_a_tool_that_is_gone() -> None:
    found = [*plan_edges(PLAN, {step.id for step in PLAN.steps}, place, EXPRESSIONS)]

    assert sorted(found, key=str) == sorted(
        [
            edge("list", "read", EdgeKind.FEEDS),
            edge("read", "log", EdgeKind.FOLLOWS),
            edge("list", "each", EdgeKind.FOLLOWS),
            edge("read", "each", EdgeKind.FOLLOWS),
        ],
        key=str,
    )


def test_a_step_that_was_left_out_teaches_nothing() -> None:
    found = [*plan_edges(PLAN, {"list", "read"}, place, EXPRESSIONS)]

    assert found == [edge("list", "read", EdgeKind.FEEDS)]


SERVER = a_server("files").id
EDGE = ToolEdge(ToolPlace(SERVER, "a"), ToolPlace(SERVER, "b"), EdgeKind.FOLLOWS)


def test_the_first_time_counts_as_a_task_the_second_as_a_time_and_more_not_at_all() -> None:
    bound = TaskBound()

    counted = [bound.counted("task", EDGE, BEGINNING) for _ in range(4)]

    assert counted == [Sightings(1, 1, BEGINNING), Sightings(1, 0, BEGINNING), None, None]


def test_each_task_and_each_edge_counts_for_itself() -> None:
    bound = TaskBound()
    other = replace(EDGE, kind=EdgeKind.FEEDS)

    for task, edge in (("one", EDGE), ("other", EDGE), ("one", other)):
        assert bound.counted(task, edge, BEGINNING) == Sightings(1, 1, BEGINNING)


def test_half_an_hour_later_it_counts_again_however_often_it_was_tried_meanwhile() -> None:
    bound = TaskBound()
    minutes = [timedelta(minutes=number) for number in range(62)]

    counted = [bound.counted("task", EDGE, BEGINNING + each) for each in minutes]

    assert [number for number, each in enumerate(counted) if each] == [0, 1, 31, 32]


def test_of_very_many_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_bound, "_MOST", 2)
    bound = TaskBound()

    for task in "aabbcc":
        bound.counted(task, EDGE, BEGINNING)

    assert bound.counted("b", EDGE, BEGINNING) is None
    assert bound.counted("a", EDGE, BEGINNING) == Sightings(1, 1, BEGINNING)
