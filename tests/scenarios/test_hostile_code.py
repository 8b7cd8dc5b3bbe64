"""Two hundred hostile programs in the interpreter: nothing comes out, all end, none is harmed."""

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from portico.adapters.monty.interpreter import MontyInterpreter
from portico.kernel.json import JsonValue
from portico.sandbox.core.errors import CodeBusy, CodeRefused
from portico.sandbox.core.requests import CodeEnd, CodeLimits, CodeOutcome
from tests.scenarios.hostile_programs import Hostile, hostile_programs

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
ROUNDS = 5 if FULL_SIZE else 1
PROGRAMS = hostile_programs()
LIMITS = CodeLimits(
    seconds=0.5, whole_seconds=2.0, memory=32_000_000, depth=100, calls=50, output=50_000
)
UNHURRIED = replace(LIMITS, seconds=30.0, whole_seconds=60.0)
"""For programs that end by another limit, also on a busy machine."""
DEADLINE = 120
GOOD = "total = 0\nfor number in range(1000):\n    total += number\n[total, await echo('well')]"
AT_ONCE = 8
MORE_FOR_A_PROCESS = 64_000_000
MORE_FOR_US = 150_000_000


async def echo(*arguments: JsonValue, **_: JsonValue) -> JsonValue:
    return arguments[0] if arguments else None


async def fail() -> JsonValue:
    raise ValueError("of ours")


async def forever() -> JsonValue:
    await asyncio.Event().wait()
    return None


FUNCTIONS = {"echo": echo, "fail": fail, "forever": forever}


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PORTICO_CANARY", "CANARY-OF-THE-ENVIRONMENT")
    path = tmp_path / "canary.txt"
    path.write_text("CANARY-OF-A-FILE")
    return path


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


class Sizes:
    """Of the interpreter's processes and of our own, looked at while the programs run."""

    def __init__(self) -> None:
        self.largest_process = 0
        self.ours_at_first = _resident("self")
        self.ours = 0
        self.looks = 0

    def look(self) -> None:
        self.looks += 1
        self.ours = max(self.ours, _resident("self"))
        for process in _processes():
            self.largest_process = max(self.largest_process, _resident(process))


def _processes() -> Iterator[str]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                # one that has not become the interpreter yet is as large as we are
                if Path(f"/proc/{child}/comm").read_text() == "monty\n":
                    yield child


def _resident(process: str) -> int:
    with suppress(OSError):
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


@asynccontextmanager
async def watched(sizes: Sizes) -> AsyncIterator[None]:
    async def watch() -> None:
        while True:
            sizes.look()
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


async def told(interpreter: MontyInterpreter, hostile: Hostile, program: str) -> CodeEnd | None:
    """None for one that is refused as no program. Raises `TimeoutError` for one without an end."""
    try:
        limits = LIMITS if CodeEnd.TOO_LONG in hostile.ends else UNHURRIED
        outcome = await _once_there_is_room(interpreter, program, limits)
    except CodeRefused:
        return None
    everything = json.dumps(asdict(outcome))
    assert "CANARY-OF" not in everything, program
    assert "root:" not in everything, program
    assert len(outcome.printed.encode()) <= LIMITS.output
    assert len(json.dumps(outcome.result)) <= 6 * LIMITS.output
    assert outcome.end in hostile.ends, (program, outcome)
    return outcome.end


async def _once_there_is_room(
    interpreter: MontyInterpreter, program: str, limits: CodeLimits
) -> CodeOutcome:
    """More of them come than have a place: who finds none is told so, and comes again."""
    while True:
        with suppress(CodeBusy):
            async with asyncio.timeout(DEADLINE):
                return await interpreter.run(program, limits, functions=FUNCTIONS)


def test_there_are_two_hundred_different_ones() -> None:
    assert len({hostile.program for hostile in PROGRAMS}) == len(PROGRAMS) >= 200


@pytest.mark.requirement("box:code:hostile-programs-contained")
async def test_two_hundred_hostile_programs_are_contained(
    canary: Path, listening: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    ends: Counter[str] = Counter()
    sizes = Sizes()
    port = str(listening.getsockname()[1])
    programs = PROGRAMS * ROUNDS

    async with MontyInterpreter(processes=4) as interpreter, watched(sizes):
        for first in range(0, len(programs), AT_ONCE):
            batch = programs[first : first + AT_ONCE]
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        told(
                            interpreter,
                            each,
                            each.program.replace("CANARY", str(canary)).replace("PORT", port),
                        )
                    )
                    for each in batch
                ]
            ends.update(str(task.result()) for task in tasks)

            good = await interpreter.run(GOOD, LIMITS, functions=FUNCTIONS)
            assert good.result == [499500, "well"], good

    with capsys.disabled():
        print(
            f"\n{len(programs)} hostile programs: {dict(ends)}; largest process "
            f"{sizes.largest_process / 1e6:.0f} MB, we grew by "
            f"{(sizes.ours - sizes.ours_at_first) / 1e6:.0f} MB"
        )
    assert contents(canary.parent) == {"canary.txt": "CANARY-OF-A-FILE"}
    with pytest.raises(BlockingIOError):
        listening.accept()
    assert sizes.looks > 10
    assert sizes.largest_process < LIMITS.memory + MORE_FOR_A_PROCESS
    assert sizes.ours - sizes.ours_at_first < MORE_FOR_US
    assert ends["None"] == 0, "what is no program attacks nobody"
    for end in CodeEnd:
        if end not in {CodeEnd.WAITING, CodeEnd.BROKEN}:
            assert ends[end] >= 5, f"hardly one ended as {end}: they are not what they should be"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}
