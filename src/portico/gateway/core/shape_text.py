"""A learnt shape as it is told: as a schema for our own use, in one line for a model, and as it is
kept.

Of the keys only those are told that were there more than once, and not just now and then: what
stood there once may be a value of somebody's, and what is rare was perhaps put there by whoever
wrote what a tool read.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Final

from portico.gateway.core.shapes import UNSEEN, Shape, merged
from portico.kernel.json import JsonObject, JsonValue

_TWICE: Final = 2
_ONE_IN: Final = 10
_ALIKE: Final = 8
"""As many fields that are all alike, and objects, are things by their names."""
_LONGEST: Final = 600
_SHORT: Final = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "null": "null",
    UNSEEN: "any",
}


def schema_of(shape: Shape) -> JsonObject:
    """JSON Schema, of what is told of it; what may be missing is not required."""
    kinds = _kinds(shape)
    told: dict[str, JsonValue] = {}
    if UNSEEN not in kinds and kinds:
        told["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "object" in kinds:
        members, others = _told(shape)
        told["properties"] = {name: schema_of(inner) for name, inner in members.items()}
        told["required"] = [name for name in members if not _optional(shape, name)]
        if others is not None:
            told["additionalProperties"] = schema_of(others)
    if shape.items is not None:
        told["items"] = schema_of(shape.items)
    return told


def line_of(shape: Shape, longest: int = _LONGEST) -> str:
    """`{id: int, owner?: {login: str}, tags: [str]}`, as deep as there is room."""
    for depth in range(6, -1, -1):
        line = _line(shape, depth)
        if len(line) <= longest:
            return line
    return _line(shape, 0)


def shape_json(shape: Shape) -> JsonObject:
    told: dict[str, JsonValue] = {"kinds": dict(shape.kinds)}
    if shape.members:
        told["members"] = {name: shape_json(inner) for name, inner in shape.members.items()}
    if shape.others is not None:
        told["others"] = shape_json(shape.others)
    if shape.items is not None:
        told["items"] = shape_json(shape.items)
    return told | {"wide": True} if shape.wide else told


def shape_from(told: JsonValue) -> Shape:
    """Of what `shape_json` gave; whatever else stands there is nothing."""
    if not isinstance(told, Mapping):
        return Shape()
    kinds, members = told.get("kinds"), told.get("members")
    return Shape(
        {kind: times for kind, times in _each(kinds) if isinstance(times, int)},
        {name: shape_from(inner) for name, inner in _each(members)},
        shape_from(told["others"]) if "others" in told else None,
        shape_from(told["items"]) if "items" in told else None,
        told.get("wide") is True,
    )


def _each(told: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(told, Mapping):
        yield from told.items()


def _kinds(shape: Shape) -> list[str]:
    """A whole number is a number too."""
    whole = "integer" if "number" in shape.kinds else ""
    return sorted(kind for kind in shape.kinds if kind != whole)


def _told(shape: Shape) -> tuple[Mapping[str, Shape], Shape | None]:
    objects = shape.kinds.get("object", 0)
    members = {
        name: inner
        for name, inner in sorted(shape.members.items())
        if inner.times >= _TWICE and inner.times * _ONE_IN >= objects
    }
    if len(members) < _ALIKE or len({_form(inner) for inner in members.values()}) > 1:
        return members, shape.others
    every = reduce(merged, members.values())
    return ({}, every) if every.members else (members, shape.others)


def _form(shape: Shape) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(shape.kinds), frozenset(shape.members)


def _optional(shape: Shape, name: str) -> bool:
    return shape.members[name].times < shape.kinds.get("object", 0)


def _line(shape: Shape, depth: int) -> str:
    wide: Mapping[str, Callable[[], str]] = {
        "object": lambda: _fields(shape, depth),
        "array": lambda: f"[{_line(shape.items, depth - 1)}]" if shape.items and depth else "[any]",
    }
    said = [wide[kind]() if kind in wide else _SHORT[kind] for kind in _kinds(shape)]
    return "|".join(sorted(said, key=lambda each: each == "null")) or "any"


def _fields(shape: Shape, depth: int) -> str:
    members, others = _told(shape)
    if not depth or not (members or others):
        return "obj"
    told = [
        f"{name}{'?' if _optional(shape, name) else ''}: {_line(inner, depth - 1)}"
        for name, inner in members.items()
    ]
    if others is not None:
        told.append(f"*: {_line(others, depth - 1)}")
    return f"{{{', '.join(told)}}}"
