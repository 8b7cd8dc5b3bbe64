"""Attempts at processes outside: to see them, read them, signal them, slow them down."""

import ctypes
import os
import resource
import signal
import struct
from contextlib import suppress
from typing import Final

from portico.adapters.sandbox.probes.trying import CANARY, Held, Marks, attempt, found, kernel, read

_ATTACH, _DETACH = 16, 17
_NO_ACCOUNT: Final = 54_321


@attempt
def process_list(marks: Marks) -> str:
    if str(marks.process) not in os.listdir("/proc") or not _is_outside(marks):
        raise Held("it is not among them")
    return "saw that it runs"


@attempt
def guess_process(marks: Marks) -> str:
    os.getsid(marks.process)
    return _if_outside(marks, "learnt that it runs")


@attempt
def process_arguments(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/cmdline", "rb") as file:
        if CANARY.encode() not in file.read():
            raise Held("another has its number")
    return "read what it was started with"


@attempt
def process_environment(marks: Marks) -> str:
    return _environment(marks, f"/proc/{marks.process}/environ")


@attempt
def process_folder(marks: Marks) -> str:
    return read(f"/proc/{marks.process}/cwd/secret")


@attempt
def process_root(marks: Marks) -> str:
    return read(f"/proc/{marks.process}/root{marks.outside}/secret")


@attempt
def process_files(marks: Marks) -> str:
    folder = f"/proc/{marks.process}/fd"
    for name in os.listdir(folder):
        with suppress(OSError, Held):
            return read(f"{folder}/{name}")
    raise Held("none of them is it")


@attempt
def process_memory(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/mem", "rb"):
        return _if_outside(marks, "opened it")


@attempt
def process_map(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/maps", "rb") as file:
        if not file.read(10):
            raise Held("it is empty")
    return _if_outside(marks, "read it")


@attempt
def first_environment(marks: Marks) -> str:
    """Of whatever set the box up, and of whatever started that."""
    for number in {1, os.getppid(), _parent(os.getppid())}:
        with suppress(OSError, Held):
            return _environment(marks, f"/proc/{number}/environ")
    raise Held("it is in none")


@attempt
def first_root(marks: Marks) -> str:
    return read(f"/proc/1/root{marks.outside}/secret")


@attempt
def own_environment(marks: Marks) -> str:
    if marks.variable not in os.environ:
        raise Held("it is not in it")
    return "found the key"


@attempt
def inherited_descriptors(marks: Marks) -> str:
    """Beside the three that everybody has."""
    more = [number for number in _OPEN_AT_FIRST if number > 2]
    if not more:
        raise Held("none")
    return f"{len(more)} more: {', '.join(map(_described, more))}"[:200]


@attempt
def signal_process(marks: Marks) -> str:
    os.kill(marks.process, signal.SIGCONT)
    return _if_outside(marks, "it can be signalled")


@attempt
def signal_by_descriptor(marks: Marks) -> str:
    kernel("pidfd_send_signal", os.pidfd_open(marks.process), signal.SIGCONT, None, 0)
    return _if_outside(marks, "it can be signalled")


@attempt
def signal_keeper(marks: Marks) -> str:
    """The one that would end us, should we not end: it must not be ended before."""
    ancestor = _parent(os.getppid())
    if ancestor == 0:
        raise Held("it is not to be seen")
    os.kill(ancestor, signal.SIGCONT)
    return "it can be signalled"


@attempt
def keeper_files(marks: Marks) -> str:
    folder = f"/proc/{_parent(os.getppid()) or 1}/fd"
    for name in os.listdir(folder):
        with suppress(OSError):
            os.close(os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NONBLOCK))
            return f"opened {os.readlink(f'{folder}/{name}')}"
    raise Held("none can be opened")


@attempt
def trace_process(marks: Marks) -> str:
    kernel("ptrace", _ATTACH, marks.process, 0, 0)
    os.waitpid(marks.process, 0)
    kernel("ptrace", _DETACH, marks.process, 0, 0)
    return _if_outside(marks, "attached to it")


@attempt
def read_process_memory(marks: Marks) -> str:
    with open(f"/proc/{marks.process}/maps", encoding="ascii") as file:
        start = int(file.readline().split("-")[0], 16)
    room = ctypes.create_string_buffer(16)
    here = struct.pack("QQ", ctypes.addressof(room), 16)
    kernel("process_vm_readv", marks.process, here, 1, struct.pack("QQ", start, 16), 1, 0)
    return _if_outside(marks, "read it")


@attempt
def take_descriptor(marks: Marks) -> str:
    process = os.pidfd_open(marks.process)
    for number in range(3, 16):
        with suppress(OSError, Held):
            taken = kernel("pidfd_getfd", process, number, 0)
            return found(os.pread(taken, 200, 0))
    raise Held("none could be taken")


@attempt
def limit_process(marks: Marks) -> str:
    now = resource.prlimit(marks.process, resource.RLIMIT_CORE)
    resource.prlimit(marks.process, resource.RLIMIT_CORE, now)
    return _if_outside(marks, "its limits can be set")


@attempt
def slow_process(marks: Marks) -> str:
    now = os.getpriority(os.PRIO_PROCESS, marks.process)
    os.setpriority(os.PRIO_PROCESS, marks.process, now)
    return _if_outside(marks, "its priority can be set")


@attempt
def slow_account(marks: Marks) -> str:
    """All processes of an account, whoever sees them. Asked of one that has none: it would be
    done to everybody."""
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_USER, _NO_ACCOUNT, 0)
    os.getsid(marks.process)
    return _if_outside(marks, "their priority can be set")


@attempt
def confine_process(marks: Marks) -> str:
    os.sched_setaffinity(marks.process, os.sched_getaffinity(marks.process))
    return _if_outside(marks, "its cores can be set")


@attempt
def shared_segment(marks: Marks) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    library.shmat.restype = ctypes.c_void_p
    segment = kernel("shmget", marks.memory_key, 0, 0)
    address = library.shmat(segment, None, 0o10000)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return found(ctypes.string_at(address, 64))


@attempt
def message_queue(marks: Marks) -> str:
    os.close(kernel("mq_open", marks.queue.encode(), os.O_RDWR, 0, None))
    return "opened it"


def _environment(marks: Marks, path: str) -> str:
    with open(path, "rb") as file:
        if f"{marks.variable}=".encode() not in file.read():
            raise Held("it is not in it")
    return "read the key"


def _is_outside(marks: Marks) -> bool:
    with open(f"/proc/{marks.process}/stat", "rb") as file:
        return file.read().rsplit(b")", 1)[1].split()[19].decode() == marks.process_started


def _if_outside(marks: Marks, reached: str) -> str:
    with suppress(OSError):
        if not _is_outside(marks):
            raise Held("another has its number")
    return reached


def _parent(number: int) -> int:
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[1])
    except OSError:
        return 0


def _open_ones() -> list[int]:
    opened = []
    for number in range(4096):
        with suppress(OSError):
            os.fstat(number)
            opened.append(number)
    return opened


_OPEN_AT_FIRST: Final = _open_ones()


def _described(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return str(number)
