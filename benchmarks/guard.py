"""What the guard costs: a decision, an entry of the audit, and a call with all of it beside the
same call without, taking turns in one run."""

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.bench.clients import let_in, rest
from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At

ECHO: Final = "echo"
_COMMAND: Final = [sys.executable, "-m", "portico.bench.call_echo", "stdio"]
_EFFECTS: Final = {"echo": "pure", "requests": "external_write"}

Measured = Mapping[str, Any]


def guard(
    *,
    rounds: Annotated[int, Parameter(help="Times that all ways take turns.")] = 10,
    calls: Annotated[int, Parameter(help="Calls of each way a round.")] = 60,
    entries: Annotated[int, Parameter(help="Entries of the chain that is verified.")] = 1_000_000,
    at: At,
) -> int:
    """Deciding, writing it down, and verifying what was written."""
    settings = {each.path: each.value for each in at.services.settings()}
    with scratch_home() as home, at.working("making a database") as progress:
        port = free_port()
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=str(port),
            PORTICO_DATABASE__RUN_AS=str(settings["database.run_as"] or ""),
            PORTICO_LIMITS__CALLS_A_MINUTE="1000000",
            PORTICO_LOG__LEVEL="error",
        )
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        url = f"http://127.0.0.1:{port}"
        with answering([*PORTICO, "serve"], f"{url}/readyz", env, home / "server.log"):
            with rest(url, (home / "config" / "client.key").read_text().strip()) as client:
                launch = {"type": "stdio", "command": _COMMAND[0], "arguments": _COMMAND[1:]}
                let_in(client, ECHO, launch, _EFFECTS)
            progress("measuring decisions")
            decided = _child(env, "decide")
            progress("measuring calls")
            called = _child(env, "calls", rounds, calls)
            progress("measuring entries of the audit")
            noted = _child(env, "audit", rounds, calls)
            chained = _child(env, "ways", rounds)
            progress(f"writing and verifying {entries:,} entries")
            verified = _child(env, "verify", entries)
    return _report(rounds, calls, decided, called, {**noted, **chained, **verified}).tell(at)


def _report(
    rounds: int, calls: int, decided: Measured, called: Measured, audit: Measured
) -> Report:
    return Report(
        benchmark="guard",
        corpus=f"{decided['rules']} rules of the database, {decided['decisions']} decisions; "
        f"{rounds * calls} calls of each way in {rounds} rounds that take turns, one after the "
        "other, of a tool that says back a text, over stdio, on embedded PostgreSQL; a chain of "
        f"{audit['verified_entries']:,} entries",
        figures={
            "decide_us": decided["decide_us"],
            "decide_by_task_us": decided["decide_by_task_us"],
            "audit_cpu_ms": audit["audit_cpu_ms"],
            "guarded_over_unguarded_call": max(called["read"]["ratio"], called["write"]["ratio"]),
            "guarded_over_unguarded_read": called["read"]["ratio"],
            "guarded_over_unguarded_write": called["write"]["ratio"],
            "guarded_over_unguarded_cpu_read": called["read"]["cpu_ratio"],
            "guarded_over_unguarded_cpu_write": called["write"]["cpu_ratio"],
            "audit_postgres_cpu_ms": audit["audit_postgres_cpu_ms"],
            "audit_behind_cpu_ms": audit["audit_behind_cpu_ms"],
            "audit_entries_per_s": audit["entries_per_s"],
            "verify_million_s": audit["verify_million_s"],
            "verify_cpu_s_per_million": audit["verify_cpu_s_per_million"],
        },
        baseline={
            "unguarded_read_ms": called["read"]["unguarded_ms"],
            "guarded_read_ms": called["read"]["guarded_ms"],
            "unguarded_write_ms": called["write"]["unguarded_ms"],
            "guarded_write_ms": called["write"]["guarded_ms"],
            "bare_statement_cpu_ms": audit["bare_cpu_ms"],
            "bare_statement_postgres_cpu_ms": audit["bare_postgres_cpu_ms"],
            "decide_without_rules_us": decided["without_rules_us"],
        },
        conditions={
            "mcp": version("mcp"),
            "read_ratios": called["read"]["ratios"],
            "write_ratios": called["write"]["ratios"],
            "written_s": audit["written_s"],
        },
    )


def _child(env: Mapping[str, str], what: str, *sizes: int) -> Measured:
    """In a process of its own, so that nothing of the others is in its figures."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.guard_child", what, *map(str, sizes)],
        env=dict(env),
        check=True,
        stdout=subprocess.PIPE,
    )
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found
