"""Metadata (`_meta`) that only Portico sets: what a server says in our name is not handed on.

A saved workflow is a tool made of others. Its definition says which tools it calls, and what it
answers to a run may be a plan that the run has to carry out itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from portico.gateway.core.call import Answer
from portico.gateway.core.tool import Definition

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


def admits(answer: Answer) -> bool:
    return answer.meta is not None and ADMITTED_META in answer.meta


def without_admission(answer: Answer) -> Answer:
    """What another server gives is never carried out, whatever it says of itself."""
    if answer.meta is None:
        return answer
    meta = {name: value for name, value in answer.meta.items() if name != ADMITTED_META}
    return replace(answer, meta=meta or None)
