"""Where somebody is among debates: what a person has open is a task of its own."""

from dataclasses import replace
from typing import Final

from portico.debate.core.debate import DebateId
from portico.kernel.principal import Principal, PrincipalKind

LISTS: Final = "inbox"
"""The same as on the bridge: a person who goes through lists is at one task."""
NEW: Final = "debates"
"""Where one is begun that is about no project."""


def at_debate(caller: Principal, where: DebateId | None) -> Principal:
    """A person in front of one debate, or of a list of them. Whoever says which task they are at
    stays there; and so does a program, whose task is its key, and a person whose key a model's
    window has."""
    return _at(caller, LISTS if where is None else str(where))


def at_start(caller: Principal, project: str | None) -> Principal:
    """A person who begins one has read what they have read in its project, if it has one."""
    return _at(caller, project or NEW)


def at_budget(caller: Principal, project: str) -> Principal:
    """Looking at what was spent is a task of its own: it tells of debates that were not read."""
    return _at(caller, f"budget of {project}")


def _at(caller: Principal, place: str) -> Principal:
    if caller.kind is not PrincipalKind.PERSON or caller.window or caller.context is not None:
        return caller
    return replace(caller, place=place)
