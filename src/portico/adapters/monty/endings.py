"""How a program has ended, told from what the interpreter says."""

from typing import Final

from pydantic_monty import (
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from portico.sandbox.core.errors import CodeRefused
from portico.sandbox.core.requests import CodeEnd

_LONGEST: Final = 4000
_UNKNOWN_SYNTAX: Final = "NotImplementedError: The monty syntax parser"


class Ended(Exception):
    """The program goes on no further, for a reason of ours."""

    def __init__(self, end: CodeEnd, reason: str) -> None:
        super().__init__(reason)
        self.end = end


def refuse_unreadable(error: MontyError) -> None:
    """Raises `CodeRefused` for what the interpreter could not even begin with."""
    words = shortened(str(error)).rstrip(".")
    if isinstance(error, MontySyntaxError):
        raise CodeRefused(words) from error
    if isinstance(error, MontyConversionError):
        raise CodeRefused(f"a value cannot be given to it: {words}") from error
    if words.startswith(_UNKNOWN_SYNTAX):
        raise CodeRefused(words.replace(_UNKNOWN_SYNTAX, "it")) from error


def told(error: MontyError) -> Ended:
    match error:
        case MontyCrashedError():
            return _crashed(error)
        case MontyRuntimeError():
            return _raised(error)
        case _:
            return Ended(CodeEnd.BROKEN, shortened(str(error)))


def shortened(text: str) -> str:
    """Its beginning and its end: a trace says what happened in its last line."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def _crashed(error: MontyCrashedError) -> Ended:
    if error.timed_out:
        return Ended(CodeEnd.TOO_LONG, "it computed for longer than it may")
    return Ended(CodeEnd.BROKEN, f"the interpreter ended: {shortened(str(error))}")


def _raised(error: MontyRuntimeError) -> Ended:
    """By its first words: a program's message may be as large as its memory, and `exception()`
    would make yet another copy of it."""
    words = shortened(str(error))
    kind, _, rest = words.partition(": ")
    if kind == "TimeoutError" and "time limit exceeded" in rest:
        return Ended(CodeEnd.TOO_LONG, words)
    if kind == "MemoryError":
        return Ended(CodeEnd.TOO_LARGE, words)
    if kind == "RuntimeError" and rest.startswith("suspension limit"):
        return Ended(CodeEnd.TOO_MANY_CALLS, words)
    return Ended(CodeEnd.RAISED, shortened(error.display()))
