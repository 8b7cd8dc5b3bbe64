"""What is said in a run: by people, by the model, by tools."""

from dataclasses import dataclass
from typing import Final, Self

from portico.kernel.json import JsonObject, JsonValue

UNREADABLE: Final = "~unreadable"
"""The only argument of a call whose arguments are no JSON object: what the model wrote."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    """The model's own; no two calls of a run have the same."""
    name: str
    """As the model was shown the tool."""
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class UserSaid:
    text: str


@dataclass(frozen=True, slots=True)
class ModelSaid:
    text: str
    calls: tuple[ToolCall, ...] = ()
    kept: JsonValue = None
    """What the model's own server wants back with it, word for word; opaque to everybody else."""

    @classmethod
    def nothing(cls) -> Self:
        return cls("")


@dataclass(frozen=True, slots=True)
class ToolGave:
    call: str
    """The id of the call that this answers."""
    name: str
    text: str
    failed: bool = False


Message = UserSaid | ModelSaid | ToolGave
