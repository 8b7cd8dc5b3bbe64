"""`just bench graph`, on a graph of sixty tools."""

import json
from math import exp
from pathlib import Path

import pytest

from benchmarks.graph import _report
from benchmarks.graph_baseline import plain_path, plain_ranks
from benchmarks.graph_child import figures_of
from portico.adapters.graph import RustGraphMath
from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import system_entropy
from portico.interfaces.cli.terminal import Terminal
from tests.contracts.doors import postgres_doors
from tests.interfaces.cli.house import ScriptedHouse
from tests.learning.core.graph.drawn import drawn, ref

FIGURES = ("sync", "pagerank", "communities", "path", "total", "incremental")


def test_the_baseline_computes_the_same() -> None:
    around = [(f"t{n} -> t{(n + 1) % 20}", n % 5 + 1) for n in range(20)]
    across = [(f"t{n} -> t{(n * 3 + 2) % 20}", n % 3 + 1) for n in range(20) if n not in (9, 19)]
    graph = drawn(*around, *across)
    edges = graph.weighted()
    found = graph.path(ref("t0"), ref("t9"))

    plain = plain_path(edges, *(graph.number(ref(name)) for name in ("t0", "t9")))

    ranks = RustGraphMath().ranks(len(graph.tools), edges)
    assert plain_ranks(len(graph.tools), edges) == pytest.approx(ranks, abs=1e-5)
    assert found is not None
    assert plain is not None
    assert exp(-plain) == pytest.approx(found.confidence)
    assert plain_path(edges, graph.number(ref("nobody")), 0) is None


@pytest.mark.postgres
@pytest.mark.requirement("seed001:07")
async def test_it_measures_under_the_names_that_are_promised(
    embedded_database: Addresses, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async with open_pool(embedded_database.app, 6) as pool:
        transactions = Transactions(pool)
        buses = [PostgresBus(embedded_database.app, system_entropy) for _ in range(2)]
        root = await postgres_doors(transactions, *buses).founded("home")
        measured = await figures_of(transactions, root, (60, 200), 2)

    _report(measured, measured, 2).tell(Terminal(services=ScriptedHouse(tmp_path), json=True))

    told = json.loads(capsys.readouterr().out)
    for name in FIGURES:
        assert told[f"{name}_ms"] > 0
        assert told["at_10k"][f"{name}_ms"] > 0
    assert (measured["edges"], measured["rows"] > 200) == (200, True)
    assert {"corpus", "conditions", "baseline"} <= told.keys()
    assert told["baseline"]["plain_pagerank_ms"] > 0
