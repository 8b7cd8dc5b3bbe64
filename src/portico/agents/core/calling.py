"""Tools as a model is shown them, the calls that it wants, and what they come to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.agents.core.agent import Agent
from portico.agents.core.arguments import read_arguments
from portico.agents.core.asking import ToolShown
from portico.agents.core.message import UNREADABLE, ToolCall
from portico.kernel.durable import Durable
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

SEARCH: Final = "search_tools"
CALL: Final = "call_tool"
"""What a model is shown where its tools are too many to be shown themselves: the second takes
`tool` and `arguments`."""


def inner_arguments(call: ToolCall) -> JsonObject:
    """What the tool is given that a call of `call_tool` names. Small models write it as a text."""
    match call.arguments.get("arguments", {}):
        case Mapping() as arguments:
            return arguments
        case str(text):
            return read_arguments(text) or {UNREADABLE: text}
        case other:
            return {UNREADABLE: json.dumps(other)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """In whose name one leg of a run calls tools: the agent, with what its starter may."""

    durable: Durable
    agent: Agent
    caller: Principal
    """The agent's principal, narrowed, in the task of this run."""
    label: Label
    """Of the run, as the engine knows it."""
    stopping: bool = False
    """What was begun comes to its end, and nothing more is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A call that a model wants made."""

    turn: int
    place: int
    call: ToolCall
    tool: str
    """`server.tool`, or `search_tools`."""
    arguments: JsonObject

    @property
    def step(self) -> str:
        """The name of its durable step."""
        return f"call-{self.turn}-{self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a call came to, in words for a model."""

    text: str
    failed: bool = False
    code: str | None = None
    """Of why it failed, where that is ours to say."""
    approval: ApprovalId | None = None
    label: Label


@dataclass(frozen=True, slots=True)
class Early:
    """What a read gave that was begun while the model was still speaking."""

    given: Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a model is shown of the tools that it may use."""

    shown: Sequence[ToolShown] = ()
    names: Mapping[str, str]
    """`server.tool` by the name that the model is shown."""
    searched: bool = False
    """Whether there are more than are shown, behind a search."""

    def aimed_at(self, call: ToolCall) -> tuple[str, JsonObject] | None:
        """The tool that a call means, and what that is given: itself, or by way of `call_tool`.
        None for a name that was never shown, and for a call that names nothing."""
        if call.name in self.names:
            return self.names[call.name], call.arguments
        if not self.searched:
            return None
        if call.name == SEARCH:
            return SEARCH, call.arguments
        tool = call.arguments.get("tool") if call.name == CALL else None
        return (tool, inner_arguments(call)) if isinstance(tool, str) else None
