"""What it costs to survive: durable steps beside bare DBOS, events beside a bare INSERT, and how
long the news of one takes to a client."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from statistics import median
from typing import Annotated, Any

from cyclopts import Parameter

from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At


def durable(
    *,
    rounds: Annotated[int, Parameter(help="Times that ours and bare DBOS take turns.")] = 3,
    runs: Annotated[int, Parameter(help="Runs a round, of ten steps each.")] = 100,
    at: At,
) -> int:
    """Durable steps a second and their cost, inline steps, events, and the way to a client."""
    settings = {each.path: each.value for each in at.services.settings()}
    with scratch_home() as home, at.working("making a database") as progress:
        port = free_port()
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=str(port),
            PORTICO_DATABASE__RUN_AS=str(settings["database.run_as"] or ""),
            PORTICO_ENGINE__WORK="false",
            PORTICO_LOG__LEVEL="error",
        )
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        url = f"http://127.0.0.1:{port}/readyz"
        with answering([*PORTICO, "serve"], url, env, home / "server.log"):
            measured = _measure(env, rounds, runs, progress)
    ours, bare, events, news = measured
    ratios = [
        one["steps_per_s"] / other["steps_per_s"] for one, other in zip(ours, bare, strict=True)
    ]
    return Report(
        benchmark="durable",
        corpus=f"{runs} runs of 10 steps that give 100 letters each, 32 at once, {rounds} rounds; "
        f"{events['appended']} events of 100 letters by 8 writers; {news['events']} events watched",
        figures={
            "steps_per_s": _middle(ours, "steps_per_s"),
            "bare_dbos_steps_per_s": _middle(bare, "steps_per_s"),
            "ratio": round(median(ratios), 2),
            "cpu_ms_per_step": _middle(ours, "cpu_ms_per_step", 3),
            "inline_us_per_step": ours[0]["inline_us_per_step"],
            "event_append_per_s": events["append_per_s"],
            "event_ratio": events["ratio"],
            "notify_p50_ms": news["p50_ms"],
        },
        baseline={
            "bare_dbos_cpu_ms_per_step": _middle(bare, "cpu_ms_per_step", 3),
            "bare_insert_per_s": events["insert_per_s"],
            "plain_await_us": ours[0]["plain_await_us"],
        },
        conditions={
            "ratios": [round(each, 2) for each in ratios],
            "event_ratios": events["ratios"],
            "notify_p95_ms": news["p95_ms"],
        },
    ).tell(at)


Measured = Mapping[str, Any]


def _measure(
    env: Mapping[str, str], rounds: int, runs: int, progress: Callable[[str], None]
) -> tuple[list[Measured], list[Measured], Measured, Measured]:
    """Each in a process of its own, one after the other, on the same database."""
    ours, bare = [], []
    for number in range(rounds):
        progress(f"measuring steps: round {number + 1} of {rounds}")
        ours.append(_child(env, "ours", runs))
        bare.append(_child(env, "bare", runs))
    progress("measuring events")
    events = _child(env, "events", 3)
    progress("measuring the way to a client")
    return ours, bare, events, _child(env, "news", 200)


def _child(env: Mapping[str, str], what: str, size: int) -> Measured:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.durable_child", what, str(size)],
        env=dict(env),
        check=True,
        stdout=subprocess.PIPE,
    )
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def _middle(measured: list[Measured], name: str, digits: int = 1) -> float:
    return round(float(median(each[name] for each in measured)), digits)
