"""Agents: what a turn costs beyond the model, whether a hundred at once all end well, how long
until the first word, and what is won by calling while the model still speaks."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from benchmarks.agents_llama import lacking, llama
from benchmarks.agents_measured import Measured, serving
from benchmarks.agents_report import report
from benchmarks.agents_setting_up import (
    describe,
    describe_real,
    write_real_settings,
    write_settings,
)
from benchmarks.agents_stage import stage
from benchmarks.agents_work import ALL
from portico.bench.clients import rest
from portico.bench.processes import PORTICO, environment, free_port, scratch_home
from portico.bench.report import skipped
from portico.interfaces.cli.terminal import At


def agents(
    *,
    runs: Annotated[int, Parameter(help="Runs that go on at once.")] = 100,
    rounds: Annotated[int, Parameter(help="Times that runs and bare questions take turns.")] = 5,
    pairs: Annotated[int, Parameter(help="First words, of the model and of an agent.")] = 30,
    weights: Annotated[
        Path | None, Parameter(help="A model's weights (GGUF) for llama.cpp, if there are any.")
    ] = None,
    at: At,
) -> int:
    """CPU a turn, many runs at once, the first word, and calls begun while the model speaks."""
    if weights is not None and (missing := lacking(weights)) is not None:
        return skipped(at, "agents", missing)
    chosen = {each.path: each.value for each in at.services.settings()}
    with at.working("making a database") as progress, ExitStack() as open_ones:
        home = open_ones.enter_context(scratch_home())
        env = _environment(home, str(chosen["database.run_as"] or ""))
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        played = open_ones.enter_context(stage(ALL, env, home / "model.log"))
        write_settings(home, played.base)
        real = None
        if weights is not None:
            real = open_ones.enter_context(llama(weights, env, home / "llama.log"))
            write_real_settings(home, f"{real}/v1")
        url = open_ones.enter_context(serving(env, home))
        key = (home / "config" / "client.key").read_text(encoding="utf-8").strip()
        ledger = home / "tools" / "ledger"
        with rest(url, key) as client:
            describe(client, ledger)
            if real is not None:
                describe_real(client)
        measured = Measured(home=home, stage=played, ledger=ledger, env=env)
        progress("measuring the first word")
        measured.first(key, pairs, real)
        with measured.working(early=True) as ours:
            for number in range(rounds):
                progress(f"measuring CPU: round {number + 1} of {rounds}")
                measured.round(ours, number)
            progress(f"measuring {runs} runs at once")
            measured.storm(ours, runs)
        for number in range(2):
            for early in (True, False):
                progress(f"measuring calls that are begun {'early' if early else 'late'}")
                measured.early(number, early=early)
    return report(measured, rounds, runs, pairs).tell(at)


def _environment(home: Path, run_as: str) -> dict[str, str]:
    return environment(
        PORTICO_HOME=str(home),
        PORTICO_SERVER__PORT=str(free_port()),
        PORTICO_DATABASE__RUN_AS=run_as,
        PORTICO_LIMITS__CALLS_A_MINUTE="0",
        PORTICO_ENGINE__WORK="false",
        PORTICO_LOG__LEVEL="error",
    )
