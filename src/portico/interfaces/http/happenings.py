"""What happens in a run of an agent, as it is sent: a name, and its facts in JSON."""

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from portico.agents.core.events import (
    Happening,
    Heard,
    Noted,
    RunEnded,
    TextAdded,
    ThoughtAdded,
    ToolBegan,
    ToolEnded,
    ToolWaits,
    TurnBegan,
    TurnEnded,
)
from portico.agents.core.model_requests import Usage
from portico.kernel.ids import Id

NAMES: Final[dict[type[Happening], str]] = {
    TurnBegan: "turn.began",
    TextAdded: "text.added",
    ThoughtAdded: "thought.added",
    ToolBegan: "tool.began",
    ToolWaits: "tool.waits",
    ToolEnded: "tool.ended",
    TurnEnded: "turn.ended",
    Heard: "message.heard",
    Noted: "noted",
    RunEnded: "run.ended",
}


def happening_json(happening: Happening) -> dict[str, Any]:
    return {each.name: _plain(getattr(happening, each.name)) for each in fields(happening)}


def usage_json(usage: Usage) -> dict[str, Any]:
    return {each.name: getattr(usage, each.name) for each in fields(usage)}


def _plain(value: object) -> object:
    """Money is a text: no float is an exact amount."""
    match value:
        case Usage():
            return usage_json(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case Id():
            return str(value)
        case Enum():
            return value.value
        case tuple():
            return list(value)
        case _:
            return value
