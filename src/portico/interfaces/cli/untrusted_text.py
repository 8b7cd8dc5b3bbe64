"""Text of strangers in lines of a terminal: nothing hidden, no line that looks like ours."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from portico.guard.core.policy import DANGER_WORDS
from portico.kernel.json import pointed

Told = Mapping[str, Any]

LONG: Final = 300
"""Letters of a value that nothing is said against; what is marked is never cut."""
_INDENT: Final = 9
"""Where the head of a request goes on if it is too long."""
_NAME: Final = 30
"""Letters of an argument's name that share a line with its value."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.~@$-]+")
_NARROWEST: Final = 10
"""Columns that a value has, however narrow the terminal."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """What would not be seen, or would turn the text around it, is spelt out."""
    return "".join(
        f"\\u{{{ord(letter):x}}}" if unicodedata.category(letter) in _HIDDEN else letter
        for letter in text
    )


class Line:
    """One line of a request; `loud` is what nobody may overlook."""

    __slots__ = ("loud", "text")

    def __init__(self, text: str, *, loud: bool = False) -> None:
        self.text = text
        self.loud = loud


def lines(head: str, text: str, width: int | None, *, loud: bool = False) -> Iterator[Line]:
    """What does not fit goes on below where it began."""
    indent = len(head) or _INDENT
    for number, part in enumerate(pieces(text, None if width is None else width - indent)):
        yield Line(f"{' ' * indent if number else head}{part}", loud=loud)


def column_of(names: Sequence[str], width: int | None) -> int:
    """How wide the column of names is; a name that is longer has a line of its own."""
    longest = _NAME if width is None else min(_NAME, width // 3)
    return max((each for each in map(columns, names) if each <= longest), default=0)


def argument_lines(
    request: Told, width: int | None, *, whole: bool, only: Collection[str] | None = None
) -> Iterator[Line]:
    """`only` those, by their pointers."""
    marks: dict[str, str] = {}
    for mark in request["marks"]:
        why = DANGER_WORDS.get(mark["why"], mark["why"])
        known = marks.get(mark["pointer"])
        marks[mark["pointer"]] = f"{known}, {why}" if known else why
    every = leaves_of("", request["arguments"])
    found = [each for each in every if only is None or each[0] in only]
    if not found:
        yield Line("    nothing")
    names = [_name(pointer) for pointer, _ in found]
    column = column_of(names, width)
    for name, (pointer, value) in zip(names, found, strict=True):
        reason = why_of(marks, pointer)
        yield from value_lines(
            name, column, value, reason, width, whole=whole or reason is not None
        )


def _name(pointer: str) -> str:
    """Names are somebody's words too: whatever is no plain one stands in quotes."""
    name = pointer.removeprefix("/").replace("/", ".")
    return name if _PLAIN_NAME.fullmatch(name) else json.dumps(visible(name), ensure_ascii=False)


def value_lines(
    name: str, column: int, value: str, why: str | None, width: int | None, *, whole: bool
) -> Iterator[Line]:
    """Behind a bar on every line, so that no value looks like anything but one: dotted where a
    line was only too long. What is said of it stands outside of that."""
    loud = why is not None
    rest = 0 if whole else max(0, len(value) - LONG)
    blank = " " * (column + 6)
    head = f"    {name}{' ' * (column - columns(name))}  "
    room = None if width is None else width - len(blank) - columns("│ ")
    parts = [
        f"{'┊' if number else '│'} {part}"
        for line in value[: len(value) - rest].split("\n")
        for number, part in enumerate(pieces(visible(line), room))
    ]
    mark = f"   ← {why}" if why else ""
    fits = width is None or columns(f"{blank}{parts[0]}{mark}") <= width
    if columns(name) > column or (mark and (len(parts) > 1 or not fits)):
        yield from lines("    ", f"{name}{mark}", width, loud=loud)
        head = blank
    else:
        parts[0] += mark
    for number, part in enumerate(parts):
        yield Line(f"{blank if number else head}{part}", loud=loud)
    if rest:
        yield Line(f"{blank}… and {rest:,} letters more (w shows them)")


def pieces(text: str, width: int | None) -> Sequence[str]:
    """Of at most so many columns each; of none it is one."""
    if width is None:
        return [text]
    width = max(width, _NARROWEST)
    found, used = [""], 0
    for letter in text:
        takes = columns(letter)
        if used + takes > width:
            found.append("")
            used = 0
        found[-1] += letter
        used += takes
    return found


def columns(text: str) -> int:
    """At most: what some terminals show wide counts as wide, and what some put on top of the
    letter before it counts too."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WFA" else 1 for letter in text)


def leaves_of(pointer: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 # any JSON
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from leaves_of(pointed(pointer, str(name)), each)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from leaves_of(f"{pointer}/{number}", each)
    elif pointer:
        yield pointer, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def why_of(marks: Mapping[str, str], pointer: str) -> str | None:
    """Of itself, or of what it is a part of."""
    while pointer:
        if pointer in marks:
            return marks[pointer]
        pointer = pointer.rpartition("/")[0]
    return marks.get("")
