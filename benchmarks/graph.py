"""The learnt graph: read from a real database, computed over, and brought up to date."""

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At

_SIZES: Final = ((1_000, 5_000), (10_000, 50_000))
_FIGURES: Final = (
    "sync_ms",
    "pagerank_ms",
    "communities_ms",
    "path_ms",
    "total_ms",
    "incremental_ms",
)
_BESIDE: Final = ("sync_cpu_ms", "path_p95_ms", "communities")
_BASELINE: Final = ("plain_pagerank_ms", "plain_path_ms")

Measured = Mapping[str, Any]


def graph(
    *,
    rounds: Annotated[int, Parameter(help="Times that each is measured; the median counts.")] = 15,
    at: At,
) -> int:
    """Reading the learnt graph, ranks, communities, ways, and learning from a run."""
    settings = {each.path: each.value for each in at.services.settings()}
    found: list[Measured] = []
    with at.working("making a database") as progress:
        for tools, edges in _SIZES:
            progress(f"measuring {tools:,} tools and {edges:,} edges")
            found.append(_measured(str(settings["database.run_as"] or ""), tools, edges, rounds))
    return _report(found[0], found[1], rounds).tell(at)


def _measured(run_as: str, tools: int, edges: int, rounds: int) -> Measured:
    """Each in a database of its own."""
    with scratch_home() as home:
        port = free_port()
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=str(port),
            PORTICO_DATABASE__RUN_AS=run_as,
            PORTICO_LOG__LEVEL="error",
        )
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        ready = f"http://127.0.0.1:{port}/readyz"
        with answering([*PORTICO, "serve"], ready, env, home / "server.log"):
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.graph_child",
                    f"{tools}",
                    f"{edges}",
                    f"{rounds}",
                ],
                env=env,
                check=True,
                stdout=subprocess.PIPE,
            )
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def _report(small: Measured, large: Measured, rounds: int) -> Report:
    return Report(
        benchmark="graph",
        corpus=f"graphs drawn by lot: {small['tools']:,} tools with {small['edges']:,} edges and "
        f"{large['tools']:,} with {large['edges']:,}, four of five edges within 25 tools that "
        f"belong together, a third of them also handing something on ({small['rows']:,} and "
        f"{large['rows']:,} rows at two labels), on embedded PostgreSQL",
        figures={**_told(small), "at_10k": _told(large)},
        baseline={**_plain(small), "at_10k": _plain(large)},
        conditions={
            "rounds": rounds,
            "rustworkx": version("rustworkx"),
            "graspologic_native": version("graspologic-native"),
            **{name: round(small[name], 3) for name in _BESIDE},
            **{f"{name}_at_10k": round(large[name], 3) for name in _BESIDE},
        },
    )


def _told(measured: Measured) -> dict[str, float]:
    return {name: round(measured[name], 3) for name in _FIGURES}


def _plain(measured: Measured) -> dict[str, float]:
    return {name: round(measured[name], 3) for name in _BASELINE}
