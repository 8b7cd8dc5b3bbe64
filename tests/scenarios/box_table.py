"""Makes attempts in one box, or in none, and prints what came of them; run as whoever the table
speaks of.

    python -m tests.scenarios.box_table {bubblewrap|landlock|bare} FOLDER [WALL PROBE]

With a wall, that one is taken away first, and only the probe is made, which must then get out.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox import cgroup
from portico.adapters.sandbox.bubblewrap import BubblewrapSandbox
from portico.adapters.sandbox.landlock import LandlockSandbox
from portico.adapters.sandbox.probes.attempts import CanaryAttempts
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.core.probes import TRIALS, Backend, Manner, Report, SandboxLayer, Trial
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.core.requests import End, Outcome
from portico.sandbox.requests import Sandbox, SandboxProcess

RUN_AS = "nobody"
NO_BOX = "bare"


def a_box(backend: Backend, *, hidden: Sequence[Path] = ()) -> Sandbox:
    kind = BubblewrapSandbox if backend is Backend.BUBBLEWRAP else LandlockSandbox
    groups = cgroup.find_groups()
    return kind(
        hidden=hidden,
        run_as=RUN_AS,
        dialer=Dialer(),
        report=Report(backend=backend, cgroup=groups is not None),
        groups=groups,
    )


@dataclass(frozen=True)
class NoBox:
    """Just starts it, as most programs do."""

    report: Report

    def cell(
        self, order: SandboxCommand, limits: Limits
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        raise NotImplementedError

    async def run(self, order: SandboxCommand, limits: Limits, *, given: bytes = b"") -> Outcome:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            order.program, *order.arguments, cwd=order.folder, stdin=pipe, stdout=pipe, stderr=pipe
        )
        output, errors = await process.communicate(given)
        return Outcome(
            end=End.EXITED, code=process.returncode, output=output, errors=errors, seconds=0
        )


async def tried(box: Sandbox, folder: Path, trials: Sequence[Trial]) -> dict[str, object]:
    attempts = CanaryAttempts(folder, run_as=RUN_AS)
    try:
        probes = await attempts.make(box, trials)
    except SandboxUnavailable as error:
        return {"missing": error.reason, "fix": error.fix}
    return {"probes": [asdict(probe) for probe in probes]}


def main(kind: str, folder: str, wall: str = "", name: str | None = None) -> None:
    trials = [trial for trial in TRIALS if name in (None, trial.name)]
    if kind == NO_BOX:
        without = [trial for trial in trials if trial.manner is Manner.TOGETHER]
        told = asyncio.run(tried(NoBox(Report(backend=Backend.LANDLOCK)), Path(folder), without))
    else:
        if wall:
            from tests.scenarios.walls import take_away

            take_away(SandboxLayer(wall), Path(folder))
        told = asyncio.run(tried(a_box(Backend(kind)), Path(folder), trials))
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
