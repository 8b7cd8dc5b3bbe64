"""What Landlock lets a process have: everything else it does not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.adapters.sandbox import system_view
from portico.adapters.sandbox.grants import Grant
from portico.kernel.json import JsonObject

SIGNALS_SCOPED: Final = 6
"""The version from which on signals and abstract sockets are held back too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    read: Sequence[str]
    write: Sequence[str]
    devices: Sequence[str] = system_view.DEVICES
    listed: Sequence[str] = ()
    """Folders whose names may be read, and those of all folders in them."""
    ports: Sequence[int] | None = None
    """On this machine that may be connected to; None where Landlock is not asked about them."""
    least: int = 0
    """The oldest version of Landlock that will do."""

    def told(self) -> JsonObject:
        return {
            "read": list(self.read),
            "write": list(self.write),
            "devices": list(self.devices),
            "listed": list(self.listed),
            "ports": None if self.ports is None else list(self.ports),
            "least": self.least,
        }


def in_namespaces(grants: Sequence[Grant], home: str) -> Rules:
    """By the paths inside, where nothing but what was granted is there in the first place."""
    read = [*system_view.FOLDERS, "/etc", "/proc", *_paths(grants, writable=False)]
    write = ["/tmp", "/var/tmp", "/dev/shm", home, *_paths(grants, writable=True)]  # noqa: S108 # a box's own
    devices = (*system_view.DEVICES, "/dev/pts", "/dev/ptmx")
    return Rules(read=read, write=write, devices=devices, listed=["/"])


def without(grants: Sequence[Grant], home: str, scratch: str, ports: Sequence[int]) -> Rules:
    """By the paths of this machine. Of processes it may read of itself alone."""
    system = [*system_view.FOLDERS, *system_view.SETTINGS, *system_view.OF_THE_KERNEL]
    read = [*system, *_NAMES, "/proc/self", *_paths(grants, writable=False)]
    write = [scratch, home, *_paths(grants, writable=True)]
    return Rules(read=read, write=write, ports=ports, least=SIGNALS_SCOPED)


_NAMES: Final = tuple(f"/etc/{name}" for name in ("passwd", "group", "nsswitch.conf", "hosts"))


def _paths(grants: Sequence[Grant], *, writable: bool) -> Sequence[str]:
    return [each.real for each in grants if each.writable is writable]
