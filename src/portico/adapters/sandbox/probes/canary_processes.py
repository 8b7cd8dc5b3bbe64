"""A process that should not be found, and what processes share without files."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.probes.trying import CANARY

_ASLEEP: Final = """
import select
print(flush=True)
until_nobody_reads = select.poll()
until_nobody_reads.register(1, 0)
until_nobody_reads.poll()
"""
"""Until it is killed; or until whoever started it is, and cannot do that any more."""
_CREATE: Final = 0o1000
_REMOVE: Final = 0


@contextmanager
def asleep(
    folder: Path, variable: str, python: str, account: tuple[int, int] | None
) -> Iterator[int]:
    """In `folder`, with its `secret` open and the key in its environment."""
    user, group = account or (None, None)
    with (
        (folder / "secret").open("rb") as secret,
        subprocess.Popen(  # noqa: S603 # ours
            [python, "-I", "-S", "-c", _ASLEEP, CANARY],
            cwd=folder,
            env={variable: CANARY},
            stdin=secret,
            stdout=subprocess.PIPE,
            pass_fds=[secret.fileno()],
            user=user,
            group=group,
            extra_groups=None if account is None else [],
        ) as process,
    ):
        try:
            assert process.stdout is not None  # noqa: S101 # for the types
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def started(process: int) -> str:
    """When, in the kernel's words."""
    text = Path(f"/proc/{process}/stat").read_bytes()
    return text.rsplit(b")", 1)[1].split()[19].decode()


def with_word(word: str) -> list[int]:
    """Processes that were started with it among their arguments."""
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and word.encode() in _arguments(folder)
    ]


def _arguments(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def in_our_environment(variable: str) -> Iterator[None]:
    os.environ[variable] = CANARY
    try:
        yield
    finally:
        del os.environ[variable]


@contextmanager
def segment(key: int) -> Iterator[None]:
    """Shared memory that anybody on the machine may read, where there is such a thing."""
    library = ctypes.CDLL(None, use_errno=True)
    library.shmat.restype = ctypes.c_void_p
    number = library.shmget(key, 4096, _CREATE | 0o666)
    address = library.shmat(number, None, 0) if number >= 0 else None
    if address not in (None, ctypes.c_void_p(-1).value):
        ctypes.memmove(address, CANARY.encode(), len(CANARY))
        library.shmdt(ctypes.c_void_p(address))
    try:
        yield
    finally:
        library.shmctl(number, _REMOVE, None)


@contextmanager
def queue(name: str) -> Iterator[None]:
    """A queue of messages that anybody on the machine may read, where there is such a thing."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mq_open"):  # a C library of before 2021 has it elsewhere
        yield
        return
    # flags, messages, their size, how many there are, and what is reserved: the smallest there
    # can be, since an account has room for ten of the usual size, and one that was killed stays.
    smallest = (ctypes.c_long * 8)(0, 1, 1)
    opened = library.mq_open(f"/{name}".encode(), os.O_CREAT | os.O_RDWR, 0o666, smallest)
    if opened >= 0:
        os.fchmod(opened, 0o666)
        os.close(opened)
    try:
        yield
    finally:
        library.mq_unlink(f"/{name}".encode())
