"""What only this door refuses.

PorticoError
├── NoSuchDebateTool   none of this door's
└── BadDebateInput     what a tool was called with is not what it takes
"""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.debate.core.errors import (
    DebateNotFound,
    NoVoices,
    PersonaNotFound,
    VoiceNotFound,
)
from portico.kernel.errors import Flaw, Kind, PorticoError

_FIXES: Final[Mapping[str, str]] = {
    DebateNotFound.code: "`debate_status` without `debate` lists those that you may read.",
    VoiceNotFound.code: "`debate_status` without `debate` says who can be asked.",
    NoVoices.code: "`debate_status` without `debate` says who is there; name others in `voices`.",
    PersonaNotFound.code: "`debate_status` without `debate` says which personas there are.",
}
"""Where an error's own words are for a person with a command line."""


def for_a_model(error: PorticoError) -> PorticoError:
    """The same, mended with what there is at this door."""
    error.fix = _FIXES.get(error.code, error.fix)
    return error


class NoSuchDebateTool(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_debate_tool"
    title = "Debates have no such tool"
    fix = "List the tools of this door; those of the gateway are at /mcp."

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no tool {name[:80]!r} here.")


class BadDebateInput(PorticoError):
    kind = Kind.INVALID
    code = "bad_debate_input"
    title = "Not as it should be"
    fix = "Mend each of the fields that are named."

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        told = "; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws)
        super().__init__(f"This cannot be taken as it is: {told.rstrip('.')}.")
        self.flaws = tuple(flaws)
