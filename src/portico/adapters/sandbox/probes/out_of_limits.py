"""Attempts to use more than was given: processes, threads, files, room."""

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Final

from portico.adapters.sandbox.probes.trying import Held, Marks, attempt

_CHUNK: Final = bytes(1 << 20)


@attempt
def too_many_processes(marks: Marks) -> str:
    """Twice as many: where only the account's are counted, others of it may end meanwhile."""
    children: list[int] = []
    try:
        for _ in range(2 * marks.processes):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for each in children:
            os.kill(each, signal.SIGKILL)
        for each in children:
            os.waitpid(each, 0)
    return f"{len(children)} at once"


@attempt
def too_many_threads(marks: Marks) -> str:
    over = threading.Event()
    threading.stack_size(64 * 1024)
    made = 0
    try:
        for _ in range(2 * marks.processes):
            threading.Thread(target=over.wait, daemon=True).start()
            made += 1
    except RuntimeError:
        raise Held("no more could be started") from None
    finally:
        over.set()
    return f"{made} at once"


@attempt
def too_large_file(marks: Marks) -> str:
    path = f"{marks.workspace}/large"
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, marks.file_size + 1)
    finally:
        os.unlink(path)
    return f"{marks.file_size + 1} bytes"


@attempt
def too_many_files(marks: Marks) -> str:
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(marks.open_files + 5)]
    return f"{len(opened)} at once"


@attempt
def too_much_scratch(marks: Marks) -> str:
    """In its folder for temporary files, which is all that it may fill beside what was granted."""
    folder = os.environ.get("TMPDIR", "/tmp")  # its own, inside
    wanted, made = marks.scratch + (8 << 20), 0
    names: list[str] = []
    until = time.monotonic() + 15
    try:
        while made < wanted and time.monotonic() < until:
            names.append(f"{folder}/scratch-{len(names)}")
            with open(names[-1], "wb") as file:
                for _ in range(8):
                    made += file.write(_CHUNK)
    finally:
        for name in names:
            with suppress(OSError):
                os.unlink(name)
    return f"{made} bytes"
