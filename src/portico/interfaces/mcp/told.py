"""What a tool answers: a text for whoever reads, and the same as an object for programs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from portico.interfaces.mcp.answers import Result, text_result

Facts: TypeAlias = Mapping[str, Any]
"""As JSON."""


@dataclass(frozen=True, slots=True)
class Told:
    text: str
    facts: Facts

    def as_result(self) -> Result:
        return {**text_result(self.text), "structuredContent": dict(self.facts)}


def lines(*parts: str | Iterable[str]) -> str:
    """Those that say something, one below the other."""
    each = [[part] if isinstance(part, str) else part for part in parts]
    return "\n".join(line for several in each for line in several if line)


def quoted(text: str) -> str:
    """Set in, so that nobody's words can be taken for ours."""
    return "\n".join(f"  {line}" for line in text.splitlines())
