"""What can be wrong with the machine, the files on it, and its disk."""

import asyncio
import errno
import os
import shutil
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.system.bind_address import answers, by_another, is_portico, listener_on
from portico.adapters.system.files import open_to_others
from portico.engine.core.store import CheckResult, State


@dataclass(frozen=True, slots=True)
class CheckPython:
    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # nothing to mend here
        version = ".".join(map(str, sys.version_info[:3]))
        detail = f"Python {version} on {sys.platform}"
        if sys.platform == "win32":
            return CheckResult(
                check="platform",
                state=State.WARNING,
                detail=detail,
                fix="Run Portico in WSL, or use a PostgreSQL of your own by its DSN.",
            )
        return CheckResult(check="platform", state=State.GOOD, detail=detail)


@dataclass(frozen=True, slots=True)
class CheckPrivateFiles:
    """Secrets that others on this machine can read are no secrets."""

    paths: Sequence[Path]

    async def __call__(self, *, mend: bool) -> CheckResult:
        try:
            there = sum(path.exists() for path in self.paths)
            open_ones = [path for path in self.paths if path.exists() and open_to_others(path)]
        except OSError as error:
            return CheckResult(
                check="private files",
                state=State.BROKEN,
                detail=f"cannot look at them: {error.strerror}: {error.filename}",
                fix="Make the folder yours and mode 700.",
            )
        if not open_ones:
            return CheckResult(
                check="private files", state=State.GOOD, detail=f"{there} closed to others"
            )
        names = ", ".join(map(str, open_ones))
        if not mend:
            return CheckResult(
                check="private files",
                state=State.BROKEN,
                detail=f"others can read {names}",
                fix="portico doctor --fix",
            )
        for path in open_ones:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return CheckResult(check="private files", state=State.MENDED, detail=f"closed {names}")


@dataclass(frozen=True, slots=True)
class CheckPort:
    host: str
    port: int
    private_socket: Path | None = None
    """Where this installation's own server answers."""

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # nothing to mend here
        where = f"{self.host}:{self.port}"
        with socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    return CheckResult(
                        check="port",
                        state=State.BROKEN,
                        detail=f"{where} cannot be used: {os.strerror(error.errno or 0)}",
                        fix="Set another: portico config set server.port NUMBER",
                    )
                return await asyncio.to_thread(self._taken, where)
        return CheckResult(check="port", state=State.GOOD, detail=f"{where} is free")

    def _taken(self, where: str) -> CheckResult:
        if not is_portico(self.host, self.port):
            return CheckResult(
                check="port",
                state=State.BROKEN,
                detail=f"{listener_on(self.port) or 'another program'} listens on {where}",
                fix="End it, or set another: portico config set server.port NUMBER",
            )
        if by_another(self.host, self.port, self.private_socket):
            return CheckResult(
                check="port",
                state=State.BROKEN,
                detail=f"the Portico of another installation listens on {where}",
                fix="Set another: portico config set server.port NUMBER",
            )
        return CheckResult(check="port", state=State.GOOD, detail=f"Portico is running on {where}")


# What goes wrong with time: the disk fills up, and what ended in a hurry leaves something.

_GIGABYTE: Final = 1_000_000_000
_LITTLE: Final = 2 * _GIGABYTE
_NEARLY_NONE: Final = _GIGABYTE // 4
"""Bytes with which PostgreSQL may not be able to write down what it is asked to."""


@dataclass(frozen=True, slots=True)
class CheckDisk:
    folder: Path
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free

    async def __call__(self, *, mend: bool) -> CheckResult:  # noqa: ARG002 # nothing of it is ours to delete
        there = next(each for each in (self.folder, *self.folder.parents) if each.exists())
        free = self.free(there)
        detail = f"{free / _GIGABYTE:.1f} GB free for {self.folder}"
        if free >= _LITTLE:
            return CheckResult(check="disk", state=State.GOOD, detail=detail)
        return CheckResult(
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

    async def __call__(self, *, mend: bool) -> CheckResult:
        sockets = [] if self.folder is None else sorted(self.folder.glob("*.sock"))
        stale = [each for each in sockets if not answers(each)]
        if not stale:
            return CheckResult(check="leftovers", state=State.GOOD, detail="none")
        names = ", ".join(map(str, stale))
        if not mend:
            return CheckResult(
                check="leftovers",
                state=State.WARNING,
                detail=f"of a server that was killed: {names}",
                fix="portico doctor --fix",
            )
        for each in stale:
            each.unlink(missing_ok=True)
        return CheckResult(check="leftovers", state=State.MENDED, detail=f"removed {names}")
