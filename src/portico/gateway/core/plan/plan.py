"""A plan: calls of tools that depend on one another, as somebody wrote them down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from portico.gateway.core.tool import ToolRef
from portico.kernel.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Reference:
    """`{"$from": "read.content[0].text"}`: what an earlier step gave, or a part of it."""

    step: str
    """Or `inputs`, or inside a `for_each` `item` and `index`."""
    path: str = ""
    """JMESPath into what it gave; all of it if empty."""
    default: JsonValue = None
    has_default: bool = False
    """Otherwise a path to nothing is a fault, and a step that gave nothing is a reason to skip."""

    def __str__(self) -> str:
        joint = "." if self.path and not self.path.startswith("[") else ""
        return f"{self.step}{joint}{self.path}"


@dataclass(frozen=True, slots=True)
class Template:
    """`{"$text": "Dear ${who.json.name}, …"}`: texts and references in turn."""

    parts: Sequence[str | Reference]


Given: TypeAlias = "JsonValue | Reference | Template | Sequence[Given] | Mapping[str, Given]"
"""What an argument says: JSON in which references and templates stand anywhere."""


class OnError(StrEnum):
    STOP = "stop"
    """Nothing else is begun; what is under way ends."""
    SKIP = "skip"
    """Only what needs this is left out."""
    FALLBACK = "fallback"
    """Another step stands in, and what it gives is what this one would have given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach:
    """Once for each item of a list; `item` and `index` are at hand in its arguments."""

    over: Given
    at_once: int = 8
    most: int = 100
    """More items than this are a fault, not a surprise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    id: str
    tool: ToolRef
    arguments: Mapping[str, Given] = field(default_factory=dict)
    after: Sequence[str] = ()
    """Only once these are over, however they ended."""
    when: str | None = None
    """JMESPath over everything that earlier steps gave, by their ids; false, null or empty: not."""
    for_each: ForEach | None = None
    on_error: OnError = OnError.STOP
    fallback: str | None = None
    """The step that stands in; it is not begun but for that."""
    timeout: timedelta | None = None
    tries: int = 1
    """Of a read, with growing pauses; whatever may change something is tried once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: Sequence[Step]
    name: str | None = None
    description: str | None = None
    inputs: JsonObject = field(default_factory=dict)
    """JSON Schema of its parameters by name, for a plan that is saved or run with values."""
    required: Sequence[str] = ()
    output: Given = None
    """What it gives in the end; without one, what its last steps gave."""
    has_output: bool = False

    def step(self, name: str) -> Step:
        """Raises `KeyError`."""
        return {step.id: step for step in self.steps}[name]
