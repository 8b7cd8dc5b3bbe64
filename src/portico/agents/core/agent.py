"""An agent as somebody describes it, and as it is kept."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC, Label, Level


class AgentId(Id):
    __slots__ = ()
    prefix = "agt"


TURNS: Final = 10
_USUAL: Final = Label(Level.TEAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one run; each is held before a step, and none is ever passed."""

    turns: int = TURNS
    tokens: int = 200_000
    """Of prompts and answers together, over all turns."""
    money: Decimal = Decimal(1)
    """US dollars. A model whose price nobody knows cannot be held to it, and is said to."""
    seconds: float = 600.0
    """That its turns and calls take; waiting for people does not count."""
    calls: int = 100
    """Of tools."""

    def least(self, other: "Limits") -> "Limits":
        return Limits(
            turns=min(self.turns, other.turns),
            tokens=min(self.tokens, other.tokens),
            money=min(self.money, other.money),
            seconds=min(self.seconds, other.seconds),
            calls=min(self.calls, other.calls),
        )


class ToolMode(StrEnum):
    """How a model says that it wants a tool."""

    AUTO = "auto"
    """Natively where the model can, by a form that its answer is held to where it cannot, and
    refused where it can neither."""
    NATIVE = "native"
    FORM = "form"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """What somebody writes, and what has versions."""

    name: str
    """Letters, digits, `-` and `_`: a name for a tool and for a model, too."""
    description: str = ""
    instructions: str = ""
    model: str
    """`provider:model`."""
    fallbacks: tuple[str, ...] = ()
    """Asked in this order where the one before does not answer."""
    tools: tuple[str, ...] = ()
    """Patterns, such as `files.*`; nothing else can be called. None: it has no tools."""
    tool_mode: ToolMode = ToolMode.AUTO
    limits: Limits = field(default_factory=Limits)
    most_output: int = 4_096
    """Tokens of one answer."""
    temperature: float | None = None
    label: Label = _USUAL
    """How secret it and its runs are: whoever is not cleared for it does not know of it. It is its
    clearance, too: it reads nothing above."""
    tags: tuple[str, ...] = ()
    exposed: bool = False
    """Whether it can be called as a tool, by other agents and over MCP."""

    @property
    def brings(self) -> Label:
        """How secret its runs are from their first word, beside what they are asked: as its
        instructions, where somebody has made it more secret than usual."""
        return PUBLIC if _USUAL.covers(self.label) else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    id: AgentId
    space: SpaceId
    principal: PrincipalId
    """Who it is when it calls a tool: with what whoever starts it may, and no more than this."""
    spec: AgentSpec
    version: int
    """Of the spec: one more with every change."""
    made_by: PrincipalId
    made_by_name: str
    made_at: datetime
    changed_at: datetime

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVersion:
    number: int
    spec: AgentSpec
    by: PrincipalId
    by_name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFilter:
    """What is None does not matter."""

    text: str | None = None
    """In the name or the description."""
    tag: str | None = None
    model: str | None = None
    tool: str | None = None
    """That a pattern of theirs lets them use."""
