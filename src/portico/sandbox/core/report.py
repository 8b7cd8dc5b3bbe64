"""What a box of this machine holds back, as it was found out by trying."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Backend(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    """Namespaces, and in them Landlock, seccomp and limits."""
    LANDLOCK = "landlock"
    """Landlock, seccomp and limits alone, where there are no user namespaces."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt to get out, made from inside."""

    name: str
    held: bool
    detail: str
    """What came of it, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Of one backend; `portico doctor` and `portico status` show it."""

    backend: Backend
    probes: Sequence[Probe] = ()
    missing: str | None = None
    """Why it cannot be used here, if it cannot: a program, a part of the kernel."""
    fix: str | None = None
    cgroup: bool = False
    """Whether memory and processes are counted by the kernel for all of a box together."""

    @property
    def escapes(self) -> Sequence[Probe]:
        return [probe for probe in self.probes if not probe.held]

    @property
    def offered(self) -> bool:
        """A box that lets one thing through, or that was not tried, is none."""
        return self.missing is None and bool(self.probes) and not self.escapes
