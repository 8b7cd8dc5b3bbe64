"""Processes that a test has started and that outlive it: who they are, and whose they are."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import psutil

from tests.forks import keepers
from tests.real_servers.watching import eventually

PATIENCE = 30.0
"""Seconds in which whoever has been ended may still be on the way out."""


def children() -> set[psutil.Process]:
    """All but those that make forks."""
    found, kept = psutil.Process().children(recursive=True), keepers()
    return {each for each in found if each.pid not in kept}


def lives(pid: int) -> bool:
    """A zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(*pids: int, patience: float = PATIENCE) -> bool:
    """Also a killed process is there for a moment, until the machine has time for its end."""
    return eventually(lambda: not any(map(lives, pids)), patience)


def named(processes: Collection[psutil.Process]) -> list[str]:
    """As `ps` would show them."""
    return sorted(map(_named, processes))


def _named(process: psutil.Process) -> str:
    name, status, command = "?", "gone", ""
    with suppress(psutil.Error):
        name, status = process.name(), process.status()
        command = " ".join(process.cmdline())
    return f"{process.pid} {name} ({status}): {command[:300]}"


@contextmanager
def none_left(patience: float = PATIENCE) -> Iterator[None]:
    """Whoever was there before may stay. Others are named and ended: they are one test's fault, and
    not to be counted by all that come after it."""
    before = children()
    yield
    eventually(lambda: not children() - before, patience)
    left = children() - before
    names = named(left)
    _end(left)
    assert not left, "processes were left behind:\n" + "\n".join(names)


def _end(processes: Collection[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    for process in processes:
        with suppress(ChildProcessError):  # somebody else's child, or buried meanwhile
            os.waitpid(process.pid, 0)
