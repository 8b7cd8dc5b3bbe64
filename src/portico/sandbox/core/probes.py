"""What is tried of a box, and what we say of it beforehand: held, or not held and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from portico.sandbox.core.report import Backend


class Layer(StrEnum):
    """One of the walls of a box; each holds by itself what it is there for."""

    NAMESPACES = "namespaces"
    MOUNTS = "mounts"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    LIMITS = "limits"
    ACCOUNT = "account"
    """Whose rights it has, and that it gains no others."""
    ENVIRONMENT = "environment"
    DESCRIPTORS = "descriptors"
    PROXY = "proxy"
    ENDING = "ending"
    """That a box is ended as a whole."""


class Situation(StrEnum):
    ROOT = "root"
    """Portico itself runs as root, and things in the box as another account."""
    USER = "user"
    NO_NAMESPACES = "no user namespaces"
    """A user whom the kernel does not let have any, as in many containers."""


class Manner(StrEnum):
    """How an attempt is made."""

    TOGETHER = "together"
    """One after the other, in one box."""
    PROXIED = "proxied"
    """Likewise, in a box with a way to the network."""
    ALONE = "alone"
    """In a box of its own, which is ended for it, or which is looked at from outside."""


class Verdict(StrEnum):
    HELD = "held"
    OPEN = "not held"
    ABSENT = "not there"
    """There is no such box in this situation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt to get out, before it was made."""

    name: str
    sentence: str
    """What is tried, for whoever reads the table."""
    walls: Mapping[Backend, Layer]
    """What it meets first."""
    quick: bool = False
    """Whether it is made at every start of Portico: it tells that a wall stands."""
    manner: Manner = Manner.TOGETHER
    open_in: Mapping[Backend, str] = field(default_factory=dict)
    """Where it is not held, and what that means."""

    def declared(self, backend: Backend, situation: Situation) -> Verdict:
        if backend is Backend.BUBBLEWRAP and situation is Situation.NO_NAMESPACES:
            return Verdict.ABSENT
        return Verdict.OPEN if backend in self.open_in else Verdict.HELD


def to_hold(
    trials: Sequence[Trial], backend: Backend, situation: Situation, *, quick: bool
) -> Sequence[Trial]:
    """Those that decide whether a box is offered: what is said to be open does not."""
    return [
        trial
        for trial in trials
        if trial.declared(backend, situation) is Verdict.HELD and (trial.quick or not quick)
    ]
