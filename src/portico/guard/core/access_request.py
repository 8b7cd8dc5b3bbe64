"""An access request: an act on a target, with the hash that an approval is bound to."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from portico.kernel.effect import Effect
from portico.kernel.ids import ContextId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal


class Action(StrEnum):
    CALL = "call"
    READ_RESOURCE = "read_resource"
    GET_PROMPT = "get_prompt"
    COMPLETE = "complete"
    DECLASSIFY = "declassify"
    """Of something on the bridge, for readers who are cleared for less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTarget:
    """What it is done to. `effect` is what an operator has accepted, for exactly this pin."""

    tool: str
    """`server.tool`; of a resource or a prompt what stands for it in lists of tools."""
    server: str
    effect: Effect
    pin: str
    launch: str = ""
    """How its server is started, as it was accepted: another one by the same name is another."""
    live: bool = True
    """Approved, as it is now; whatever else is false, nothing goes there."""
    label: Label = PUBLIC
    """What its results carry."""
    clearance: Label = PUBLIC
    """The most that may be sent to it."""
    trusted: bool = False
    """An operator has said that its results are no stranger's words."""
    outside: bool = False
    """What it is given leaves this machine or may, however little it changes."""
    here: bool = True
    """Its server is a process of ours: what it changes, others that run here may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    caller: Principal
    action: Action = Action.CALL
    target: ActionTarget
    arguments: JsonObject = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """What an approval is bound to: tool, arguments, principal and pins, and nothing else."""
        whole: list[JsonValue] = [
            str(self.action),
            self.target.tool,
            self.arguments,
            str(self.caller.space),
            str(self.caller.id),
            self.target.pin,
            self.target.launch,
        ]
        return hashlib.sha256(canonical(whole)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintContext:
    """What has been read in a task so far; it only ever rises."""

    id: ContextId
    label: Label = PUBLIC
    untrusted: bool = False
    """Somebody's words have been read who is not the user: a tool's, a page's, another agent's."""


@dataclass(frozen=True, slots=True)
class Allowed:
    rule: str
    """What decided: the name of a rule somebody made, or of a default, as `default:reads`."""
    reason: str


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Denied:
    rule: str
    reason: str


Decision = Allowed | NeedsApproval | Denied
