"""How a file of JSON is written: its line ends, its indent, and which objects are on one line."""

import json
import re
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.connecting.json_places import SPACE, Braces, JsonPlaces
from portico.gateway.core.connecting.trace import newline_of
from portico.kernel.json import JsonValue

_USUAL: Final = "  "
_INDENT: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Style:
    """For what is added to one object."""

    newline: str
    unit: str
    indent: str | None
    """Before each member; None for an object on one line."""
    spaced: bool = True

    @property
    def lead(self) -> str:
        return (" " if self.spaced else "") if self.indent is None else self.newline + self.indent

    def written(self, value: JsonValue) -> str:
        if self.indent is None:
            marks = (", ", ": ") if self.spaced else (",", ":")
            return json.dumps(value, ensure_ascii=False, separators=marks)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).splitlines()
        return f"{self.newline}{self.indent}".join(lines)

    def member(self, name: str, value: JsonValue) -> str:
        between = ": " if self.spaced or self.indent is not None else ":"
        return f"{json.dumps(name, ensure_ascii=False)}{between}{self.written(value)}"


def style_in(places: JsonPlaces, braces: Braces) -> Style:
    text = places.text
    first = places.root.members[:1]
    unit = _unit(places) or ("\t" if "\n\t" in text else _USUAL)
    return Style(
        newline=newline_of(text),
        unit=unit,
        indent=_indent(places, braces, unit),
        spaced=not first or text[first[0].value - 1] in SPACE,
    )


def _unit(places: JsonPlaces) -> str:
    """By the first member of the whole that begins a line: one may stand beside the brace, or
    behind a comment."""
    text, outer = places.text, indent_of_line(places.text, places.root.open)
    indents = (_own_indent(text, each.key) for each in places.root.members)
    return next((each for each in indents if each is not None), "").removeprefix(outer)


def indent_of_line(text: str, place: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, place) + 1)
    return found[0] if found else ""


def _indent(places: JsonPlaces, braces: Braces, unit: str) -> str | None:
    text = places.text
    if braces.members and (own := _own_indent(text, braces.members[-1].key)) is not None:
        return own
    nothing_yet = not places.root.members
    within = text[braces.open : braces.close] if braces.members else text.strip(SPACE)
    several_lines = "\n" in within or nothing_yet
    return indent_of_line(text, braces.open) + unit if several_lines else None


def _own_indent(text: str, key: int) -> str | None:
    """What stands before a name that is the first on its line."""
    line = text.rfind("\n", 0, key) + 1
    before = text[line:key]
    return before if line and not before.strip(" \t") else None
