"""Takes one wall of a box away, from outside of its code, to see that it was the one that held."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portico.adapters.egress.dialer import Dialer
from portico.adapters.sandbox import bubblewrap, cgroup, runner
from portico.adapters.sandbox.bubblewrap import View
from portico.adapters.sandbox.kernel_filters import Filter, assemble
from portico.adapters.sandbox.runner import Task
from portico.adapters.sandbox.sandbox_process import Descriptors
from portico.sandbox.core.probes import Backend, SandboxLayer, Situation


@dataclass(frozen=True)
class Broken:
    probe: str
    """What gets out."""
    situation: Situation | None = None
    """Where that can be seen, if not everywhere."""


WALLS: Mapping[Backend, Mapping[SandboxLayer, Broken]] = {
    Backend.BUBBLEWRAP: {
        SandboxLayer.NAMESPACES: Broken("loopback"),
        SandboxLayer.MOUNTS: Broken("see_outside"),
        SandboxLayer.LANDLOCK: Broken("signal_keeper", Situation.USER),
        SandboxLayer.SECCOMP: Broken("queued_calls"),
        SandboxLayer.LIMITS: Broken("too_many_processes"),
        SandboxLayer.ACCOUNT: Broken("become_root", Situation.ROOT),
        SandboxLayer.ENVIRONMENT: Broken("own_environment"),
        SandboxLayer.DESCRIPTORS: Broken("inherited_descriptors"),
        SandboxLayer.PROXY: Broken("proxy_to_loopback"),
        SandboxLayer.ENDING: Broken("left_daemon"),
    },
    Backend.LANDLOCK: {
        SandboxLayer.LANDLOCK: Broken("read_by_path"),
        SandboxLayer.SECCOMP: Broken("loopback_by_datagram"),
        SandboxLayer.LIMITS: Broken("too_many_processes"),
        SandboxLayer.ACCOUNT: Broken("become_root", Situation.ROOT),
        SandboxLayer.ENVIRONMENT: Broken("own_environment"),
        SandboxLayer.DESCRIPTORS: Broken("inherited_descriptors"),
        SandboxLayer.PROXY: Broken("proxy_to_loopback"),
        SandboxLayer.ENDING: Broken("left_daemon"),
    },
}
"""What gets out of each box without that wall."""

LINES: Mapping[SandboxLayer, Mapping[str, Sequence[str]]] = {
    SandboxLayer.LANDLOCK: {"launcher.py": ['yield "Landlock could not be set up"']},
    SandboxLayer.LIMITS: {"launcher.py": ['yield "its limits could not be set"']},
    SandboxLayer.ACCOUNT: {
        "launcher.py": [
            'yield "it could not bound its privileges"',
            'yield "it could not change its account"',
            'yield "it could not give up its privileges"',
        ]
    },
    SandboxLayer.DESCRIPTORS: {"launcher.py": ["_close_all_but(portico.fileno())"]},
    SandboxLayer.ENDING: {"launcher.py": ["process_reaper.end_all()"]},
}
"""What the launcher does for it: these lines do nothing any more."""


def take_away(wall: SandboxLayer, folder: Path) -> None:
    if wall in LINES:
        _launcher_without(LINES[wall], folder)
    others: Mapping[SandboxLayer, Callable[[], None]] = {
        SandboxLayer.NAMESPACES: _no_network_namespace,
        SandboxLayer.MOUNTS: _no_mounts,
        SandboxLayer.SECCOMP: _no_filter,
        SandboxLayer.LIMITS: _no_groups,
        SandboxLayer.ENVIRONMENT: _our_environment,
        SandboxLayer.PROXY: _no_gate,
        SandboxLayer.ENDING: _nobody_ends_it,
    }
    if wall in others:
        others[wall]()


def _launcher_without(lines: Mapping[str, Sequence[str]], folder: Path) -> None:
    library = folder / "launcher"
    copy = library / "portico" / "adapters" / "sandbox" / "inside"
    shutil.copytree(runner.HERE, copy)
    for name, wanted in lines.items():
        text = (copy / name).read_text()
        for line in wanted:
            assert line in text, f"{name} has no line {line!r}"
            text = "\n".join(_without(each, line) for each in text.splitlines())
        (copy / name).write_text(text)
    _set(runner, HERE=str(copy), LIBRARY=str(library))


def _without(line: str, unwanted: str) -> str:
    if unwanted not in line:
        return line
    return " " * (len(line) - len(line.lstrip())) + "pass"


def _no_network_namespace() -> None:
    user = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--disable-userns")
    root = tuple(each for each in bubblewrap._AS_ROOT if each != "--unshare-net")
    _set(bubblewrap, _AS_USER=(*user, "--cap-drop", "ALL"), _AS_ROOT=root)


def _nobody_ends_it() -> None:
    """Neither the namespace of processes, nor whoever counts them, nor the launcher."""
    _no_groups()
    user = ("--unshare-user", "--unshare-net", "--unshare-ipc", "--disable-userns")
    root = tuple(each for each in bubblewrap._AS_ROOT if each != "--unshare-pid")
    always = tuple(each for each in bubblewrap._ALWAYS if each != "--as-pid-1")
    _set(bubblewrap, _AS_USER=(*user, "--cap-drop", "ALL"), _AS_ROOT=root, _ALWAYS=always)


def _no_mounts() -> None:
    def everything(view: View, descriptors: Descriptors) -> Sequence[str]:
        return ["--dev-bind", "/", "/"]

    _set(bubblewrap, arguments=everything)
    _set(runner, LIBRARY_INSIDE=runner.LIBRARY)


def _no_filter() -> None:
    def nothing(_: Filter, machine: str) -> bytes:
        return assemble([], machine)

    _set(Filter, program=nothing)


def _no_groups() -> None:
    _set(cgroup, find_groups=lambda: None)


def _our_environment() -> None:
    told = Task.told

    def with_ours(task: Task) -> bytes:
        task.environment.update(os.environ)
        return told(task)

    _set(Task, told=with_ours)


def _no_gate() -> None:
    async def anything(_: Dialer, host: str, port: int) -> Sequence[str]:
        return [host]

    _set(Dialer, judged=anything)


def _set(owner: Any, **values: object) -> None:
    """The process ends with it."""
    for name, value in values.items():
        assert hasattr(owner, name)
        setattr(owner, name, value)
