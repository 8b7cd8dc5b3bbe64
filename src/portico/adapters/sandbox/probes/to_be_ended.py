"""Attempts that the box must end as a whole: each is made alone, and looked at from outside."""

import mmap
import os
import signal
import sys
import time
from typing import Final

from portico.adapters.sandbox.probes.trying import Marks, attempt

_STEP: Final = 4 << 20


@attempt
def too_much_memory(marks: Marks) -> str:
    _touched(marks.memory * 3 // 2)
    return _waited()


@attempt
def too_much_shared_memory(marks: Marks) -> str:
    """That several could use together, and that is in no single one's account."""
    kept = []
    for _ in range(marks.memory * 3 // 2 // _STEP):
        kept.append(mmap.mmap(-1, _STEP))
        kept[-1].write(b"x" * _STEP)
    return _waited()


@attempt
def too_much_memory_together(marks: Marks) -> str:
    """Each has less than all may have, and all have more."""
    for _ in range(5):
        if os.fork() == 0:
            kept = _touched(marks.memory * 2 // 5)
            time.sleep(30)
            os._exit(len(kept) == 0)
    return _waited()


@attempt
def too_long(marks: Marks) -> str:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
    time.sleep(15)
    return "was not ended"


@attempt
def too_loud(marks: Marks) -> str:
    for _ in range(4000):
        os.write(1, b"x" * 65_535 + b"\n")
    return "was not ended"


@attempt
def too_loud_on_errors(marks: Marks) -> str:
    for _ in range(4000):
        os.write(2, b"x" * 65_535 + b"\n")
    return "was not ended"


@attempt
def left_child(marks: Marks) -> str:
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", _SLEEP, marks.variable])
    return "left one; see outside"


@attempt
def left_daemon(marks: Marks) -> str:
    """Away from its group, its session and its parent, and deaf."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            for each in (0, 1, 2):
                os.dup2(os.open("/dev/null", os.O_RDWR), each)
            os.execv(sys.executable, [sys.executable, "-c", _SLEEP, marks.variable])
        os._exit(0)
    os.waitpid(child, 0)
    return "left one; see outside"


_SLEEP: Final = (
    "import signal, time\nfor each in (1, 2, 3, 15): signal.signal(each, 1)\ntime.sleep(60)"
)


def _touched(size: int) -> bytearray:
    kept = bytearray(0)
    while len(kept) < size:
        kept += b"x" * _STEP
    return kept


def _waited() -> str:
    """For whoever looks only now and then."""
    time.sleep(3)
    return "had more than it may"
