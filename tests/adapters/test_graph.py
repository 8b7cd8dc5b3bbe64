"""What the libraries compute, held against a plain computation of the same."""

import random
import subprocess
import sys
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

import pytest

from portico.adapters.graph import RustGraphMath
from portico.learning.core.tool_graph import Weighted

MATH = RustGraphMath()


def at_random(seed: int, nodes: int = 30, edges: int = 90) -> Sequence[Weighted]:
    chance = random.Random(seed)
    found = {
        (chance.randrange(nodes), chance.randrange(nodes)): chance.uniform(0.1, 5)
        for _ in range(edges)
    }
    return [(one, other, cost) for (one, other), cost in found.items() if one != other]


def cheapest(edges: Sequence[Weighted], start: int, goal: int) -> float | None:
    waiting, done = [(0.0, start)], set[int]()
    while waiting:
        cost, node = heappop(waiting)
        if node == goal:
            return cost
        if node not in done:
            done.add(node)
            for one, other, more in edges:
                if one == node:
                    heappush(waiting, (cost + more, other))
    return None


@pytest.mark.requirement("seed001:01")
@pytest.mark.requirement("seed001:08")
@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_way_costs_what_it_must(seed: int) -> None:
    edges = at_random(seed)
    costs = {(one, other): cost for one, other, cost in edges}
    graph = MATH.graph(30)
    graph.put(edges)

    for goal in range(1, 30):
        way = graph.cheapest(0, goal)
        cost = sum(costs[step] for step in pairwise(way)) if way else None
        assert cost == pytest.approx(cheapest(edges, 0, goal))
        one_each = [(one, other, 1.0) for one, other, _ in edges]
        fewest = cheapest(one_each, 0, goal)
        assert len(graph.shortest(0, goal)) == (0 if fewest is None else fewest + 1)


def test_an_edge_that_is_put_again_takes_the_place_of_the_one_before() -> None:
    graph = MATH.graph(2)
    graph.put([(0, 1, 9.0)])
    graph.grow()
    graph.put([(1, 2, 1.0), (0, 2, 5.0)])
    assert list(graph.cheapest(0, 2)) == [0, 2]

    graph.put([(0, 1, 1.0)])

    assert list(graph.cheapest(0, 2)) == [0, 1, 2]


@pytest.mark.requirement("seed001:03")
@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_where_a_walk_at_random_ends_up(seed: int) -> None:
    edges = at_random(seed)

    ranks = MATH.ranks(30, edges)

    assert ranks == pytest.approx(by_hand(30, edges), abs=1e-5)
    assert sum(ranks) == pytest.approx(1)


def by_hand(nodes: int, edges: Sequence[Weighted]) -> Sequence[float]:
    ranks = [1 / nodes] * nodes
    out = [sum(weight for one, _, weight in edges if one == node) for node in range(nodes)]
    for _ in range(200):
        lost = sum(rank for rank, total in zip(ranks, out, strict=True) if not total)
        ranks = [
            0.15 / nodes
            + 0.85 * lost / nodes
            + 0.85
            * sum(ranks[one] * weight / out[one] for one, other, weight in edges if other == node)
            for node in range(nodes)
        ]
    return ranks


def test_two_groups_with_one_edge_between_them_are_two_communities() -> None:
    groups = [range(8), range(8, 16)]
    edges = [
        (one, other, 1.0) for group in groups for one in group for other in group if one < other
    ]

    found = MATH.communities(17, [*edges, (0, 8, 1.0)])

    assert [len(set(found[:8])), len(set(found[8:16])), len(set(found))] == [1, 1, 3]
    assert found == MATH.communities(17, [*edges, (0, 8, 1.0)])


def test_without_edges_everybody_is_alone() -> None:
    assert list(MATH.communities(3, [])) == [0, 1, 2]
    assert list(MATH.communities(3, [(0, 1, 0.0)])) == [0, 1, 2]
    assert list(MATH.ranks(0, [])) == []


def test_the_libraries_are_loaded_late() -> None:
    code = (
        "import sys, portico.app.learning\n"
        "assert not {'rustworkx', 'graspologic_native'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
