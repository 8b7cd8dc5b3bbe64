"""Rows as text, made again with other ids and at other times: so one run that was carried out
becomes thousands, each as the product has written the first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from portico.kernel.ids import Id

_STAMP: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00"
"""As PostgreSQL tells a time in UTC. What stands in JSON looks otherwise, and stays."""
NUMBER: Final = "@number@"
"""Stands for the next number of a topic that many write to."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an id stands: which one, and whether as people read it."""

    place: int
    spelled: bool


Piece = str | Slot | datetime


@dataclass(frozen=True, slots=True)
class Template:
    pieces: Sequence[Piece]

    def copied(self, ids: Sequence[UUID], back: timedelta) -> str:
        """With these ids in place of its own, and so much earlier."""
        told = [(str(each), spelled(each)) for each in ids]
        stamps: dict[datetime, str] = {}
        made: list[str] = []
        for piece in self.pieces:
            match piece:
                case str():
                    made.append(piece)
                case Slot(place, plain):
                    made.append(told[place][plain])
                case datetime():
                    if piece not in stamps:
                        stamps[piece] = (piece - back).isoformat(" ")
                    made.append(stamps[piece])
        return "".join(made)


def spelled(value: UUID) -> str:
    """Without the prefix, which is another for each kind of thing."""
    return str(Id(value)).partition("_")[2]


def template(text: str, ids: Sequence[UUID]) -> Template:
    slots: Mapping[str, Slot] = {
        **{str(each): Slot(place, spelled=False) for place, each in enumerate(ids)},
        **{spelled(each): Slot(place, spelled=True) for place, each in enumerate(ids)},
    }
    wanted = re.compile("|".join([_STAMP, *map(re.escape, slots)]))
    pieces: list[Piece] = []
    end = 0
    for found in wanted.finditer(text):
        if found.start() > end:
            pieces.append(text[end : found.start()])
        pieces.append(slots.get(found[0]) or datetime.fromisoformat(found[0]))
        end = found.end()
    return Template([*pieces, text[end:]] if end < len(text) else pieces)


def numbered(text: str, first: int) -> tuple[str, int]:
    """Each `NUMBER` in turn, and the one that comes next."""
    parts = text.split(NUMBER)
    made = [parts[0]]
    for number, part in enumerate(parts[1:], first):
        made += (str(number), part)
    return "".join(made), first + len(parts) - 1
