"""How much memory the processes of a box have together, where the kernel does not add it up."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from portico.adapters.box.inside.keeper import descendants

_LOOK: Final = 0.25
_SHORT: Final = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_EXACT: Final = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


async def watch(keeper: int, most: int, exceeded: Callable[[], None]) -> None:
    """Until it is more than it may be, or we are cancelled."""
    while not await asyncio.to_thread(has_more_than, most, keeper):  # noqa: ASYNC110 # memory is not announced, it is looked at
        await asyncio.sleep(_LOOK)
    exceeded()


def has_more_than(most: int, keeper: int) -> bool:
    """What is shared by several is counted for each of them at first, because that is cheap."""
    processes = descendants(keeper)
    return _sum(processes, "status", _SHORT) > most and (
        _sum(processes, "smaps_rollup", _EXACT) > most
    )


def _sum(processes: Iterable[int], file: str, line: re.Pattern[bytes]) -> int:
    total = 0
    for process in processes:
        with suppress(OSError):
            text = Path(f"/proc/{process}/{file}").read_bytes()
            total += sum(map(int, line.findall(text))) * 1024
    return total
