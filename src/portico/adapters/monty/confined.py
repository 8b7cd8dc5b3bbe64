"""A second wall around the interpreter's processes, for the day when the interpreter has a hole.

What a thread has given up is given up by the processes that it starts. So one thread of ours, which
does nothing but start them, keeps no files but the system's libraries and the interpreter, no
sockets, and no calls that reach other processes; all others keep what they have.
"""

import platform
import re
from pathlib import Path
from typing import Final

from portico.adapters.sandbox.inside import confinement
from portico.adapters.sandbox.landlock_rules import Rules
from portico.adapters.sandbox.seccomp import Filter
from portico.adapters.sandbox.system_calls import ARCHITECTURES
from portico.sandbox.core.errors import BoxUnavailable

_LIBRARIES: Final = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/ld.so.cache"),
    *("/nix/store", "/gnu/store", "/usr/share/zoneinfo"),
)


def confine_this_thread(interpreter: Path) -> None:
    """For good. Raises `BoxUnavailable`."""
    if not _can_be_confined():
        return
    read = (*_LIBRARIES, str(interpreter.resolve()))
    rules = Rules(read=read, write=(), devices=("/dev/null",), ports=())
    program = Filter(namespaces=False, network=False, counted=True).program(platform.machine())
    try:
        confinement.bound_privileges()
        confinement.drop_privileges()
        confinement.no_new_privileges()
        confinement.landlock(rules.told())
        confinement.seccomp(program)
    except OSError as error:
        raise BoxUnavailable(f"the interpreter cannot be confined here ({error})") from error


def must_be_confined(process: int) -> None:
    """It was started by that thread, and not by one that the pool has for itself. Raises
    `BoxUnavailable`."""
    if not _can_be_confined():
        return
    try:
        filters = _filters(str(process))
    except FileNotFoundError:  # over already
        return
    if filters <= _filters("self"):
        raise BoxUnavailable("a process of the interpreter was not confined")


def _filters(process: str) -> int:
    """How many it runs under; we ourselves may run under some, as in a container."""
    found = re.search(r"^Seccomp_filters:\s+(\d+)$", _status(process), re.MULTILINE)
    return int(found[1]) if found else int("\nSeccomp:\t2\n" in _status(process))


def _status(process: str) -> str:
    return Path(f"/proc/{process}/status").read_text()


def _can_be_confined() -> bool:
    return platform.system() == "Linux" and platform.machine() in ARCHITECTURES
