"""Where somebody stands before they write: what their task has read there, and between which labels
they can choose."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.projects import ProjectId
from portico.bridge.taint import at_place
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import ContextNotFound
from portico.interfaces.console.desk import Desk
from portico.kernel.label import PUBLIC, Label, Level, join

_MOST: Final = 24
"""Labels to choose from; whoever is in more compartments chooses the first of them here."""


async def read_at(desk: Desk, where: ConversationId | ProjectId) -> Label:
    """What was read in the task that this conversation or project is."""
    there = at_place(desk.caller, where)
    if there.context is None:
        there = replace(there, context=context_of(there), place=None)
    try:
        return (await desk.house.bridge.talk.who_am_i(there)).mark
    except ContextNotFound:
        return PUBLIC  # nothing was read there yet


def choices_of(inside: Label, mark: Label, clearance: Label) -> tuple[Label, ...]:
    """From the least that what is written there must be to the most that its writer may read, the
    least secret first; none if that is not possible."""
    least = join([inside, mark])
    if not clearance.covers(least):
        return ()
    return tuple(dict.fromkeys(_between(least, clearance)))[:_MOST]


def lower_than(label: Label, inside: Label) -> tuple[Label, ...]:
    """What it could be lowered to, without being less secret than where it is."""
    levels = [level for level in Level if inside.level <= level <= label.level]
    fewer = [label.compartments, label.compartments & inside.compartments, inside.compartments]
    every = [Label(level, compartments) for level in levels for compartments in fewer]
    fits = [each for each in every if each != label and label.covers(each) and each.covers(inside)]
    return tuple(dict.fromkeys(fits))


def _between(least: Label, most: Label) -> Iterator[Label]:
    levels = [level for level in Level if least.level <= level <= most.level]
    for level in levels:
        yield Label(level, least.compartments)
    for more in sorted(most.compartments - least.compartments):
        for level in levels:
            yield Label(level, least.compartments | {more})
    yield most
