"""A process and all that came of it, ended as a whole.

Each server is the head of a process group of its own, which holds whatever it starts: `npx` its
`node`. Some children leave the group (a browser does); they are found by their descent, which has
to be asked for while their parent still lives.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import psutil

_LOOK: Final = 0.02

Others: TypeAlias = Sequence[psutil.Process]


def descendants(pid: int) -> Others:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return ()


def send(group: int, others: Others, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for process in others:
        with suppress(psutil.Error):
            process.send_signal(number)


async def gone(group: int, others: Others) -> None:
    """Once nobody is left; its head has been buried by us already."""
    while others or _exists(group):
        if not await asyncio.to_thread(_anybody, group, others):
            return
        await asyncio.sleep(_LOOK)


def _anybody(group: int, others: Others) -> bool:
    """Someone who is dead but not yet buried by their new parent counts as dead."""
    if any(_lives(process) for process in others):
        return True
    members = (process for process in psutil.process_iter() if _in_group(process, group))
    return any(_lives(process) for process in members)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _in_group(process: psutil.Process, group: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(process.pid) == group
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
