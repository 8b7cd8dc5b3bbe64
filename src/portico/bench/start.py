"""How long until Portico can be used: the first time, every other time, and just for its help."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Final

from cyclopts import Parameter

from portico.bench.processes import PORTICO, answering, cpu_ms, environment, free_port, scratch_home
from portico.bench.report import Report
from portico.interfaces.cli.terminal import At

_BARE: Final = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/readyz")
async def ready() -> dict[str, str]:
    return {"status": "ready"}
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
"""


def start(*, runs: Annotated[int, Parameter(help="Warm starts, and helps.")] = 10, at: At) -> int:
    """`init && serve` until /readyz answers 200, cold and warm; CPU time of `portico --help`."""
    settings = {each.path: each.value for each in at.services.settings()}
    with scratch_home() as home, at.working("measuring") as progress:
        port = free_port()
        url = f"http://127.0.0.1:{port}/readyz"
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=str(port),
            PORTICO_DATABASE__RUN_AS=str(settings["database.run_as"] or ""),
        )
        log = home / "server.log"
        help_ms = [cpu_ms([*PORTICO, "--help"], env) for _ in range(runs + 1)][1:]
        import_ms = [cpu_ms([sys.executable, "-c", "import portico"], env) for _ in range(runs)]
        python_ms = [cpu_ms([sys.executable, "-c", "pass"], env) for _ in range(runs)]
        progress("measuring the first start")
        cold_s = _cold(url, env, log)
        warm, bare = [], []
        for number in range(runs):
            progress(f"measuring warm starts: {number + 1} of {runs}")
            with answering([*PORTICO, "serve"], url, env, log) as seconds:
                warm.append(seconds)
            bare_command = [sys.executable, "-c", _BARE, str(port)]
            with answering(bare_command, url, env, log) as seconds:
                bare.append(seconds)
    return Report(
        benchmark="start",
        corpus="an empty installation with the embedded database",
        figures={
            "cold_s": round(cold_s, 3),
            "warm_s": round(median(warm), 3),
            "help_cpu_ms": round(median(help_ms), 1),
            "import_cpu_ms": round(max(0.0, median(import_ms) - median(python_ms)), 1),
            "warm_over_bare": round(median(warm) / median(bare), 2),
        },
        baseline={
            "bare_fastapi_s": round(median(bare), 3),
            "bare_python_cpu_ms": round(median(python_ms), 1),
        },
        conditions={"runs": runs, "warm_all_s": [round(each, 3) for each in warm]},
    ).tell(at)


def _cold(url: str, env: dict[str, str], log: Path) -> float:
    """From nothing: `init` and `serve`, as a new user runs them."""
    started = time.perf_counter()
    subprocess.run(
        [*PORTICO, "init"],
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with answering([*PORTICO, "serve"], url, env, log):
        return time.perf_counter() - started
