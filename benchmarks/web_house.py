"""A Portico of its own for `just bench web`: made, furnished, filled, and then served."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.postgres_cpu import postgres_cpu
from benchmarks.web_seeds import PROVIDER, Seeds, town
from benchmarks.web_sizes import Sizes
from portico.bench.call import listening
from portico.bench.clients import rest
from portico.bench.processes import PORTICO, answering, environment, free_port

_MANY: Final = "1000000"
_IDLE: Final = 0.15
"""Of a core; what is below it is at rest."""
_RESTS: Final = 3
_PATIENCE: Final = 300.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class House:
    home: Path
    env: Mapping[str, str]

    @classmethod
    def at(cls, home: Path, run_as: str) -> "House":
        return cls(
            home,
            environment(
                PORTICO_HOME=str(home),
                PORTICO_SERVER__PORT=str(free_port()),
                PORTICO_DATABASE__RUN_AS=run_as,
                PORTICO_LIMITS__CALLS_A_MINUTE="0",
                PORTICO_APPROVALS__EXPIRES_MINUTES="10080",
                PORTICO_ENGINE__KEEP_RUNS=_MANY,
                PORTICO_LOG__LEVEL="error",
            ),
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.env['PORTICO_SERVER__PORT']}"

    def key(self, whose: str = "client") -> str:
        return (self.home / "config" / f"{whose}.key").read_text(encoding="utf-8").strip()

    def made(self, far: str) -> None:
        subprocess.run([*PORTICO, "init"], env=dict(self.env), check=True, capture_output=True)
        with (self.home / "config" / "portico.toml").open("a", encoding="utf-8") as stream:
            stream.write(
                f"\n[models]\ndiscover = false\n\n[models.providers.{PROVIDER}]\n"
                f'kind = "compatible"\nurl = "{far}/v1"\ntools = true\nstructured = true\n'
                "window = 100000\n"
            )

    @contextmanager
    def served(self) -> Iterator[psutil.Process]:
        """The server's process."""
        ready = f"{self.url}/readyz"
        with answering([*PORTICO, "serve"], ready, self.env, self.home / "server.log"):
            yield listening(int(self.env["PORTICO_SERVER__PORT"]))

    def seeded(self, far: str, sizes: Sizes, progress: Progress) -> Seeds:
        with (
            self.served(),
            rest(self.url, self.key()) as owner,
            rest(self.url, self.key("agent")) as agent,
        ):
            place = town(owner, agent, sizes.servers)
            place.furnish(far, progress)
            return place.seeded(sizes.steps, progress)

    def filled(self, seeds: Seeds, sizes: Sizes, progress: Progress) -> dict[str, Any]:
        """While nobody serves it."""
        start = [*PORTICO, "db", "start"]
        subprocess.run(start, env=dict(self.env), check=True, stdout=subprocess.DEVNULL)
        told = json.dumps([[str(each.run), each.share, each.like] for each in seeds.copied])
        command = [sys.executable, "-m", "benchmarks.web_child", sizes.spelled(), told]
        found: dict[str, Any] = {}
        with subprocess.Popen(
            command, env=dict(self.env), stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None  # noqa: S101 # it was asked for
            for line in child.stdout:
                found = json.loads(line)
                if "progress" in found:
                    progress(str(found["progress"]))
        if child.returncode != 0:
            raise subprocess.CalledProcessError(child.returncode, command[:3])
        return found

    def stopped(self) -> None:
        stop = [*PORTICO, "db", "stop", "--force"]
        subprocess.run(stop, env=dict(self.env), check=False, capture_output=True)

    def cpu(self, server: psutil.Process) -> Mapping[str, Callable[[], float]]:
        return {"server": lambda: _used(server), "postgres": lambda: postgres_cpu(self.home)}

    def at_rest(self, server: psutil.Process, progress: Progress) -> float:
        """Seconds until what a server does once it has started is done: vectors, graphs, months."""
        progress("waiting until the server is at rest")
        began, rested = time.monotonic(), 0
        while rested < _RESTS and time.monotonic() - began < _PATIENCE:
            before = _used(server) + postgres_cpu(self.home)
            time.sleep(1)
            used = _used(server) + postgres_cpu(self.home) - before
            rested = rested + 1 if used < _IDLE else 0
        return time.monotonic() - began


def _used(process: psutil.Process) -> float:
    """Seconds of one, without what it has started."""
    used = process.cpu_times()
    return used.user + used.system


@contextmanager
def far_end(sizes: Sizes, log: Path) -> Iterator[str]:
    """Servers of tools and models, outside of the house."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    given = (str(port), str(sizes.servers), str(sizes.tools))
    command = [sys.executable, "-m", "benchmarks.web_far", *given]
    with answering(command, f"{url}/v1/models", dict(os.environ), log):
        yield url
