"""Where the members of an object stand in a text of JSON with comments."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.client_files.document import without_comments, without_last_commas

SPACE: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    key: int
    """Where its name begins."""
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Braces:
    open: int
    close: int
    members: Sequence[Member]

    def last(self, name: str) -> Member | None:
        """Of several members of one name, the last one counts."""
        return next((each for each in reversed(self.members) if each.name == name), None)


class JsonPlaces:
    """Of a text that can be read, and is an object."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = without_comments(text)
        self._plain = without_last_commas(self._bare)
        self.root = self.braces(self._skip(0))

    def braces(self, place: int) -> Braces:
        members: list[Member] = []
        at = self._skip(place + 1)
        while self._plain[at] != "}":
            name, after = _DECODER.raw_decode(self._plain, at)
            value = self._skip(after)
            end = _DECODER.raw_decode(self._plain, value)[1]
            members.append(Member(name, at, value, end))
            at = self._skip(end)
        return Braces(place, at, members)

    def at(self, names: Sequence[str]) -> Sequence[Braces]:
        """The root, and below it the object under each of the names, as far as they are there."""
        found = [self.root]
        for name in names:
            member = found[-1].last(name)
            if member is None:
                break
            found.append(self.braces(member.value))
        return found

    def member(self, names: Sequence[str]) -> tuple[Braces, Member] | None:
        """What stands under the last of the names, and the object that it stands in."""
        there = self.at(names[:-1])
        found = there[-1].last(names[-1]) if len(there) == len(names) else None
        return None if found is None else (there[-1], found)

    def comma(self, start: int, end: int) -> int | None:
        """Where there is one between two places."""
        found = self._bare.find(",", start, end)
        return None if found < 0 else found

    def blank(self, braces: Braces) -> bool:
        """Whether it holds nothing at all: no member and no comment."""
        return not self.text[braces.open + 1 : braces.close].strip(SPACE)

    def _skip(self, place: int) -> int:
        while self._plain[place] in f"{SPACE},:":
            place += 1
        return place
