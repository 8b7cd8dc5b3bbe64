"""A program, as somebody wants it to be run, and how much it may use."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from portico.gateway.core.program.errors import BadProgram
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label
from portico.sandbox.core.requests import CodeLimits

PROGRAM: Final = "program"
"""The kind of its run."""
LONGEST_CODE: Final = 100_000
"""Characters."""
_LARGEST_INPUTS: Final = 1_000_000
"""Bytes."""


class ProgramMode(StrEnum):
    AUTO = "auto"
    """Inline if all that it names only reads, else durable."""
    INLINE = "inline"
    """In this process, in memory: for reads, and gone with the process."""
    DURABLE = "durable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramWish:
    code: str
    inputs: JsonObject = field(default_factory=dict)
    """Values that it finds in variables of these names."""
    mode: ProgramMode = ProgramMode.AUTO
    key: str | None = None
    """The same key, the same run."""
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    seconds: float = 10.0
    """Of its own work, all turns together."""
    whole_seconds: float = 300.0
    """With what it waits for its calls, and without what those wait for people."""
    memory: int = 64_000_000
    depth: int = 200
    calls: int = 1_000
    output: int = 1_000_000
    """Bytes that it may print, and bytes of its result."""
    at_once: int = 32
    """Calls."""
    kept: int = 200_000_000
    """Bytes of what is written down of it while it waits, all turns together."""

    def for_turn(self, whole_left: float) -> CodeLimits:
        return CodeLimits(
            seconds=self.seconds,
            whole_seconds=max(whole_left, 0.001),
            memory=self.memory,
            depth=self.depth,
            calls=self.calls,
            output=self.output,
        )


def check(wish: ProgramWish) -> ProgramWish:
    """The same, if it can be begun. Raises `BadProgram`, and `NotCanonical` for inputs that are no
    JSON."""
    if not wish.code.strip():
        raise BadProgram("it is empty")
    if len(wish.code) > LONGEST_CODE:
        raise BadProgram(f"it is longer than {LONGEST_CODE:,} characters")
    if bad := [name for name in wish.inputs if not _variable(name)]:
        raise BadProgram(f"no variable can be called {bad[0][:80]!r}")
    if len(canonical(wish.inputs)) > _LARGEST_INPUTS:
        raise BadProgram(f"its inputs are larger than {_LARGEST_INPUTS:,} bytes")
    return wish


def _variable(name: str) -> bool:
    return name.isascii() and name.isidentifier() and "__" not in name and name != "call"
