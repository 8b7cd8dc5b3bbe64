"""A call that is thought to come next, with all its arguments, and where each of them is from."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch.forms import CallForm, EdgeKey


class Origin(StrEnum):
    WORDS = "words"
    """The caller's own."""
    CONSTANT = "constant"
    ARGUMENT = "argument"
    """Of an earlier call, wherever its caller had it from."""
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Source:
    origin: Origin
    tool: ToolPlace | None = None
    """Whose argument or result it was."""


@dataclass(frozen=True, slots=True)
class Predicted:
    form: CallForm
    arguments: JsonObject
    confidence: float
    edge: EdgeKey
    live: bool
    """Whether the record of its edge is good enough for it to be made."""
    sources: Mapping[str, AbstractSet[Source]]
    """Of each argument; a value may stand in several places."""
