"""The bridge, with half a million messages in it: what is unread, pages, words, meanings, sending,
and how soon somebody hears of it."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from cyclopts import Parameter

from benchmarks.bridge_child import Sizes, spelled
from benchmarks.bridge_report import report
from benchmarks.bridge_vocabulary import NoWords, vocabulary
from portico.bench.processes import PORTICO, answering, environment, free_port, scratch_home
from portico.bench.report import skipped
from portico.interfaces.cli.terminal import At

_TIMES: Final = 10


def bridge(
    *,
    messages: Annotated[int, Parameter(help="Messages of the corpus.")] = 500_000,
    vectors: Annotated[int, Parameter(help="Those of them that have a vector.")] = 100_000,
    rounds: Annotated[int, Parameter(help="Times that ways take turns.")] = 15,
    plans: Annotated[
        bool, Parameter(help="Also what is looked at in a history ten times as long.", negative="")
    ] = False,
    at: At,
) -> int:
    """Unread counts, pages, search, sending and wake-ups of the bridge."""
    try:
        vocabulary()
    except NoWords as missing:
        return skipped(at, "bridge", str(missing))
    settings = {each.path: each.value for each in at.services.settings()}
    sizes = Sizes(messages=messages, vectors=vectors, rounds=rounds, plans=_TIMES if plans else 0)
    with scratch_home() as home, at.working("making a database") as progress:
        env = environment(
            PORTICO_HOME=str(home),
            PORTICO_SERVER__PORT=(port := str(free_port())),
            PORTICO_DATABASE__RUN_AS=str(settings["database.run_as"] or ""),
            PORTICO_LOG__LEVEL="error",
        )
        subprocess.run([*PORTICO, "init"], env=env, check=True, capture_output=True)
        _started(env)
        try:
            found = _child(env, "measure", sizes, progress)
            progress("measuring wake-ups")
            ready = f"http://127.0.0.1:{port}/readyz"
            with answering([*PORTICO, "serve"], ready, env, home / "server.log"):
                found |= _child(env, "push", sizes, progress)
        finally:
            stop = [*PORTICO, "db", "stop", "--force"]
            subprocess.run(stop, env=env, check=False, capture_output=True)
    return report(found, sizes).tell(at)


def _started(env: Mapping[str, str]) -> None:
    """Without a server beside it, which would make vectors of what is sent."""
    start = [*PORTICO, "db", "start"]
    subprocess.run(start, env=dict(env), check=True, stdout=subprocess.DEVNULL)


def _child(
    env: Mapping[str, str], what: str, sizes: Sizes, progress: Callable[[str], None]
) -> dict[str, Any]:
    """In a process of its own, so that nothing of the others is in its figures."""
    command = [sys.executable, "-m", "benchmarks.bridge_child", what, spelled(sizes)]
    found: dict[str, Any] = {}
    with subprocess.Popen(command, env=dict(env), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None  # noqa: S101 # it was asked for
        for line in child.stdout:
            found = json.loads(line)
            if "progress" in found:
                progress(str(found["progress"]))
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return found
