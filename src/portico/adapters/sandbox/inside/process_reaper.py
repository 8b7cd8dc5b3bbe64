"""Whoever outlives what was started, and ends all that came of it.

In a namespace of processes its own end is that of all others. Elsewhere whatever is orphaned
becomes its child, so that nothing gets away by leaving its group or its parent.
"""

from __future__ import annotations

import ctypes
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Sequence
    from typing import Final
else:
    import _signal

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_FOR_THE_PROGRAM: Final = (
    *(_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGPIPE),
)
_LOST: Final = 137
"""The exit code of what was ended with force, as a shell has it."""


def adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0)


def stay_out_of_it() -> None:
    """Signals for the group are meant for the program; it gets its own."""
    for number in _FOR_THE_PROGRAM:
        _signal.signal(number, _signal.SIG_IGN)


def be_spoken_to() -> None:
    for number in _FOR_THE_PROGRAM:
        _signal.signal(number, _signal.SIG_DFL)


def keep(child: int, lifelines: Sequence[int]) -> int | None:
    """Until `child` has ended, whose status this is, or one of `lifelines` has; then None."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    _signal.set_wakeup_fd(writing)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    waiting = select.poll()
    waiting.register(reading, select.POLLIN)
    for lifeline in lifelines:
        waiting.register(lifeline, select.POLLIN)
    while True:
        status = _buried(child)
        if status is not None:
            return status
        ready = {descriptor for descriptor, _ in waiting.poll()}
        if not ready.isdisjoint(lifelines):
            return None
        if reading in ready:
            os.read(reading, 4096)


def _buried(child: int) -> int | None:
    """The status of `child`, if it is among those that have ended."""
    while True:
        try:
            found, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return _LOST << 8
        if found == child:
            return status
        if found == 0:
            return None


def end_all() -> None:
    """All of our descendants. They are stopped first: who does not run starts nobody."""
    while True:
        stopped: set[int] = set()
        while new := descendants(os.getpid()) - stopped:
            for process in new:
                _send(process, _signal.SIGSTOP)
            stopped |= new
        for process in stopped:
            _send(process, _signal.SIGKILL)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            if not descendants(os.getpid()):
                return


def code_of(status: int | None) -> int:
    """What to exit with: as a shell has it."""
    if status is None:
        return _LOST
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def descendants(process: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 # pathlib costs milliseconds at each start
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found: set[int] = set()
    waiting = [process]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


def _parent(process: str) -> int:
    """0 for one that is dead or not to be seen."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123 # pathlib costs milliseconds at each start
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state in b"ZX" else int(parent)


def _send(process: int, number: int) -> None:
    try:  # noqa: SIM105 # contextlib takes long to import
        os.kill(process, number)
    except (ProcessLookupError, PermissionError):
        pass
