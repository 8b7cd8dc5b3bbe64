"""A step as far as edges are concerned: what it gives, what it still wants, what it was told."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_KEYS: Final = re.compile(r"\"((?:[^\"\\]|\\.)+)\"|([A-Za-z_][A-Za-z0-9_]*)")
_ROOTS: Final = frozenset({"json", "content", "structuredContent", "text", "items"})
"""What every step's document has: they say nothing about this one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputField:
    """One thing that a step gives."""

    path: str
    """JMESPath into the step's document: `json.items[0].id`."""
    type: str | None = None
    """As JSON Schema names it; none if it is not known."""
    description: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """`("owner", "id")` of `json.owner.id`: without what every document has."""
        found = [quoted or plain for quoted, plain in _KEYS.findall(self.path)]
        while len(found) > 1 and found[0] in _ROOTS:
            del found[0]
        return tuple(found)

    @property
    def name(self) -> str:
        return self.keys[-1] if self.keys else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    type: str | None = None
    description: str = ""
    required: bool = False
    choice: bool = False
    """One of a few values that are listed, or yes and no."""
    default: bool = False
    """It can be left out, and then it is known what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShape:
    step: str
    tool: str
    description: str = ""
    """Of the tool: it stands in for a field's that has none."""
    outputs: Sequence[OutputField] = ()
    wanted: Sequence[Parameter] = ()
    """The parameters that nothing was said about: what edges are sought for."""
    given: frozenset[str] = frozenset()
    """The names of those that have a value or a reference."""
