"""What is asked of the sandbox, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from portico.kernel.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLimits:
    seconds: float = 10.0
    """Of its own work; what it waits for a function does not count, but see `whole_seconds`."""
    whole_seconds: float = 60.0
    """From its start to its end, whatever it waits for."""
    memory: int = 64_000_000
    depth: int = 200
    calls: int = 1000
    """Of functions, all together."""
    output: int = 1_000_000
    """Bytes that it may print, and bytes of its result."""


class CodeEnd(StrEnum):
    FINISHED = "finished"
    WAITING = "waiting"
    """For functions; there is a snapshot to go on from."""
    RAISED = "raised"
    """An error that it did not catch, its depth among them."""
    TOO_LONG = "too long"
    TOO_LARGE = "too large"
    """It needed more memory than it may have, its snapshot included."""
    TOO_LOUD = "too loud"
    """It printed more than it may."""
    TOO_MANY_CALLS = "too many calls"
    NOT_JSON = "not json"
    """Its result cannot be told, or is longer than it may be."""
    BROKEN = "broken"
    """What ran it came to an end; nothing else was touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call of a function that the program waits for."""

    number: int
    function: str
    arguments: Sequence[JsonValue] = ()
    named: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raised:
    """What is raised inside a program where its call has failed."""

    text: str
    kind: str = "RuntimeError"
    """An error of Python that programs tell apart; any other becomes a `RuntimeError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutcome:
    """Finished if it has no `snapshot`; failed if it has an `error`."""

    end: CodeEnd = CodeEnd.FINISHED
    result: JsonValue = None
    printed: str = ""
    """Since it was begun or taken up again."""
    error: str | None = None
    """What the program raised, or which limit it met, in a line or with its trace."""
    snapshot: bytes | None = None
    pending: Sequence[Pending] = ()
    """The calls that it waits for; of one that has finished, those that it never waited for."""


class End(StrEnum):
    EXITED = "exited"
    """By itself, with a code."""
    KILLED = "killed"
    """By a signal that was not ours."""
    TOO_LONG = "too long"
    TOO_LOUD = "too loud"
    """It wrote more than it may."""
    TOO_LARGE = "too large"
    """Its processes together had more memory than they may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    end: End
    code: int | None
    """Its exit code, or the negative number of the signal that ended it."""
    output: bytes
    errors: bytes
    """What it wrote on standard error; both together are never more than they may be."""
    seconds: float
