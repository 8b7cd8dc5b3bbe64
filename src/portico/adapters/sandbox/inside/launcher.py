"""The last of our own code that runs in a box: it makes the box tight, and becomes the program.

Told what to do by a file without a name; tells Portico by a socket what it has made, or in a
sentence why it could not. What runs afterwards holds none of these.

It is started for each program anew, so it imports next to nothing: `json`, `socket`, `signal` and
`typing` would each take longer than all that is done here.
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys

from portico.adapters.sandbox.inside import confinement, process_reaper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

_NOT_STARTED = 125


def main(control: int, lifeline: int, task_file: int) -> NoReturn:
    with open(task_file, "rb") as file:
        task = marshal.load(file)  # noqa: S302 # what Portico itself has just written
    os.set_inheritable(control, False)  # noqa: FBT003 # as the library has it
    process_reaper.stay_out_of_it()
    lifelines = [lifeline]
    if task["guarded"]:
        lifelines.append(_guarded(control, lifeline))
    portico = _socket.socket(fileno=control)
    _introduce(portico, task["listeners"])
    if not task["guarded"]:  # else Landlock keeps us apart, and Portico looks at what we hold
        confinement.hide_memory()
    child = os.fork()
    if child == 0:
        _become(task, portico)
    portico.close()
    _watch_over(child, lifelines, guarded=task["guarded"])


def _guarded(control: int, lifeline: int) -> int:
    """From here on there are two of us, and each ends everything should the other be gone.
    The one who was started is known outside and may be killed; the other goes on."""
    process_reaper.adopt_orphans()
    reading, writing = os.pipe()
    other = os.fork()
    if other == 0:
        os.close(writing)
        os.setsid()
        process_reaper.adopt_orphans()
        return reading
    for descriptor in (control, lifeline, reading):
        os.close(descriptor)
    _let_go_of_its_pipes()
    status = process_reaper.keep(other, [])
    process_reaper.end_all()
    os._exit(process_reaper.code_of(status))


def _introduce(portico: _socket.socket, places: list[tuple[str, int]]) -> None:
    """With what listens in here; it is accepted from outside. Then we wait for a word."""
    try:
        listeners = [_listener(host, port) for host, port in places]
    except OSError as error:
        _give_up(portico, f"nothing could listen in it: {error.strerror}")
    numbers = b"".join(each.fileno().to_bytes(4, sys.byteorder) for each in listeners)
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)] if listeners else []
    try:
        portico.sendmsg([b"here"], rights)
        answer = portico.recv(16)
    except OSError:
        answer = b""
    if answer != b"go":
        os._exit(_NOT_STARTED)
    for each in listeners:
        each.close()


def _listener(host: str, port: int) -> _socket.socket:
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    listener = _socket.socket(family, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener


def _watch_over(child: int, lifelines: list[int], *, guarded: bool) -> NoReturn:
    _let_go_of_its_pipes()
    if not guarded:  # then we are the first process of a namespace, and all others go with us
        confinement.bound_privileges()
        confinement.drop_privileges()
    status = process_reaper.keep(child, lifelines)
    if guarded:
        process_reaper.end_all()
    try:  # noqa: SIM105 # contextlib is one of those that take long
        os.write(lifelines[0], b"" if status is None else str(status).encode())
    except OSError:
        pass  # Portico is gone
    os._exit(process_reaper.code_of(status))


def _let_go_of_its_pipes() -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _become(task: dict[str, Any], portico: _socket.socket) -> NoReturn:
    doing = "it could not begin"
    try:
        os.setsid()
        _close_all_but(portico.fileno())
        for each, step in _steps(task):
            doing = each
            step()
        doing = f"the program {task['program']} could not be started"
        os.execve(task["program"], task["command"], task["environment"])  # noqa: S606 # what it is for
    except BaseException as error:  # noqa: BLE001 # whatever it is, Portico has to hear of it
        reason = error.strerror if isinstance(error, OSError) else str(error)
        _give_up(portico, f"{doing}: {reason}")


def _give_up(portico: _socket.socket, reason: str) -> NoReturn:
    try:
        portico.send(reason.encode()[:4000])
    finally:
        os._exit(_NOT_STARTED)


def _steps(task: dict[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is tried, in words for when it fails. Whoever changes his account forgets whose death
    was to be his own, and a filter of system calls bars what comes before it."""
    yield "its limits could not be set", lambda: confinement.limit(task["limits"])
    yield "it could not bound its privileges", confinement.bound_privileges
    if task["account"]:
        yield "it could not change its account", lambda: confinement.become(*task["account"])
    yield "it could not give up its privileges", confinement.drop_privileges
    yield "it could not renounce privileges", confinement.no_new_privileges
    yield "it could not be tied to its keeper", process_reaper.die_with_parent
    yield "its folder could not be entered", lambda: os.chdir(task["folder"])
    yield "Landlock could not be set up", lambda: confinement.landlock(task["landlock"])
    yield "its signals could not be set", process_reaper.be_spoken_to
    yield "seccomp could not be set up", lambda: confinement.seccomp(task["seccomp"])


def _close_all_but(kept: int) -> None:
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, kept)
    os.closerange(kept + 1, most)
