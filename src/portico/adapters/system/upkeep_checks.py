"""What goes wrong with time: the disk fills up, and what ended in a hurry leaves something."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.system.listening import answers
from portico.engine.core.store import Finding, State

_GIGABYTE: Final = 1_000_000_000
_LITTLE: Final = 2 * _GIGABYTE
_NEARLY_NONE: Final = _GIGABYTE // 4
"""Bytes with which PostgreSQL may not be able to write down what it is asked to."""


@dataclass(frozen=True, slots=True)
class CheckDisk:
    folder: Path
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free

    async def __call__(self, *, mend: bool) -> Finding:  # noqa: ARG002 # nothing of it is ours to delete
        there = next(each for each in (self.folder, *self.folder.parents) if each.exists())
        free = self.free(there)
        detail = f"{free / _GIGABYTE:.1f} GB free for {self.folder}"
        if free >= _LITTLE:
            return Finding(check="disk", state=State.GOOD, detail=detail)
        return Finding(
            check="disk",
            state=State.BROKEN if free < _NEARLY_NONE else State.WARNING,
            detail=detail,
            fix="Make room there. What Portico keeps and for how long: portico config show",
        )


@dataclass(frozen=True, slots=True)
class CheckLeftovers:
    """Sockets of servers that were killed: nobody answers there, and nobody will."""

    folder: Path | None
    """Where they are; None on a system that has none."""

    async def __call__(self, *, mend: bool) -> Finding:
        sockets = [] if self.folder is None else sorted(self.folder.glob("*.sock"))
        stale = [each for each in sockets if not answers(each)]
        if not stale:
            return Finding(check="leftovers", state=State.GOOD, detail="none")
        names = ", ".join(map(str, stale))
        if not mend:
            return Finding(
                check="leftovers",
                state=State.WARNING,
                detail=f"of a server that was killed: {names}",
                fix="portico doctor --fix",
            )
        for each in stale:
            each.unlink(missing_ok=True)
        return Finding(check="leftovers", state=State.MENDED, detail=f"removed {names}")
