"""Ends servers whose Portico was killed: a process of its own that outlives it by a moment.

It is told of each process group in lines, `+4711` and `-4711`. When the pipe that these come
through is closed, Portico is gone, however it went; whatever is still on the list then is ended.
Run as a script, on nothing but the standard library.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

_GRACE = 2.0
_LOOK = 0.05


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    _end(groups)


def _end(groups: Iterable[int]) -> None:
    left = [group for group in groups if _sent(group, signal.SIGTERM)]
    end = time.monotonic() + _GRACE
    while left and time.monotonic() < end:
        time.sleep(_LOOK)
        left = [group for group in left if _sent(group, 0)]
    for group in left:
        _sent(group, signal.SIGKILL)


def _sent(group: int, number: int) -> bool:
    with suppress(OSError):
        os.killpg(group, number)
        return True
    return False


if __name__ == "__main__":
    main()
