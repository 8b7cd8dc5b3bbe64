"""What the tests of boxes say again and again."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox.bubblewrap import BubblewrapSandbox
from portico.adapters.sandbox.cgroup import Groups
from portico.adapters.sandbox.landlock import LandlockSandbox
from portico.sandbox.core.probes import Backend, Report
from portico.sandbox.core.profile import Limits, Profile, SandboxCommand
from portico.sandbox.core.requests import Outcome

PYTHON = "/usr/bin/python3"
PATIENCE = 30.0
ROOM = Limits(seconds=PATIENCE, output=1_000_000)

AnyBox = BubblewrapSandbox | LandlockSandbox


@dataclass(frozen=True)
class Made:
    """A kind of box, of which one is made for each test as it needs it."""

    backend: Backend

    def box(
        self,
        *,
        hidden: Sequence[Path] = (),
        lent: Sequence[Path] = (),
        groups: Groups | None = None,
        run_as: str = "nobody",
    ) -> AnyBox:
        kind = BubblewrapSandbox if self.backend is Backend.BUBBLEWRAP else LandlockSandbox
        return kind(
            hidden=hidden,
            lent=lent,
            run_as=run_as,
            dialer=Dialer(),
            report=Report(backend=self.backend),
            groups=groups,
        )

    async def shell(self, script: str, limits: Limits = ROOM, **more: object) -> Outcome:
        return await self.box().run(shell(script, **more), limits)

    async def python(self, script: str, limits: Limits = ROOM, **more: object) -> Outcome:
        return await self.box().run(python(script, **more), limits)


def shell(script: str, **more: Any) -> SandboxCommand:
    return _order("/bin/sh", script, more)


def python(script: str, **more: Any) -> SandboxCommand:
    return _order(PYTHON, script, more)


def _order(program: str, script: str, more: dict[str, Any]) -> SandboxCommand:
    whole: dict[str, Any] = {"environment": {"PATH": "/usr/bin:/bin"}, "profile": Profile(), **more}
    return SandboxCommand(program=program, arguments=("-c", script), **whole)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def running(word: str) -> Sequence[int]:
    """Processes of this machine with that word among their arguments."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                arguments = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in arguments:
                found.append(int(each.name))
    return found


async def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)
