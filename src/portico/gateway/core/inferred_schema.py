"""Schemas inferred from results, where a server declares none."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from typing import Final

from portico.gateway.core.client_config_values import looks_secret
from portico.gateway.core.servers import ServerId
from portico.kernel.json import JsonObject, JsonValue

_LONGEST: Final = 40
_FIELD: Final = re.compile(r"[^\W\d][\w$-]{0,39}|[_$@][\w$-]{1,39}")
_MANY_DIGITS: Final = re.compile(r"[0-9]{4}|[0-9a-fA-F]{12}")
_WORD: Final = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+|[0-9]+")
_WORDS_ALONE: Final = re.compile(r"[_$]?[A-Za-z]{1,20}(?:[_-][A-Za-z]{1,20}){0,4}")
"""Most are: no secret is recognized by its form without a number in it."""
_MOST_WORDS: Final = 6
"""A server could write a sentence to whoever reads them; a name of a field is not as long."""


def names_a_field(key: str) -> bool:
    """Short, a few words, no numbers of things, no addresses, nothing that could be a secret. What
    is let go by mistake only makes a shape poorer."""
    if _WORDS_ALONE.fullmatch(key) and len(key) <= _LONGEST and key.islower():
        return True
    return (
        _FIELD.fullmatch(key) is not None
        and _MANY_DIGITS.search(key) is None
        and len(_WORD.findall(key)) <= _MOST_WORDS
        and not looks_secret(key)
    )


# What a tool's results look like: learnt from them, of keys and types alone, never of a value.
#
# Shapes are put together in any order, by any process, and come out the same; only where one
# becomes larger than is kept of it may what is cut off depend on when.

DEEPEST: Final = 6
WIDEST: Final = 64
"""Fields of one object, over all results; more are no fields but data."""
MOST: Final = 400
"""Places of a shape that is kept."""
_ITEMS: Final = 16
_LOOKED_AT: Final = 2_000
"""Places of one result that are looked into."""

UNSEEN: Final = "unseen"
"""The kind of what was not looked into: too deep, or beyond what is looked at of one result."""


@dataclass(frozen=True, slots=True)
class InferredSchema:
    """Of all values that stood in one place."""

    kinds: Mapping[str, int] = field(default_factory=dict)
    """How many were of which type, as JSON Schema calls it."""
    members: Mapping[str, "InferredSchema"] = field(default_factory=dict)
    others: "InferredSchema | None" = None
    """Of what stood under keys that are data."""
    items: "InferredSchema | None" = None
    wide: bool = False
    """Had so many keys that they are all taken for data."""

    @property
    def times(self) -> int:
        return sum(self.kinds.values())

    @property
    def size(self) -> int:
        return 1 + sum(inner.size for inner in self.inner())

    def inner(self) -> Iterator["InferredSchema"]:
        yield from self.members.values()
        yield from (each for each in (self.others, self.items) if each is not None)


def shape_of(value: JsonValue) -> InferredSchema:
    """Of one result."""
    return _fit(_looked_at(value, 0, [_LOOKED_AT]))


def merged(one: InferredSchema, other: InferredSchema) -> InferredSchema:
    return _fit(_merged(one, other))


def _looked_at(value: JsonValue, depth: int, left: list[int]) -> InferredSchema:
    kind = _kind(value)
    if kind not in {"object", "array"}:
        return InferredSchema({kind: 1})
    left[0] -= 1
    if depth >= DEEPEST or left[0] < 0:
        return InferredSchema({UNSEEN: 1})
    if isinstance(value, Mapping):
        return _object(value, depth, left)
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return InferredSchema(
        {kind: 1}, items=_all(_looked_at(it, depth + 1, left) for it in items[:_ITEMS])
    )


def _object(value: JsonObject, depth: int, left: list[int]) -> InferredSchema:
    """Of one that is too wide, only some are looked at: they are all alike."""
    left[0] -= min(len(value), WIDEST + 1)
    looked = {
        key: _looked_at(item, depth + 1, left) for key, item in islice(value.items(), WIDEST + 1)
    }
    members = {key: shape for key, shape in looked.items() if names_a_field(key)}
    others = _all(shape for key, shape in looked.items() if key not in members)
    whole = InferredSchema({"object": 1}, members, others, wide=len(value) > WIDEST)
    return _narrowed(whole)


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def _all(shapes: Iterator[InferredSchema]) -> InferredSchema | None:
    found = [*shapes]
    return reduce(_merged, found) if found else None


def _merged(one: InferredSchema, other: InferredSchema) -> InferredSchema:
    kinds = dict(one.kinds)
    for kind, times in other.kinds.items():
        kinds[kind] = kinds.get(kind, 0) + times
    if not _holds(one) and not _holds(other):  # most do not, and this is done for every value
        return InferredSchema(kinds)
    members = dict(one.members)
    for key, shape in other.members.items():
        members[key] = _merged(members[key], shape) if key in members else shape
    others, items = _either(one.others, other.others), _either(one.items, other.items)
    return _narrowed(InferredSchema(kinds, members, others, items, one.wide or other.wide))


def _holds(shape: InferredSchema) -> bool:
    return bool(shape.members or shape.wide) or shape.others is not None or shape.items is not None


def _either(one: InferredSchema | None, other: InferredSchema | None) -> InferredSchema | None:
    if one is None or other is None:
        return one or other
    return _merged(one, other)


def _narrowed(shape: InferredSchema) -> InferredSchema:
    """Whatever order they came in: too many keys once are too many for good."""
    if not shape.members or not (shape.wide or len(shape.members) > WIDEST):
        return shape
    kept = [] if shape.others is None else [shape.others]
    others = _all(chain(kept, shape.members.values()))
    return replace(shape, members={}, others=others, wide=True)


def _fit(shape: InferredSchema) -> InferredSchema:
    depth = DEEPEST
    while shape.size > MOST:
        depth -= 1
        shape = _cut(shape, depth)
    return shape


def _cut(shape: InferredSchema, depth: int) -> InferredSchema:
    if depth == 0:
        kinds = Counter({UNSEEN if k in {"object", "array"} else k: 0 for k in shape.kinds})
        for kind, times in shape.kinds.items():
            kinds[UNSEEN if kind in {"object", "array"} else kind] += times
        return InferredSchema(dict(kinds))
    return replace(
        shape,
        members={key: _cut(inner, depth - 1) for key, inner in shape.members.items()},
        others=None if shape.others is None else _cut(shape.others, depth - 1),
        items=None if shape.items is None else _cut(shape.items, depth - 1),
    )


# A learnt shape as it is told: as a schema for our own use, in one line for a model, and as it is
# kept.
#
# Of the keys only those are told that were there more than once, and not just now and then: what
# stood there once may be a value of somebody's, and what is rare was perhaps put there by whoever
# wrote what a tool read.

_TWICE: Final = 2
_ONE_IN: Final = 10
_ALIKE: Final = 8
"""As many fields that are all alike, and objects, are things by their names."""
_TEXT_LONGEST: Final = 600
_SHORT: Final = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "null": "null",
    UNSEEN: "any",
}


def schema_of(shape: InferredSchema) -> JsonObject:
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


def line_of(shape: InferredSchema, longest: int = _TEXT_LONGEST) -> str:
    """`{id: int, owner?: {login: str}, tags: [str]}`, as deep as there is room."""
    for depth in range(6, -1, -1):
        line = _line(shape, depth)
        if len(line) <= longest:
            return line
    return _line(shape, 0)


def shape_json(shape: InferredSchema) -> JsonObject:
    told: dict[str, JsonValue] = {"kinds": dict(shape.kinds)}
    if shape.members:
        told["members"] = {name: shape_json(inner) for name, inner in shape.members.items()}
    if shape.others is not None:
        told["others"] = shape_json(shape.others)
    if shape.items is not None:
        told["items"] = shape_json(shape.items)
    return told | {"wide": True} if shape.wide else told


def shape_from(told: JsonValue) -> InferredSchema:
    """Of what `shape_json` gave; whatever else stands there is nothing."""
    if not isinstance(told, Mapping):
        return InferredSchema()
    kinds, members = told.get("kinds"), told.get("members")
    return InferredSchema(
        {kind: times for kind, times in _each(kinds) if isinstance(times, int)},
        {name: shape_from(inner) for name, inner in _each(members)},
        shape_from(told["others"]) if "others" in told else None,
        shape_from(told["items"]) if "items" in told else None,
        told.get("wide") is True,
    )


def _each(told: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(told, Mapping):
        yield from told.items()


def _kinds(shape: InferredSchema) -> list[str]:
    """A whole number is a number too."""
    whole = "integer" if "number" in shape.kinds else ""
    return sorted(kind for kind in shape.kinds if kind != whole)


def _told(shape: InferredSchema) -> tuple[Mapping[str, InferredSchema], InferredSchema | None]:
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


def _form(shape: InferredSchema) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(shape.kinds), frozenset(shape.members)


def _optional(shape: InferredSchema, name: str) -> bool:
    return shape.members[name].times < shape.kinds.get("object", 0)


def _line(shape: InferredSchema, depth: int) -> str:
    wide: Mapping[str, Callable[[], str]] = {
        "object": lambda: _fields(shape, depth),
        "array": lambda: f"[{_line(shape.items, depth - 1)}]" if shape.items and depth else "[any]",
    }
    said = [wide[kind]() if kind in wide else _SHORT[kind] for kind in _kinds(shape)]
    return "|".join(sorted(said, key=lambda each: each == "null")) or "any"


def _fields(shape: InferredSchema, depth: int) -> str:
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


_DEEPEST: Final = 6


def vague(schema: JsonValue, depth: int = 0) -> bool:
    """As servers write it that only know that a list of objects comes: no single value in it is
    described. What is put together of others says enough."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return True
    match schema:
        case {"type": "array"}:
            return vague(schema.get("items"), depth + 1)
        case {"type": "object"}:
            return all(vague(each, depth + 1) for each in _inside(schema))
        case {"type": _} | {"$ref": _} | {"enum": _} | {"const": _}:
            return False
        case {"anyOf": [*each]} | {"oneOf": [*each]} | {"allOf": [*each]}:
            return all(vague(one, depth + 1) for one in each)  # ty: ignore[invalid-argument-type] # JSON
        case _:
            return True


def _inside(schema: Mapping[str, JsonValue]) -> Sequence[JsonValue]:
    properties = schema.get("properties")
    named = [*properties.values()] if isinstance(properties, Mapping) else []
    others = schema.get("additionalProperties")
    return [*named, *([others] if isinstance(others, Mapping) else [])]


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A tool by its server's id, which is no other's when a name is given again."""

    server: ServerId
    tool: str

    def __hash__(self) -> int:
        """Three times as fast as the usual one: it is looked up at every edge of the graph."""
        return hash((self.server.value.int, self.tool))


@dataclass(frozen=True, slots=True)
class ObservedSchema:
    """Of the definition that `pin` is of."""

    pin: str
    times: int
    shape: InferredSchema

    def and_then(self, later: "ObservedSchema") -> "ObservedSchema":
        """Of another definition nothing is kept."""
        if self.pin != later.pin:
            return later
        return ObservedSchema(self.pin, self.times + later.times, merged(self.shape, later.shape))


@dataclass(frozen=True, slots=True)
class Passed:
    """A value that one tool gave was handed to another as it is."""

    producer: ToolPlace
    path: str
    """JMESPath into what a step gives, every number of an item being 0: `json.items[0].id`."""
    consumer: ToolPlace
    parameter: str
