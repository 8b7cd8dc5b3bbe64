"""What it costs to start something that does nothing, in a box and without one."""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from benchmarks.boxes import Boxes
from portico.sandbox.core.probes import Backend
from portico.sandbox.core.profile import Limits, SandboxCommand
from portico.sandbox.requests import Sandbox

_ORDER = SandboxCommand(program="/bin/true", environment={"PATH": "/usr/bin:/bin"})


@dataclass(slots=True)
class Starts:
    start: Callable[[], Awaitable[None]]
    cpus: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """Seconds of processor a start, ours and that of all that was started."""
        return mean(self.cpus)

    @property
    def wall(self) -> float:
        return median(self.walls)

    async def once(self) -> None:
        cpu, began = _cpu(), time.perf_counter()
        await self.start()
        self.walls.append(time.perf_counter() - began)
        self.cpus.append(_cpu() - cpu)


async def measure_starts(
    boxes: Boxes, backends: Sequence[Backend], rounds: int, starts: int
) -> Mapping[str, Starts]:
    ways = {"bare": Starts(_bare)}
    ways |= {each: Starts(_boxed(boxes.by_name[each])) for each in backends}
    for way in ways.values():
        await way.start()
    for number in range(rounds * starts):
        names = list(ways)
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            await ways[name].once()
    return ways


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec(
        _ORDER.program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_ORDER.environment,
    )
    await process.communicate()


def _boxed(box: Sandbox) -> Callable[[], Awaitable[None]]:
    async def start() -> None:
        outcome = await box.run(_ORDER, Limits(seconds=60, output=1000))
        if outcome.code != 0:
            raise RuntimeError(f"/bin/true ended with {outcome.code}: {outcome.errors!r}")

    return start


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
