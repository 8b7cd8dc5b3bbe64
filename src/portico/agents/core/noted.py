"""What the journal notes of a turn: numbers, codes and names of tools, and no word of what was
said, since whoever may see runs may not read what they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from portico.agents.core.calling import inner_arguments
from portico.agents.core.message import ToolCall
from portico.agents.core.message_json import object_of
from portico.kernel.json import JsonObject, JsonValue

TURN: Final = "turn-"
"""How the step of a turn is called, with its number behind."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Which tool a call means."""

    tool: str
    inside: bool = False
    """Whether what the tool is given stands in the call's own `arguments`."""

    def arguments(self, call: ToolCall) -> JsonObject:
        return inner_arguments(call) if self.inside else call.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNoted:
    aims: tuple[Aim | None, ...] = ()
    """Of each call; None for one that means no tool that the model was shown."""
    lost: int = 0
    """Reads that were begun early for an answer that then came to nothing."""
    stopped: bool = False
    error: str | None = None
    """The code of why there is no such turn."""

    def as_json(self) -> JsonObject:
        return {
            "aims": [None if aim is None else [aim.tool, aim.inside] for aim in self.aims],
            "lost": self.lost,
            "stopped": self.stopped,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> Self:
        noted = object_of(value)
        error = noted.get("error")
        return cls(
            aims=tuple(_aim(each) for each in _list(noted.get("aims"))),
            lost=int(str(noted.get("lost", 0))),
            stopped=noted.get("stopped") is True,
            error=error if isinstance(error, str) else None,
        )


def _aim(value: JsonValue) -> Aim | None:
    match _list(value):
        case [str(tool), bool(inside)]:
            return Aim(tool, inside)
        case _:
            return None


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else ()
