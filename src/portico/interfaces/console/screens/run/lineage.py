"""What a step is given, as it is read: JSON in which every value that comes from an earlier step
says from where."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from portico.kernel.json import JsonObject, JsonValue
from portico.workflows.core.plan import (
    RESERVED,
    Reference,
    Template,
    Unreadable,
    read_reference,
    read_template,
)

_MOST_LINES: Final = 200
_LONGEST: Final = 600
"""Characters of one text."""


class Look(StrEnum):
    PLAIN = "plain"
    NAME = "name"
    TEXT = "text"
    VALUE = "value"
    FROM = "from"


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    look: Look = Look.PLAIN
    step: str | None = None
    """The step that it comes from, if it is one of the plan."""


Line = Sequence[Piece]


@dataclass(frozen=True, slots=True)
class Lines:
    lines: Sequence[Line]
    cut: bool = False
    """Whether there is more than is shown."""


def lined(value: JsonValue) -> Lines:
    lines: list[list[Piece]] = [[]]
    for piece in _pieces(value, 0):
        if piece is None:
            if len(lines) == _MOST_LINES:
                return Lines(lines, cut=True)
            lines.append([])
        else:
            lines[-1].append(piece)
    return Lines(lines)


def steps_in(value: JsonValue) -> Sequence[str]:
    """The steps that something refers to, each once."""
    found = (piece.step for piece in _pieces(value, 0) if piece is not None)
    return [*dict.fromkeys(step for step in found if step is not None)]


def _pieces(value: JsonValue, depth: int) -> Iterator[Piece | None]:
    """None is the end of a line."""
    if isinstance(value, Mapping):
        yield from _mapped(value, depth)
    elif isinstance(value, str):
        yield Piece(_quoted(value), Look.TEXT)
    elif isinstance(value, Sequence) and value:
        yield from _items(value, depth)
    else:
        yield Piece(json.dumps(value, ensure_ascii=False), Look.VALUE)


def _mapped(value: JsonObject, depth: int) -> Iterator[Piece | None]:
    source, text = value.get("$from"), value.get("$text")
    if isinstance(source, str) and not value.keys() - {"$from", "default"}:
        yield from _reference(source, value)
    elif isinstance(text, str) and len(value) == 1:
        yield from _template(text)
    elif value:
        yield from _members(value, depth)
    else:
        yield Piece("{}", Look.VALUE)


def _members(value: JsonObject, depth: int) -> Iterator[Piece | None]:
    yield Piece("{")
    for number, (name, item) in enumerate(value.items(), 1):
        yield None
        yield Piece("  " * (depth + 1))
        yield Piece(json.dumps(name, ensure_ascii=False), Look.NAME)
        yield Piece(": ")
        yield from _pieces(item, depth + 1)
        if number < len(value):
            yield Piece(",")
    yield None
    yield Piece("  " * depth + "}")


def _items(value: Sequence[JsonValue], depth: int) -> Iterator[Piece | None]:
    """On one line where they are few and simple."""
    simple = not any(isinstance(item, Mapping | list | tuple) for item in value)
    flat = simple and sum(len(str(item)) for item in value) < 40
    yield Piece("[")
    for number, item in enumerate(value, 1):
        if not flat:
            yield None
            yield Piece("  " * (depth + 1))
        yield from _pieces(item, depth + 1)
        if number < len(value):
            yield Piece(", " if flat else ",")
    if not flat:
        yield None
        yield Piece("  " * depth)
    yield Piece("]")


def _reference(text: str, more: JsonObject) -> Iterator[Piece]:
    try:
        reference = read_reference(text)
    except Unreadable:
        yield Piece(f"← {text[:_LONGEST]}", Look.FROM)
        return
    yield Piece(f"← {reference}", Look.FROM, _step(reference))
    if "default" in more:
        default = json.dumps(more["default"], ensure_ascii=False)[:_LONGEST]
        yield Piece(f" or {default}", Look.VALUE)


def _template(text: str) -> Iterator[Piece]:
    try:
        template = read_template(text)
    except Unreadable:
        template = Template((text,))
    yield Piece('"', Look.TEXT)
    for part in template.parts:
        if isinstance(part, Reference):
            yield Piece(f"← {part}", Look.FROM, _step(part))
        else:
            yield Piece(_quoted(part)[1:-1], Look.TEXT)
    yield Piece('"', Look.TEXT)


def _step(reference: Reference) -> str | None:
    return None if reference.step in RESERVED else reference.step


def _quoted(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return json.dumps(short, ensure_ascii=False)
