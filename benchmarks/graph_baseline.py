"""Ranks and ways in plain Python, for `just bench graph`: what the libraries win."""

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush
from math import log

from portico.learning.core.tool_graph import Weighted


def plain_ranks(nodes: int, edges: Sequence[Weighted]) -> Sequence[float]:
    """PageRank by steps, until nothing moves by more than a millionth."""
    out = [0.0] * nodes
    for one, _, weight in edges:
        out[one] += weight
    ranks, moved = [1 / nodes] * nodes, 1.0
    while moved > 1e-6:
        lost = sum(rank for rank, total in zip(ranks, out, strict=True) if not total)
        after = [0.15 / nodes + 0.85 * lost / nodes] * nodes
        for one, other, weight in edges:
            after[other] += 0.85 * ranks[one] * weight / out[one]
        moved = sum(abs(new - old) for new, old in zip(after, ranks, strict=True))
        ranks = after
    return ranks


def plain_path(edges: Sequence[Weighted], start: int, goal: int) -> float | None:
    """Dijkstra's; as probable as the product of shares, by their logarithms."""
    total: defaultdict[int, float] = defaultdict(float)
    after: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for one, other, weight in edges:
        total[one] += weight
        after[one].append((other, weight))
    waiting, done = [(0.0, start)], set[int]()
    while waiting:
        cost, node = heappop(waiting)
        if node == goal:
            return cost
        if node not in done:
            done.add(node)
            for other, weight in after[node]:
                heappush(waiting, (cost - log(weight / (total[node] + 2)), other))
    return None
