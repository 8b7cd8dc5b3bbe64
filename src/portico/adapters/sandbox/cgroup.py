"""A control group whose memory and processes the kernel counts, and names of resources."""

import os
import re
import secrets
import signal
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol

_NAME: Final = re.compile(r"portico-box-(?P<world>[0-9a-f]+)-(?P<process>[0-9]+)-[0-9a-z-]+")


def name_for(box: object) -> str:
    """No other box has it, not even one of a process that had our number before."""
    return f"portico-box-{_world()}-{os.getpid()}-{box}-{secrets.token_hex(4)}"


def is_left(name: str) -> bool:
    """Whether it is of a process that is gone. Of those that are numbered in another namespace,
    as in a container that shares a folder with us, nobody here knows."""
    found = _NAME.fullmatch(name)
    if found is None or found["world"] != _world():
        return False
    return not Path(f"/proc/{found['process']}").exists()


@cache
def _world() -> str:
    return f"{Path('/proc/self/ns/pid').stat().st_ino:x}"


_ROOT: Final = Path("/sys/fs/cgroup")
_PATIENCE: Final = 2.0
_LOOK: Final = 0.01


@dataclass(frozen=True, slots=True)
class Group:
    """One folder a controller in the old order, one for all in the new."""

    folders: tuple[Path, ...]
    events: Path
    """Where the kernel writes down that memory ran out."""

    def add(self, process: int) -> None:
        for folder in self.folders:
            _write(folder / "cgroup.procs", process)

    def ran_out(self) -> bool:
        """Whether somebody in it was killed for want of memory."""
        with suppress(OSError):
            words = self.events.read_text(encoding="ascii").split()
            return int(dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", "0")) > 0
        return False

    def remove(self) -> None:
        """With whoever is still in it; the dead leave it a moment after they are buried."""
        for folder in self.folders:
            deadline = time.monotonic() + _PATIENCE
            while not _removed(folder) and time.monotonic() < deadline:
                _end_all_in(folder)
                time.sleep(_LOOK)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _end_all_in(folder: Path) -> None:
    with suppress(OSError):
        for process in (folder / "cgroup.procs").read_text(encoding="ascii").split():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(process), signal.SIGKILL)


class Groups(Protocol):
    """Where groups are made."""

    def make(self, name: str, *, memory: int, processes: int) -> Group:
        """Raises `OSError`, and has made nothing then."""
        ...

    def sweep(self) -> None:
        """Removes those of processes that are gone, with whoever is in them."""
        ...


@dataclass(frozen=True, slots=True)
class OldGroups:
    """A hierarchy for each controller, as the kernel had it first."""

    memory: Path
    pids: Path

    def make(self, name: str, *, memory: int, processes: int) -> Group:
        ours = (self.memory / name, self.pids / name)
        with ExitStack() as undo:
            for folder in ours:
                folder.mkdir()
                undo.callback(_removed, folder)
            _write(ours[0] / "memory.limit_in_bytes", memory)
            with suppress(OSError):  # without an account of swap
                _write(ours[0] / "memory.memsw.limit_in_bytes", memory)
            _write(ours[1] / "pids.max", processes)
            undo.pop_all()
        return Group(ours, ours[0] / "memory.oom_control")

    def sweep(self) -> None:
        _sweep(self.memory, self.pids)


@dataclass(frozen=True, slots=True)
class NewGroups:
    folder: Path

    def make(self, name: str, *, memory: int, processes: int) -> Group:
        ours = self.folder / name
        with ExitStack() as undo:
            ours.mkdir()
            undo.callback(_removed, ours)
            _write(ours / "memory.max", memory)
            with suppress(OSError):
                _write(ours / "memory.swap.max", 0)
            with suppress(OSError):
                _write(ours / "memory.oom.group", 1)
            _write(ours / "pids.max", processes)
            undo.pop_all()
        return Group((ours,), ours / "memory.events")

    def sweep(self) -> None:
        _sweep(self.folder)


def _sweep(*places: Path) -> None:
    left = [each for place in places for each in place.iterdir() if is_left(each.name)]
    Group(tuple(left), Path(os.devnull)).remove()


def find_groups(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> Groups | None:
    """None where we may not make any. Tried out, because nothing else tells."""
    places = _places(own)
    for attempt in (_new, _old):
        groups = attempt(root, places)
        if groups is not None and _works(groups):
            groups.sweep()
            return groups
    return None


def _places(own: Path) -> dict[str, str]:
    """Where we are, by controller; the new hierarchy has no name."""
    with suppress(OSError):
        lines = own.read_text(encoding="utf-8").splitlines()
        return {line.split(":", 2)[1]: line.split(":", 2)[2] for line in lines}
    return {}


def _new(root: Path, places: dict[str, str]) -> Groups | None:
    """In a group that was given to us alone, or, as root, at the top. What has groups below it may
    not have processes itself, so we move into one of them."""
    base = root / places.get("", "/").lstrip("/")
    if not (base / "cgroup.controllers").exists() or "" not in places:
        return None
    with suppress(OSError):
        if base != root:
            _step_aside(base)
        _write(base / "cgroup.subtree_control", "+memory +pids")
        return NewGroups(base)
    return None


def _step_aside(base: Path) -> None:
    """Raises `OSError` where others than ourselves are in it: it is not ours then."""
    processes = (base / "cgroup.procs").read_text(encoding="ascii").split()
    if set(processes) - {str(os.getpid())}:
        raise PermissionError
    if processes:
        aside = base / "portico-itself"
        aside.mkdir(exist_ok=True)
        _write(aside / "cgroup.procs", os.getpid())


def _old(root: Path, places: dict[str, str]) -> Groups | None:
    folders = []
    for controller in ("memory", "pids"):
        base = root / controller / places.get(controller, "/").lstrip("/")
        if controller not in places or not base.is_dir():
            return None
        folders.append(base)
    return OldGroups(*folders)


def _works(groups: Groups) -> bool:
    try:
        groups.make(name_for("trial"), memory=1 << 24, processes=4).remove()
    except OSError:
        return False
    return True


def _write(file: Path, value: object) -> None:
    file.write_text(f"{value}\n", encoding="ascii")
