"""What `just bench agents` measures, on a house of its own."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx2

from benchmarks.agents_figures import (
    Ended,
    Overheads,
    lost,
    miscalled,
    miscounted,
    overheads,
)
from benchmarks.agents_first import Reader
from benchmarks.agents_model import MODEL
from benchmarks.agents_scripts import Script
from benchmarks.agents_setting_up import AGENT, REAL, TELLER
from benchmarks.agents_stage import Stage
from benchmarks.agents_tools import counted
from benchmarks.agents_work import EARLY, EARLY_TURNS, HELLO, LEAN, PLAIN, SHORT, STORM
from benchmarks.postgres_cpu import postgres_cpu
from benchmarks.workflow_children import Child, child
from portico.bench.processes import PORTICO, answering, free_port

AT_A_TIME: Final = 5
"""Runs of a round, one after the other."""
_EARLY_RUNS: Final = 6
_MODULE: Final = "benchmarks.agents_child"


@contextmanager
def serving(env: Mapping[str, str], home: Path) -> Iterator[str]:
    url = f"http://127.0.0.1:{env['PORTICO_SERVER__PORT']}"
    with answering([*PORTICO, "serve"], f"{url}/readyz", env, home / "server.log"):
        yield url


def named(what: str, runs: int) -> list[str]:
    return [f"{what}-{number}" for number in range(runs)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """Many runs at once, in one process."""

    seconds: float
    cpu: float
    postgres: float
    over: Overheads
    lost: Sequence[str]
    turns: Mapping[str, int]
    """Not asked for exactly once."""
    calls: Mapping[str, int]
    """Not made exactly once."""


@dataclass(slots=True, kw_only=True)
class Measured:
    home: Path
    stage: Stage
    ledger: Path
    env: Mapping[str, str]
    took: dict[tuple[str, str], list[Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By way and script, a round after the other."""
    words: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds until the first one, by who says it."""
    storms: list[Storm] = field(default_factory=list)
    turns_took: dict[tuple[str, bool], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Seconds a turn, by script and whether calls were begun early."""

    @contextmanager
    def working(self, *, early: bool) -> Iterator[Child]:
        env = {
            **self.env,
            "PORTICO_ENGINE__WORK": "true",
            "PORTICO_AGENTS__EARLY_START": str(early).lower(),
        }
        with child("ours", env, self.home, _MODULE) as made:
            self._told(made, "runs", LEAN, named("warm", 2))
            yield made

    def first(self, key: str, pairs: int, real: str | None) -> None:
        """On a server that does all: it takes runs in, carries them out, and answers. `real` is
        where a real model is."""
        env = {**self.env, "PORTICO_ENGINE__WORK": "true"}
        env["PORTICO_SERVER__PORT"] = str(free_port())
        headers = {"Authorization": f"Bearer {key}"}
        with (
            serving(env, self.home) as url,
            httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as house,
            httpx2.Client(base_url=self.stage.url, timeout=60, trust_env=False) as scripted,
            httpx2.Client(base_url=real or "", timeout=60, trust_env=False) as weighty,
        ):
            reader = Reader(server=scripted, model=MODEL, house=house, agent=AGENT)
            self._read(reader, "", pairs)
            if real is not None:
                self._read(
                    Reader(server=weighty, model=REAL, house=house, agent=TELLER), "real ", pairs
                )

    def _read(self, reader: Reader, what: str, pairs: int) -> None:
        """The questions are not the same, lest somebody has kept what they begin with."""
        ways = {"direct": reader.direct, "run": reader.as_run, "model": reader.as_model}
        for way, read in ways.items():
            read(HELLO.asked(f"warm-{way}"))
        for number in range(pairs):
            order = list(ways.items())
            first = number % len(order)
            for way, read in (*order[first:], *order[:first]):
                self.words[what + way].append(read(HELLO.asked(f"{number}-first-{way}")))

    def round(self, ours: Child, number: int) -> None:
        """Another begins each time, so that none always comes after the same one."""
        ways = [("runs", LEAN), ("asks", LEAN), ("calls", LEAN), ("runs", SHORT), ("runs", PLAIN)]
        ways += [("asks", PLAIN), ("idle", PLAIN)]
        first = number % len(ways)
        for way, script in (*ways[first:], *ways[:first]):
            before = postgres_cpu(self.home)
            names = named(f"{way}-{script.name}-{number}", AT_A_TIME)
            told = self._told(ours, way, script, names)
            told = {**told, "postgres": postgres_cpu(self.home) - before}
            self.took[way, script.name].append(told)

    def storm(self, ours: Child, runs: int) -> None:
        self.stage.forget()
        before = postgres_cpu(self.home)
        names = named("storm", runs)
        told = self._told(ours, "runs", STORM, names, at_once=runs)
        asked, ended = self.stage.asked(), [Ended(**each) for each in told["ended"]]
        made = Storm(
            seconds=told["seconds"],
            cpu=told["cpu"],
            postgres=postgres_cpu(self.home) - before,
            over=overheads(STORM, asked, ended),
            lost=lost(STORM, names, ended),
            turns=miscounted(STORM, names, asked),
            calls=miscalled(STORM, names, counted(self.ledger)),
        )
        self.storms.append(made)

    def early(self, number: int, *, early: bool) -> None:
        """A turn takes from when the model is asked until it is asked for the next one."""
        with self.working(early=early) as ours:
            for script in EARLY:
                self.stage.forget()
                names = named(f"{script.name}-{number}-{early}", _EARLY_RUNS)
                self._told(ours, "runs", script, names, at_once=_EARLY_RUNS)
                came = {(each.run, each.turn): each.came for each in self.stage.asked()}
                self.turns_took[script.name, early] += [
                    came[run, turn + 1] - at
                    for (run, turn), at in came.items()
                    if turn < EARLY_TURNS
                ]

    def _told(
        self, ours: Child, way: str, script: Script, runs: Sequence[str], *, at_once: int = 1
    ) -> Mapping[str, Any]:
        asked = {"way": way, "script": script.name, "runs": runs, "at_once": at_once}
        found: Mapping[str, Any] = ours.told(asked)
        return found

    def cpu_ms(self, way: str, script: Script, of: str = "cpu") -> float:
        """A run, beyond what the same process takes in the same time where nothing is asked of
        it: how long a run takes depends on whoever else uses the machine."""
        resting = self.resting(of)
        return median(
            (float(each[of]) - resting * float(each["seconds"])) / AT_A_TIME * 1000
            for each in self.took[way, script.name]
        )

    def resting(self, of: str = "cpu") -> float:
        """Seconds of CPU a second."""
        rounds = self.took["idle", PLAIN.name]
        return median(float(each[of]) / float(each["seconds"]) for each in rounds)

    def saved_ms(self, script: Script) -> float:
        on, off = self.turns_took[script.name, True], self.turns_took[script.name, False]
        return round((median(off) - median(on)) * 1000, 1)
