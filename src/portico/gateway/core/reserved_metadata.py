"""Metadata (`_meta`) that only Portico sets: what a server says in our name is not handed on."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from portico.gateway.core.calls import ToolResult
from portico.gateway.core.catalog_snapshot import Definition

# A saved workflow is a tool made of others. Its definition says which tools it calls, and what it
# answers to a run may be a plan that the run has to carry out itself.

USES_META: Final = "portico/uses"
"""Whoever may not know of one of these tools may not know of the workflow."""
ADMITTED_META: Final = "portico/admitted"
MOST_DEEP: Final = 3
"""How many saved workflows may stand inside one another."""


def used_by(definition: Definition) -> Sequence[str]:
    """The tools that one calls, as the tool that it is says."""
    match definition.raw.get("_meta"):
        case {"portico/uses": [*tools]}:
            return [str(tool) for tool in tools]
        case _:
            return []


def admits(answer: ToolResult) -> bool:
    return answer.meta is not None and ADMITTED_META in answer.meta


def without_admission(answer: ToolResult) -> ToolResult:
    """What another server gives is never carried out, whatever it says of itself."""
    if answer.meta is None:
        return answer
    meta = {name: value for name, value in answer.meta.items() if name != ADMITTED_META}
    return replace(answer, meta=meta or None)


AHEAD: Final = "portico/ahead"


def marked(answer: ToolResult, age: timedelta) -> ToolResult:
    told = {AHEAD: {"age_ms": round(age.total_seconds() * 1000)}}
    return replace(answer, meta={**(answer.meta or {}), **told})


def is_marked(answer: ToolResult) -> bool:
    return answer.meta is not None and AHEAD in answer.meta


def age_ms(answer: ToolResult) -> int | None:
    """None of one that was not read ahead."""
    match (answer.meta or {}).get(AHEAD):
        case {"age_ms": int(age)}:
            return age
        case _:
            return None


def unmarked(answer: ToolResult) -> ToolResult:
    """What a server says of itself in our name is not handed on."""
    if not is_marked(answer):
        return answer
    meta = {name: value for name, value in (answer.meta or {}).items() if name != AHEAD}
    return replace(answer, meta=meta or None)
