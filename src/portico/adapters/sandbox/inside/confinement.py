"""What a process takes from itself, for good, before it becomes somebody else's program."""

from __future__ import annotations

import ctypes
import os
import resource
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
_CAPABILITY_VERSION: Final = 0x20080522

_LANDLOCK_CREATE: Final = 444
_LANDLOCK_ADD: Final = 445
_LANDLOCK_RESTRICT: Final = 446
_BENEATH: Final = 1
_PORT: Final = 2
_CONNECT: Final = 2
_BIND_AND_CONNECT: Final = 3
_ABSTRACT_SOCKETS_AND_SIGNALS: Final = 3

_EXECUTE, _WRITE, _READ, _READ_FOLDER = 1, 2, 4, 8
_MAKE_CHARACTER, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _CONTROL = 1 << 14, 1 << 15
_OF_FILES: Final = _EXECUTE | _WRITE | _READ | _TRUNCATE | _CONTROL
_TO_READ: Final = _EXECUTE | _READ | _READ_FOLDER


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    if _LIBC.prctl(option, *padded) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _system_call(number: int, *arguments: object) -> int:
    result = int(_LIBC.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def limit(limits: Mapping[str, int]) -> None:
    """By their names in `resource`; never more than is allowed already."""
    for name, wanted in limits.items():
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (value, value))


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def bound_privileges() -> None:
    """What could come back with a program that is started. As long as one has any."""
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:  # noqa: PTH123 # pathlib costs milliseconds at each start
        last = int(file.read())
    for number in range(last + 1):
        try:
            _prctl(_PR_CAPBSET_DROP, number)
        except PermissionError:  # an ordinary user has none that could be dropped
            break


def drop_privileges() -> None:
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if _LIBC.capset(header, nothing) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def no_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """From others of the same account."""
    _prctl(_PR_SET_DUMPABLE, 0)


def landlock_version() -> int:
    try:
        return _system_call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def landlock(rules: Mapping[str, Any]) -> None:
    """As much of it as this kernel knows; `least` is how much it has to."""
    version = landlock_version()
    if version < rules["least"]:
        raise RuntimeError(f"Landlock {version} is too old, it must be {rules['least']}")
    if version == 0:
        return
    known = _known(version)
    ports: Sequence[int] | None = rules["ports"]
    net = _BIND_AND_CONNECT if ports is not None and version >= 4 else 0
    scoped = _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _system_call(
        _LANDLOCK_CREATE, (ctypes.c_uint64 * 3)(known, net, scoped), ctypes.c_size_t(size), 0
    )
    writing = known & ~(_MAKE_CHARACTER | _MAKE_BLOCK | _CONTROL)
    _open_up(ruleset, rules["read"], _TO_READ & known)
    _open_up(ruleset, rules["write"], writing)
    _open_up(ruleset, rules["devices"], known & (_READ | _WRITE | _READ_FOLDER | _CONTROL))
    _open_up(ruleset, rules["listed"], _READ_FOLDER)
    for port in ports or () if net else ():
        rule = (ctypes.c_uint64 * 2)(_CONNECT, port)
        _system_call(_LANDLOCK_ADD, ruleset, _PORT, rule, 0)
    _system_call(_LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _known(version: int) -> int:
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return int((1 << bits) - 1)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def _open_up(ruleset: int, paths: Iterable[str], access: int) -> None:
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # not on this machine, or not for this account: nothing to be had
            continue
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rule = _Beneath(access if folder else access & _OF_FILES, descriptor)
        _system_call(_LANDLOCK_ADD, ruleset, _BENEATH, ctypes.byref(rule), 0)
        os.close(descriptor)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def seccomp(steps: bytes) -> None:
    room = ctypes.create_string_buffer(steps, len(steps))
    program = _Program(len(steps) // 8, ctypes.cast(room, ctypes.c_void_p))
    if _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
