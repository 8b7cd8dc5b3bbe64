"""The process under measurement in `just bench graph`."""

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, Final, cast

from benchmarks.graph_baseline import plain_path, plain_ranks
from benchmarks.graph_world import GraphWorld, written
from portico.adapters.graph import RustGraphMath
from portico.adapters.postgres.learning.counts import PostgresEdgeStore, PostgresObservedFlows
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock
from portico.app.app_context import AppContext
from portico.app.use_cases import use_cases
from portico.gateway.catalog import Catalogs
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.tool_graph import EdgeKind, KnownGraph, ToolEdge
from portico.learning.tool_graph import Graphs

_PATHS: Final = 200
_RUN: Final = 8
"""Calls of the run after which the graph is brought up to date."""

Figures = dict[str, Any]


async def measured(tools: int, edges: int, rounds: int) -> Figures:
    ground = AppContext()
    async with open_pool(ground.store.addresses.app, 4) as pool:
        transactions = Transactions(pool)
        key = await asyncio.to_thread(ground.agent_key_file.read_text)
        entry = await use_cases(ground, transactions).authenticate(key.strip())
        return await figures_of(transactions, entry.principal, (tools, edges), rounds)


async def figures_of(
    transactions: Transactions, somebody: Principal, size: tuple[int, int], rounds: int
) -> Figures:
    """Of a graph with so many tools and edges, drawn and written first."""
    caller = replace(somebody, clearance=Label(Level.TEAM))
    world = await written(transactions, caller, *size)
    await _fresh(transactions, world).analysis(caller)  # the libraries are loaded
    return {
        "rows": world.rows,
        **await _whole(transactions, world, caller, rounds),
        **await _parts(_fresh(transactions, world), world, caller, rounds),
    }


def _fresh(transactions: Transactions, world: GraphWorld) -> Graphs:
    """Knowing nothing yet, as in a process that has just started."""
    return Graphs(
        book=PostgresEdgeStore(transactions),
        flows=PostgresObservedFlows(transactions),
        catalogues=cast("Catalogs", world),
        math=RustGraphMath(),
        clock=SystemClock(),
    )


async def _whole(
    transactions: Transactions, world: GraphWorld, caller: Principal, rounds: int
) -> Figures:
    """From nothing: read, ranks, communities and a way."""
    syncs, totals, used = [], [], []
    for _ in range(rounds):
        graphs = _fresh(transactions, world)
        began, cpu = time.perf_counter(), time.process_time()
        await graphs.of(caller)
        syncs.append(_since(began))
        used.append((time.process_time() - cpu) * 1_000)
        await graphs.analysis(caller)
        graph = await graphs.explained(caller)
        graph.path(world.tools[0], world.tools[-1])
        totals.append(_since(began))
    return {
        "sync_ms": median(syncs),
        "sync_cpu_ms": median(used),
        "total_ms": median(totals),
    }


async def _parts(graphs: Graphs, world: GraphWorld, caller: Principal, rounds: int) -> Figures:
    graph, math = await graphs.explained(caller), RustGraphMath()
    edges, nodes = graph.weighted(), len(graph.tools)
    chance = random.Random(9)  # noqa: S311 # the same ones on every run
    ends = [(chance.choice(world.tools), chance.choice(world.tools)) for _ in range(_PATHS)]
    numbers = {tool: number for number, tool in enumerate(graph.tools)}
    known = [(one, other) for one, other in ends if one in numbers and other in numbers]
    graph.path(*known[0])
    paths = [_timed(partial(graph.path, one, other), 3) for one, other in known]
    return {
        "tools": nodes,
        "edges": graph.size,
        "pagerank_ms": _timed(partial(math.ranks, nodes, edges), rounds),
        "communities_ms": _timed(partial(math.communities, nodes, edges), rounds),
        "communities": len(set(math.communities(nodes, edges))),
        "path_ms": median(paths),
        "path_p95_ms": sorted(paths)[int(len(paths) * 0.95)],
        "incremental_ms": await _incremental(graphs, world, caller),
        "plain_pagerank_ms": _timed(partial(plain_ranks, nodes, edges), 1),
        "plain_path_ms": median(
            _timed(partial(plain_path, edges, numbers[one], numbers[other]), 1)
            for one, other in known[:10]
        ),
    }


async def _incremental(graphs: Graphs, world: GraphWorld, caller: Principal) -> float:
    """A run has ended: what it teaches is noted, and the graph knows it."""
    spans = []
    chance = random.Random(10)  # noqa: S311 # the same ones on every run
    for number in range(50):
        somebody = replace(caller, context=ContextId.of_digest(f"task {number}".encode()))
        calls = [world.places[chance.choice(world.tools)] for _ in range(_RUN)]
        edges = [ToolEdge(one, other, kind) for one, other in pairwise(calls) for kind in EdgeKind]
        began = time.perf_counter()
        graphs.note(somebody, Label(Level.TEAM), edges)
        graph: KnownGraph = await graphs.of(caller)
        spans.append(_since(began))
        graph.path(world.tools[0], world.tools[1])
    return median(spans)


def _timed(act: Callable[[], object], times: int) -> float:
    spans = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        spans.append(_since(began))
    return median(spans)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1_000


def main(arguments: list[str]) -> None:
    tools, edges, rounds = map(int, arguments)
    found: Mapping[str, Any] = asyncio.run(measured(tools, edges, rounds))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
