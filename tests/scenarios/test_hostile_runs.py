"""Many hostile programs, in both boxes: afterwards it is as if they had never been."""

import asyncio
import gc
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from portico.adapters.sandbox.probes.attempts import python_for_all
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, Profile, SandboxCommand
from portico.sandbox.core.requests import Outcome
from portico.sandbox.requests import Sandbox
from tests.children import children, named
from tests.real_servers.watching import eventually, own_memory
from tests.scenarios.box_table import a_box
from tests.scenarios.boxed_programs import PROGRAMS, Hostile

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
RUNS = 5_000 if FULL_SIZE else 100
AT_ONCE = 4
MOST_GROWTH = 16_000_000
"""Bytes, after warm-up: what a few programs' output takes for a moment."""
LIMITS = Limits(
    seconds=4,
    memory=100_000_000,
    processes=40,
    file_size=20_000_000,
    open_files=64,
    output=100_000,
    scratch=20_000_000,
)
AROUND = ("/", "/tmp", "/var/tmp", "/dev/shm", "/var", "/var/lib", "/run", "/srv", "/etc", "/home")

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(3600 if FULL_SIZE else 600)]


@dataclass
class Run:
    box: Sandbox
    folder: Path
    mark: str
    seen: Counter[str] = field(default_factory=Counter)
    vain: list[str] = field(default_factory=list)

    async def one(self, hostile: Hostile) -> None:
        workspace = a_workspace(self.folder)
        order = SandboxCommand(
            program=python_for_all(),
            arguments=("-I", "-S", "-c", hostile.program, self.mark, hostile.program),
            environment={"PATH": "/usr/bin:/bin", "HOSTILE_MARK": self.mark},
            folder=workspace,
            profile=Profile(write=(workspace,)),
        )
        outcome = await self.box.run(order, LIMITS)
        shutil.rmtree(workspace, ignore_errors=True)
        self.note(hostile, outcome)

    def note(self, hostile: Hostile, outcome: Outcome) -> None:
        assert len(outcome.output) + len(outcome.errors) <= (LIMITS.output or 0)
        if hostile.seen(outcome) or self.box.report.backend in hostile.open_in:
            self.seen[hostile.name] += 1
        else:
            ended = f"{outcome.end} {outcome.code} {outcome.output[-80:]!r}"
            self.vain.append(f"{hostile.name}: {ended} {outcome.errors[-200:]!r}")

    async def many(self, programs: Sequence[Hostile]) -> None:
        waiting = iter(programs)

        async def worker() -> None:
            for hostile in waiting:
                await self.one(hostile)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(worker())


def a_workspace(folder: Path) -> str:
    workspace = Path(tempfile.mkdtemp(prefix="workspace-", dir=folder))
    workspace.chmod(0o777)
    return str(workspace)


def open_files() -> int:
    return psutil.Process().num_fds()


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="portico-hostile-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def strays(mark: str) -> list[int]:
    """Processes that have it in their environment, or among their arguments."""
    return [pid for pid in psutil.pids() if pid != os.getpid() and _has(pid, mark.encode())]


def _has(pid: int, mark: bytes) -> bool:
    for name in ("environ", "cmdline"):
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/{name}").read_bytes():
                return True
    return False


def left_outside(mark: str, folder: Path) -> list[str]:
    around = [*map(Path, AROUND), Path.home(), Path.cwd(), folder, folder.parent]
    return [str(path) for each in set(around) for path in each.glob(f"*{mark}*")]


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def groups_left() -> list[str]:
    """Of the kernel's own account of who is in which box: a group with somebody in it stays."""
    return [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/portico-box-{os.getpid()}-*")]


@pytest.fixture
def scratch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where boxes without files of their own have their temporary ones."""
    made = folder / "scratch"
    made.mkdir()
    made.chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def a_mix(count: int, seed: int) -> list[Hostile]:
    """All kinds equally often, in any order."""
    programs = [PROGRAMS[number % len(PROGRAMS)] for number in range(count)]
    random.Random(seed).shuffle(programs)
    return programs


def test_what_were_left_would_be_seen(folder: Path) -> None:
    mark = f"left-{os.getpid()}"
    asleep = [sys.executable, "-S", "-c", "print(flush=True); import time; time.sleep(60)"]
    (folder / f"{mark}-3").touch()

    for arguments, environment in (([mark], {}), ([], {"HOSTILE_MARK": mark})):
        with subprocess.Popen(
            [*asleep, *arguments], env=environment, stdout=subprocess.PIPE
        ) as stray:
            assert stray.stdout is not None
            stray.stdout.readline()
            found = strays(mark)
            stray.kill()
        assert found == [stray.pid]
    assert left_outside(mark, folder) == [str(folder / f"{mark}-3")]
    assert names_in(folder) == [f"{mark}-3"]


@pytest.mark.parametrize("backend", Backend)
@pytest.mark.requirement("box:runs:hostile-leave-nothing")
async def test_hostile_programs_leave_nothing_behind(
    backend: Backend, folder: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark, before = f"hostile-{os.getpid()}-{backend}", children()
    run = Run(a_box(backend), folder, mark)
    await run.many(a_mix(2 * len(PROGRAMS), seed=1))
    gc.collect()
    warm, opened = own_memory(os.getpid()), open_files()

    await run.many(a_mix(RUNS // len(Backend), seed=2))

    gc.collect()
    grown = own_memory(os.getpid()) - warm
    nobody_left = eventually(lambda: not strays(mark), patience=10)
    with capsys.disabled():
        print(
            f"\nhostile runs in {backend}: {sum(run.seen.values()) + len(run.vain)}, of "
            f"{len(run.seen)} kinds; {len(strays(mark))} processes left, "
            f"memory {grown / 1e6:+.1f} MB of {warm / 1e6:.0f}",
            file=sys.stdout,
        )
    assert run.vain == []
    assert set(run.seen) == {hostile.name for hostile in PROGRAMS}
    assert nobody_left
    assert groups_left() == []
    assert left_outside(mark, folder) == []
    assert names_in(scratch) == []
    assert open_files() <= opened
    assert named(children() - before) == []
    assert grown < MOST_GROWTH
