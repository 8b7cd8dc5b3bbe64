"""What a tool's results look like: learnt from them, of keys and types alone, never of a value.

Shapes are put together in any order, by any process, and come out the same; only where one
becomes larger than is kept of it may what is cut off depend on when.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from typing import Final

from portico.gateway.core.shape_keys import names_a_field
from portico.kernel.json import JsonObject, JsonValue

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
class Shape:
    """Of all values that stood in one place."""

    kinds: Mapping[str, int] = field(default_factory=dict)
    """How many were of which type, as JSON Schema calls it."""
    members: Mapping[str, "Shape"] = field(default_factory=dict)
    others: "Shape | None" = None
    """Of what stood under keys that are data."""
    items: "Shape | None" = None
    wide: bool = False
    """Had so many keys that they are all taken for data."""

    @property
    def times(self) -> int:
        return sum(self.kinds.values())

    @property
    def size(self) -> int:
        return 1 + sum(inner.size for inner in self.inner())

    def inner(self) -> Iterator["Shape"]:
        yield from self.members.values()
        yield from (each for each in (self.others, self.items) if each is not None)


def shape_of(value: JsonValue) -> Shape:
    """Of one result."""
    return _fit(_looked_at(value, 0, [_LOOKED_AT]))


def merged(one: Shape, other: Shape) -> Shape:
    return _fit(_merged(one, other))


def _looked_at(value: JsonValue, depth: int, left: list[int]) -> Shape:
    kind = _kind(value)
    if kind not in {"object", "array"}:
        return Shape({kind: 1})
    left[0] -= 1
    if depth >= DEEPEST or left[0] < 0:
        return Shape({UNSEEN: 1})
    if isinstance(value, Mapping):
        return _object(value, depth, left)
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return Shape({kind: 1}, items=_all(_looked_at(it, depth + 1, left) for it in items[:_ITEMS]))


def _object(value: JsonObject, depth: int, left: list[int]) -> Shape:
    """Of one that is too wide, only some are looked at: they are all alike."""
    left[0] -= min(len(value), WIDEST + 1)
    looked = {
        key: _looked_at(item, depth + 1, left) for key, item in islice(value.items(), WIDEST + 1)
    }
    members = {key: shape for key, shape in looked.items() if names_a_field(key)}
    others = _all(shape for key, shape in looked.items() if key not in members)
    whole = Shape({"object": 1}, members, others, wide=len(value) > WIDEST)
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


def _all(shapes: Iterator[Shape]) -> Shape | None:
    found = [*shapes]
    return reduce(_merged, found) if found else None


def _merged(one: Shape, other: Shape) -> Shape:
    kinds = dict(one.kinds)
    for kind, times in other.kinds.items():
        kinds[kind] = kinds.get(kind, 0) + times
    if not _holds(one) and not _holds(other):  # most do not, and this is done for every value
        return Shape(kinds)
    members = dict(one.members)
    for key, shape in other.members.items():
        members[key] = _merged(members[key], shape) if key in members else shape
    others, items = _either(one.others, other.others), _either(one.items, other.items)
    return _narrowed(Shape(kinds, members, others, items, one.wide or other.wide))


def _holds(shape: Shape) -> bool:
    return bool(shape.members or shape.wide) or shape.others is not None or shape.items is not None


def _either(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None:
        return one or other
    return _merged(one, other)


def _narrowed(shape: Shape) -> Shape:
    """Whatever order they came in: too many keys once are too many for good."""
    if not shape.members or not (shape.wide or len(shape.members) > WIDEST):
        return shape
    kept = [] if shape.others is None else [shape.others]
    others = _all(chain(kept, shape.members.values()))
    return replace(shape, members={}, others=others, wide=True)


def _fit(shape: Shape) -> Shape:
    depth = DEEPEST
    while shape.size > MOST:
        depth -= 1
        shape = _cut(shape, depth)
    return shape


def _cut(shape: Shape, depth: int) -> Shape:
    if depth == 0:
        kinds = Counter({UNSEEN if k in {"object", "array"} else k: 0 for k in shape.kinds})
        for kind, times in shape.kinds.items():
            kinds[UNSEEN if kind in {"object", "array"} else kind] += times
        return Shape(dict(kinds))
    return replace(
        shape,
        members={key: _cut(inner, depth - 1) for key, inner in shape.members.items()},
        others=None if shape.others is None else _cut(shape.others, depth - 1),
        items=None if shape.items is None else _cut(shape.items, depth - 1),
    )
