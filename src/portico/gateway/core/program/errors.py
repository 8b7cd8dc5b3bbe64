"""What is refused of a program, and how one can fail.

PorticoError
├── BadProgram      too long, empty, or inputs that it could not name
└── ProgramFailed   an error that it did not catch, or a limit that it met
"""

from portico.kernel.errors import Kind, PorticoError


class BadProgram(PorticoError):
    kind = Kind.INVALID
    code = "bad_program"
    title = "Not a program that can be run"
    fix = "Send a small Python program; inputs are named like its variables."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The program cannot be begun: {reason}.")
        self.reason = reason


class ProgramFailed(PorticoError):
    """Only the kind of its end: what it said is its caller's alone, and kept with its output."""

    kind = Kind.INVALID
    code = "program_failed"
    title = "The program failed"
    fix = "Its report says what it raised, or which limit it met."

    def __init__(self, end: str) -> None:
        super().__init__(f"The program ended before it was done: {end}.")
        self.end = end
