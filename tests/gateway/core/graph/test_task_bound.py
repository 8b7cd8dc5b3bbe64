"""One task teaches an edge little, however often it goes round."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.graph import task_bound
from portico.gateway.core.graph.edge import EdgeKind, Sightings, ToolEdge
from portico.gateway.core.graph.task_bound import TaskBound
from portico.gateway.core.learnt import ToolPlace
from portico.testing.gateway import a_server
from portico.testing.kernel import BEGINNING

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
