"""Make the attempts in a sandbox, with something outside for each to reach."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.probes.canaries import Canaries, canaries
from portico.adapters.sandbox.runner import account_for
from portico.sandbox.core.probes import Manner, Probe, Situation, Trial, attempt_of
from portico.sandbox.core.profile import Limits, Network, Profile, SandboxCommand
from portico.sandbox.core.requests import End, Outcome
from portico.sandbox.requests import Sandbox

# The attempts as one text that runs in any Python, where nothing of Portico is to be seen.

_PARTS: Final = (
    "runtime",
    "host",
    "kernel",
    "inside",
)
_HEAD: Final = """\
import json, sys, types
package = "portico.adapters.sandbox.probes".split(".")
names = [".".join(package[:depth]) for depth in range(1, len(package) + 1)]
for name in names:
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
def part(name, text):
    full = names[-1] + "." + name
    module = sys.modules[full] = types.ModuleType(full)
    setattr(sys.modules[names[-1]], name, module)
    exec(compile(text, name, "exec"), module.__dict__)
"""


@cache
def bundled() -> bytes:
    """To be read from standard input; its one argument is the task as JSON."""
    folder = files("portico.adapters.sandbox.probes")
    texts = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in _PARTS}
    parts = "".join(f"part({name!r}, {text!r})\n" for name, text in texts.items())
    last = f"sys.modules[names[-1] + '.{_PARTS[-1]}'].main(json.loads(sys.argv[1]))\n"
    return f"{_HEAD}{parts}{last}".encode()


_MEGABYTE: Final = 1 << 20
LIMITS: Final = Limits(
    seconds=60,
    memory=192 * _MEGABYTE,
    processes=48,
    file_size=16 * _MEGABYTE,
    open_files=64,
    output=1_000_000,
    scratch=32 * _MEGABYTE,
)
_ENDS: Final[Mapping[str, tuple[float, frozenset[End]]]] = {
    "too_long": (1.0, frozenset({End.TOO_LONG})),
    "too_loud": (30.0, frozenset({End.TOO_LOUD})),
    "too_loud_on_errors": (30.0, frozenset({End.TOO_LOUD})),
    "left_child": (30.0, frozenset()),
    "left_daemon": (30.0, frozenset()),
}
"""How long what is made alone may take, and how a box ends if it holds."""
_OF_MEMORY: Final = (30.0, frozenset({End.TOO_LARGE, End.KILLED}))


def situation() -> Situation:
    return Situation.ROOT if os.geteuid() == 0 else Situation.USER


class CanaryAttempts:
    def __init__(self, folder: Path, *, run_as: str) -> None:
        """`folder` is there, and can be come to by the account `run_as`, which counts if we are
        root."""
        self._folder = folder
        self._run_as = run_as
        self._python = python_for_all() if situation() is Situation.ROOT else _own_python()

    async def make(self, box: Sandbox, trials: Sequence[Trial]) -> Sequence[Probe]:
        chosen = account_for(self._run_as)
        account = (chosen.uid, chosen.gid) if chosen.switch else None
        outside = canaries(self._folder, LIMITS, python=self._python, account=account)
        async with outside as placed:
            found: dict[str, Probe] = {}
            for manner in (Manner.TOGETHER, Manner.PROXIED):
                together = [trial for trial in trials if trial.manner is manner]
                if together:
                    found |= await self._together(box, placed, together, manner)
            for trial in trials:
                if trial.manner is Manner.ALONE:
                    found[trial.name] = await self._alone(box, placed, trial)
        return [found[trial.name] for trial in trials]

    async def _together(
        self, box: Sandbox, placed: Canaries, trials: Sequence[Trial], manner: Manner
    ) -> dict[str, Probe]:
        network = Network.PUBLIC if manner is Manner.PROXIED else Network.NONE
        outcome = await self._run(box, placed, trials, network, LIMITS)
        said = dict(_said(outcome))
        for name in await asyncio.to_thread(placed.harm):
            said[name] = Probe(name, held=False, detail="seen from outside")
        return {trial.name: _probe(trial, said, outcome) for trial in trials}

    async def _alone(self, box: Sandbox, placed: Canaries, trial: Trial) -> Probe:
        seconds, ends = _ENDS.get(trial.name, _OF_MEMORY)
        limits = replace(LIMITS, seconds=seconds)
        outcome = await self._run(box, placed, [trial], Network.NONE, limits)
        if strays := placed.end_strays():
            return Probe(trial.name, held=False, detail=f"{strays} processes are left")
        if outcome.end in ends:
            return Probe(trial.name, held=True, detail=f"ended: {outcome.end}")
        if not ends and outcome.end is End.EXITED:
            return Probe(trial.name, held=True, detail="nothing is left")
        return _probe(trial, dict(_said(outcome)), outcome)

    async def _run(
        self,
        box: Sandbox,
        placed: Canaries,
        trials: Sequence[Trial],
        network: Network,
        limits: Limits,
    ) -> Outcome:
        task = {"marks": asdict(placed.marks), "names": [attempt_of(trial) for trial in trials]}
        order = SandboxCommand(
            program=self._python,
            arguments=("-I", "-S", "-", json.dumps(task)),
            environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            folder=placed.marks.workspace,
            profile=Profile(
                read=(*_around(self._python), placed.marks.given),
                write=(placed.marks.workspace,),
                network=network,
            ),
        )
        return await box.run(order, limits, given=bundled())


def python_for_all() -> str:
    """One that any account can start; our own may be where nobody else comes to."""
    for each in (_own_python(), "/usr/bin/python3", "/usr/local/bin/python3"):
        path = Path(each)
        if path.exists() and all(folder.stat().st_mode & 0o001 for folder in path.parents):
            return each
    return _own_python()


def _own_python() -> str:
    """Itself, not the link to it that a virtual environment has."""
    return str(Path(sys.executable).resolve())


def _around(python: str) -> tuple[str, ...]:
    """What it needs beside what every box has of the system."""
    prefix = str(Path(python).parent.parent)
    return () if prefix in ("/", "/usr") else (prefix,)


def _said(outcome: Outcome) -> Iterator[tuple[str, Probe]]:
    for line in outcome.output.splitlines():
        if line.startswith(b'{"name": '):
            told = json.loads(line)
            held = not told["reached"]
            yield told["name"], Probe(told["name"], held=held, detail=told["detail"])


def _probe(trial: Trial, said: Mapping[str, Probe], outcome: Outcome) -> Probe:
    probe = said.get(attempt_of(trial))
    if probe is not None:
        return replace(probe, name=trial.name)
    last = outcome.errors.decode(errors="replace").strip().splitlines()[-1:]
    how = f"{outcome.end} {outcome.code}: {' '.join(last)}"[:200]
    return Probe(trial.name, held=False, detail=f"nobody knows: it was not said, {how}")
