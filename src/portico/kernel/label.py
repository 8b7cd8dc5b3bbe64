"""How secret something is, and who may read or write it.

A label is a level and a set of compartments. Labels form a lattice: `join` is the least label
that covers both. A clearance is a label too: the most that its holder may read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import reduce
from typing import Final, Self

from portico.kernel.errors import Kind, PorticoError

_COMPARTMENT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class Level(IntEnum):
    PUBLIC = 0
    TEAM = 1
    CONFIDENTIAL = 2
    RESTRICTED = 3

    def __str__(self) -> str:
        return self.name.lower()


class InvalidLabel(PorticoError):
    kind = Kind.INVALID
    code = "bad_label"
    type_name = "BadLabel"
    title = "Not a label"
    fix = "Write a level (public, team, confidential, restricted) and compartments: team+finance."

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} is not a label.")
        self.text = text


@dataclass(frozen=True, slots=True)
class Label:
    level: Level
    compartments: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `confidential+finance+legal`, the spelling that `str` gives."""
        name, *compartments = text.split("+")
        if name not in LEVELS or not all(map(_COMPARTMENT.fullmatch, compartments)):
            raise InvalidLabel(text)
        return cls(LEVELS[name], frozenset(compartments))

    def covers(self, other: "Label") -> bool:
        return self.level >= other.level and self.compartments >= other.compartments

    def __str__(self) -> str:
        return "+".join([str(self.level), *sorted(self.compartments)])


LEVELS: Final = {str(level): level for level in Level}
PUBLIC: Final = Label(Level.PUBLIC)


def join(labels: Iterable[Label]) -> Label:
    """The least label that covers all of them; of none, public."""
    return reduce(_join, labels, PUBLIC)


def meet(one: Label, other: Label) -> Label:
    """The greatest label that both cover: what a key may see of what its holder may."""
    return Label(min(one.level, other.level), one.compartments & other.compartments)


def may_read(clearance: Label, label: Label) -> bool:
    return clearance.covers(label)


def may_write(clearance: Label, context: Label, label: Label) -> bool:
    """Not below what was read in this task (`context`), and not above the writer's clearance."""
    return label.covers(context) and clearance.covers(label)


def _join(one: Label, other: Label) -> Label:
    return Label(max(one.level, other.level), one.compartments | other.compartments)
