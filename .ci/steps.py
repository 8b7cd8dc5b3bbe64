"""Runs commands, one after another or side by side, and measures what each costs.

Processor time is that of everything a step started. On Linux orphans come back to this process,
which adds theirs; elsewhere they cannot be counted.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

_PR_SET_CHILD_SUBREAPER = 36
SKIPPED = 77
"""The exit code of a step that cannot run on this machine."""


@dataclass(frozen=True)
class Step:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    name: str
    code: int
    wall_s: float
    cpu_s: float | None

    @property
    def failed(self) -> bool:
        return self.code not in (0, SKIPPED)


@dataclass
class _Running:
    step: Step
    rest: Sequence[Step]
    process: "subprocess.Popen[bytes]"
    began: float
    output: IO[bytes] | None


class Steps:
    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.began = time.monotonic()
        self.orphans_s = 0.0
        self._counts = _adopts_orphans()

    @property
    def failed(self) -> bool:
        return any(each.failed for each in self.outcomes)

    @property
    def wall_s(self) -> float:
        return time.monotonic() - self.began

    @property
    def cpu_s(self) -> float | None:
        return (
            sum(each.cpu_s or 0 for each in self.outcomes) + self.orphans_s
            if self._counts
            else None
        )

    def run(self, *chains: Sequence[Step]) -> None:
        """Chains side by side, the steps of each in order; a step that fails stops nothing. The
        output of the first chain is shown as it comes, that of the others when a step ends."""
        running: dict[int, _Running] = {}
        for number, chain in enumerate(chains):
            self._start(running, chain, shown=number == 0)
        while running:
            pid, status, usage = os.wait4(-1, 0)
            used_s = usage.ru_utime + usage.ru_stime
            if pid not in running:
                self.orphans_s += used_s
                continue
            ended = running.pop(pid)
            ended.process.returncode = os.waitstatus_to_exitcode(status)
            self._finish(ended, used_s)
            self._start(running, ended.rest, shown=ended.output is None)

    def _start(self, running: dict[int, _Running], chain: Sequence[Step], *, shown: bool) -> None:
        if not chain:
            return
        step, *rest = chain
        output = None if shown else tempfile.TemporaryFile()  # noqa: SIM115 # _finish closes it
        if shown:
            _headline(step.name, self.wall_s)
        process = subprocess.Popen(
            step.command,
            env={**os.environ, **step.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
        )
        running[process.pid] = _Running(step, rest, process, time.monotonic(), output)

    def _finish(self, ended: _Running, used_s: float) -> None:
        if ended.output is not None:
            _headline(ended.step.name, self.wall_s)
            ended.output.seek(0)
            sys.stdout.write(ended.output.read().decode(errors="replace"))
            ended.output.close()
        outcome = Outcome(
            ended.step.name,
            ended.process.returncode,
            time.monotonic() - ended.began,
            used_s if self._counts else None,
        )
        self.outcomes.append(outcome)
        if outcome.failed:
            print(f"-- {outcome.name}: exit {outcome.code}", flush=True)

    def table(self) -> str:
        lines = [f"{'wall s':>8} {'cpu s':>8}  step"]
        for each in self.outcomes:
            note = {0: "", SKIPPED: "  skipped"}.get(each.code, f"  FAILED ({each.code})")
            lines.append(f"{each.wall_s:8.0f} {_seconds(each.cpu_s)}  {each.name}{note}")
        lines.append(f"{self.wall_s:8.0f} {_seconds(self.cpu_s)}  all, orphans included")
        return "\n".join(lines)


def costs_of_modules(path: Path) -> list[dict[str, Any]]:
    """What `pytest --costs` wrote; the newest line of a module counts what came before it."""
    lines = path.read_text().splitlines() if path.exists() else ()
    return list({each["module"]: each for each in map(json.loads, lines)}.values())


def dearest(modules: Sequence[Mapping[str, Any]], shown: int = 30) -> str:
    """A table of the modules that take most processor time."""
    rows = (
        f"{each['cpu_s']:8.1f} {each['wall_s']:8.1f} {each['cases']:6}  {each['module']}"
        for each in sorted(modules, key=lambda each: -float(each["cpu_s"]))[:shown]
    )
    return "\n".join([f"{'cpu s':>8} {'wall s':>8} {'cases':>6}  test module", *rows])


def _headline(name: str, wall_s: float) -> None:
    print(f"\n== {name} ({wall_s:.0f} s)", flush=True)


def _seconds(value: float | None) -> str:
    return f"{'-':>8}" if value is None else f"{value:8.0f}"


def _adopts_orphans() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
