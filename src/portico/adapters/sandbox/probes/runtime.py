"""How an attempt to get out of a box is made; all of this runs inside, on the standard library."""

import ctypes
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

CANARY: Final = "portico-canary"
"""How everything begins that must not be seen inside."""


class Held(Exception):
    """The box held, and there is no error of the system that says so."""


@dataclass(frozen=True)
class Marks:
    """What is outside, and what may be used inside."""

    workspace: str
    """The one folder that may be written; links that lead out of it were planted there."""
    given: str
    """A folder that may be read: in it `file`, and `socket`, on which somebody listens."""
    outside: str
    """A folder that was not granted; in it `secret`, `movable`, `program` and the like."""
    data: str
    """What holds the files of Portico itself."""
    home: str
    home_names: list[str]
    """Some of what is in it outside."""
    variable: str
    """A key of ours is in it, in the environment outside."""
    process: int
    """One outside, with the secret open and in its environment, in the folder outside."""
    process_started: str
    """When, in the kernel's words: inside, another may have the same number."""
    tcp: int
    tcp6: int
    udp: int
    own_address: str
    names: str
    """The address of whoever knows the addresses of names."""
    abstract: str
    memory_key: int
    """Of a shared memory segment."""
    queue: str
    temporary: list[str]
    """Files in folders that everybody shares."""
    devices: list[str]
    processes: int
    memory: int
    file_size: int
    open_files: int
    scratch: int


Attempt = Callable[[Marks], str]
"""Says what it reached; raises `OSError` or `Held` if it reached nothing."""

ATTEMPTS: Final[dict[str, Attempt]] = {}


def attempt(function: Attempt) -> Attempt:
    ATTEMPTS[getattr(function, "__name__")] = function  # noqa: B009 # one checker knows callables alone
    return function


def found(content: bytes) -> str:
    if not content.startswith(CANARY.encode()):
        raise Held(f"something else is there, {len(content)} bytes")
    return "read what is outside"


def read(path: str) -> str:
    with open(path, "rb") as file:  # as few modules as can be
        return found(file.read(200))


_NUMBERS: Final = {
    "x86_64": {
        "acct": 163,
        "add_key": 248,
        "bpf": 321,
        "clone": 56,
        "fanotify_init": 300,
        "init_module": 175,
        "inotify_init1": 294,
        "kexec_load": 246,
        "keyctl": 250,
        "mount": 165,
        "mq_open": 240,
        "open_by_handle_at": 304,
        "perf_event_open": 298,
        "personality": 135,
        "pivot_root": 155,
        "prlimit64": 302,
        "process_vm_readv": 310,
        "ptrace": 101,
        "reboot": 169,
        "setns": 308,
        "settimeofday": 164,
        "sethostname": 170,
        "shmat": 30,
        "shmget": 29,
        "swapon": 167,
        "syslog": 103,
        "unshare": 272,
        "userfaultfd": 323,
    },
    "aarch64": {
        "acct": 89,
        "add_key": 217,
        "bpf": 280,
        "clone": 220,
        "fanotify_init": 262,
        "init_module": 105,
        "inotify_init1": 26,
        "kexec_load": 104,
        "keyctl": 219,
        "mount": 40,
        "mq_open": 180,
        "open_by_handle_at": 265,
        "perf_event_open": 241,
        "personality": 92,
        "pivot_root": 41,
        "prlimit64": 261,
        "process_vm_readv": 270,
        "ptrace": 117,
        "reboot": 142,
        "setns": 268,
        "settimeofday": 170,
        "sethostname": 161,
        "shmat": 196,
        "shmget": 194,
        "swapon": 224,
        "syslog": 116,
        "unshare": 97,
        "userfaultfd": 282,
    },
}
_EVERYWHERE: Final = {
    "clone3": 435,
    "fsopen": 430,
    "io_uring_setup": 425,
    "pidfd_getfd": 438,
    "pidfd_send_signal": 424,
}
_REFUSALS: Final = (errno.EPERM, errno.EACCES, errno.ENOSYS)


def kernel(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """One call of the kernel, by its own number, past what the C library might think of it."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    numbers = {**_NUMBERS[os.uname().machine], **_EVERYWHERE}
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result: int = library.syscall(ctypes.c_long(numbers[name]), *given)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def answers(name: str, *arguments: int | bytes | None) -> str:
    """Reached if the kernel looks at such a call at all: it is made so that it can do nothing."""
    try:
        kernel(name, *arguments)
    except OSError as error:
        if error.errno in _REFUSALS:
            raise
        return f"it answers: {errno.errorcode.get(error.errno or 0, '?')}"
    return "it answers"
