"""How much memory the processes of a box have together, where the kernel does not add it up."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.inside.keeper import descendants

_LOOK: Final = 0.25
_LOOK_SELDOM: Final = 0.5
"""While it has less than a quarter of what it may have. Not more seldom: a program can fill
gigabytes in a second."""
_FAR: Final = 4
_SHORT: Final = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_EXACT: Final = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


async def watch(keeper: int, most: int, exceeded: Callable[[], None]) -> None:
    """Until it is more than it may be, or we are cancelled."""
    while (has := await asyncio.to_thread(held, keeper, most)) <= most:  # noqa: ASYNC110 # memory is not announced, it is looked at
        await asyncio.sleep(_LOOK if has * _FAR > most else _LOOK_SELDOM)
    exceeded()


def held(keeper: int, most: int) -> int:
    """Bytes. What is shared by several is counted for each of them at first, because that is
    cheap; exactly only if it would be more than `most`."""
    processes = family(keeper)
    has = _sum(processes, "status", _SHORT)
    return has if has <= most else _sum(processes, "smaps_rollup", _EXACT)


def family(keeper: int) -> set[int]:
    """All that came of it: asked from parent to child, since the whole of /proc is long, and read
    for each box. A kernel that does not name children has it read all the same."""
    if not Path(f"/proc/{keeper}/task/{keeper}/children").exists():
        return descendants(keeper)
    found: set[int] = set()
    waiting = [keeper]
    while waiting:
        new = _children(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _children(process: int) -> set[int]:
    """Of each of its threads; none if it has ended meanwhile."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            found.update(map(int, (thread / "children").read_bytes().split()))
    return found


def _sum(processes: Iterable[int], file: str, line: re.Pattern[bytes]) -> int:
    total = 0
    for process in processes:
        with suppress(OSError):
            text = Path(f"/proc/{process}/{file}").read_bytes()
            total += sum(map(int, line.findall(text))) * 1024
    return total
