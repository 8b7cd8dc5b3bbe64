"""JSON schemas of tools: limits, references, effort."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.untrusted_text import visible
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical

_ONE_HERE: Final = ("not", "if", "then", "else")
_SEVERAL_HERE: Final = ("allOf", "anyOf", "oneOf")
_NAMED_HERE: Final = ("dependentSchemas", "dependencies")
_EACH_MEMBER: Final = ("unevaluatedProperties", "propertyNames")
_EACH_ITEM: Final = ("contains", "unevaluatedItems")
_KEPT: Final = ("$defs", "definitions")


def here(schema: JsonObject) -> Iterator[JsonObject]:
    """Schemas that the same value is held against; what `$ref` names comes from elsewhere."""
    for keyword in _ONE_HERE:
        yield from _one(schema, keyword)
    for keyword in _SEVERAL_HERE:
        yield from _several(schema, keyword)
    for keyword in _NAMED_HERE:
        yield from _named(schema, keyword)


def one_of_members(schema: JsonObject) -> Iterator[JsonObject]:
    """Of these a member of an object meets one at most: its own, or the one for the others."""
    yield from _named(schema, "properties")
    yield from _one(schema, "additionalProperties")


def every_member(schema: JsonObject) -> Iterator[JsonObject]:
    """Of these it may meet all."""
    yield from _named(schema, "patternProperties")
    for keyword in _EACH_MEMBER:
        yield from _one(schema, keyword)


def one_of_items(schema: JsonObject) -> Iterator[JsonObject]:
    yield from _several(schema, "prefixItems")
    yield from _several(schema, "items")
    yield from _one(schema, "items")
    yield from _one(schema, "additionalItems")


def every_item(schema: JsonObject) -> Iterator[JsonObject]:
    for keyword in _EACH_ITEM:
        yield from _one(schema, keyword)


def inner(schema: JsonObject) -> Iterator[JsonObject]:
    """Every schema that stands in this one."""
    yield from here(schema)
    yield from one_of_members(schema)
    yield from every_member(schema)
    yield from one_of_items(schema)
    yield from every_item(schema)
    for keyword in _KEPT:
        yield from _named(schema, keyword)


def patterns(schema: JsonObject) -> Iterator[str]:
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        yield pattern
    matched = schema.get("patternProperties")
    if isinstance(matched, Mapping):
        yield from matched


def _one(schema: JsonObject, keyword: str) -> Iterator[JsonObject]:
    value = schema.get(keyword)
    if isinstance(value, Mapping):
        yield value


def _several(schema: JsonObject, keyword: str) -> Iterator[JsonObject]:
    value = schema.get(keyword)
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (each for each in value if isinstance(each, Mapping))


def _named(schema: JsonObject, keyword: str) -> Iterator[JsonObject]:
    value = schema.get(keyword)
    if isinstance(value, Mapping):
        yield from (each for each in value.values() if isinstance(each, Mapping))


def is_local(ref: JsonValue) -> bool:
    """`#`, or `#/` and a way from the root (RFC 6901). Not `#name`: an anchor can be moved."""
    return isinstance(ref, str) and (ref == "#" or ref.startswith("#/"))


def target(root: JsonValue, ref: str) -> JsonValue:
    """What is there; None if nothing is."""
    found = root
    for step in unquote(ref).split("/")[1:]:
        found = _child(found, step.replace("~1", "/").replace("~0", "~"))
    return found


def _child(value: JsonValue, step: str) -> JsonValue:
    match value:
        case Mapping():
            return value.get(step)
        case str():
            return None
        case Sequence() if step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        case _:
            return None


BEYOND: Final = 10**12
"""More than anybody waits for; no bound is larger, so that none takes long to compute."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema with what it leads to, each by its place in the list of all."""

    words: int
    patterns: int
    here: Sequence[int]
    one_member: Sequence[int]
    every_member: Sequence[int]
    one_item: Sequence[int]
    every_item: Sequence[int]


class _Ways:
    """How often a value so many levels down is looked at, from each schema at the top."""

    def __init__(self, nodes: Sequence[_Node], order: Sequence[int], own: Sequence[int]) -> None:
        self._nodes = nodes
        self._order = order
        self._levels = [self._summed(own)]

    def worst(self, depth: int) -> int:
        while len(self._levels) <= depth:
            self._levels.append(self._next(self._levels[-1]))
        return max(level[0] for level in self._levels[: depth + 1])

    def _next(self, above: Sequence[int]) -> Sequence[int]:
        """What is inside an object is not inside an array, so the two are not added."""
        members = [_most(above, node.one_member, node.every_member) for node in self._nodes]
        items = [_most(above, node.one_item, node.every_item) for node in self._nodes]
        pairs = zip(self._summed(members), self._summed(items), strict=True)
        return [max(pair) for pair in pairs]

    def _summed(self, own: Sequence[int]) -> Sequence[int]:
        """With all that the same value is held against because of it."""
        total = list(own)
        for place in self._order:
            total[place] += sum(total[each] for each in self._nodes[place].here)
            total[place] = min(BEYOND, total[place])
        return total


class Effort:
    """References are followed as often as a check would follow them."""

    def __init__(self, schema: JsonObject) -> None:
        """Raises `SchemaRefused` where following them would never end."""
        nodes = _graph(schema)
        order = _inner_first(nodes)
        self._height = max(_heights(nodes, order))
        self._steps = _Ways(nodes, order, [node.words for node in nodes])
        self._patterns = _Ways(nodes, order, [node.patterns for node in nodes])

    def nesting(self, depth: int) -> int:
        """How many checks can be under way inside each other, for a value of so many levels:
        each takes some of the stack."""
        return self._height * (depth + 1)

    def bound(self, depth: int, size: int, letters: int = 0) -> int:
        """For something of so many levels below its top, so many values and letters in all.

        A value that is `k` levels down is held against as many schemas as there are ways to
        it. The bound is the worst of those for each value, and as much for each letter as there
        are patterns that it may be held against.
        """
        steps = self._steps.worst(depth) * size + self._patterns.worst(depth) * letters
        return min(BEYOND, steps)


def cost(schema: JsonObject, depth: int, size: int) -> int:
    """See `Effort.bound`. Raises `SchemaRefused`."""
    return Effort(schema).bound(depth, size)


def _heights(nodes: Sequence[_Node], order: Sequence[int]) -> Sequence[int]:
    """How long a chain of schemas for one and the same value each of them begins."""
    heights = [1] * len(nodes)
    for place in order:
        heights[place] += max((heights[each] for each in nodes[place].here), default=0)
    return heights


def _most(steps: Sequence[int], one: Sequence[int], every: Sequence[int]) -> int:
    return max((steps[each] for each in one), default=0) + sum(steps[each] for each in every)


def _graph(schema: JsonObject) -> Sequence[_Node]:
    places: dict[int, int] = {id(schema): 0}
    found = [schema]

    def placed(schemas: Iterable[JsonObject]) -> list[int]:
        numbers = []
        for each in schemas:
            if id(each) not in places:
                places[id(each)] = len(found)
                found.append(each)
            numbers.append(places[id(each)])
        return numbers

    return [
        _Node(
            1 + sum(_length(each.get(word)) for word in ("enum", "required", "properties")),
            sum(1 for _ in patterns(each)),
            placed([*here(each), *_referred(each, schema)]),
            placed(one_of_members(each)),
            placed(every_member(each)),
            placed(one_of_items(each)),
            placed(every_item(each)),
        )
        for each in found  # it grows while it is gone through
    ]


def _referred(schema: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    ref = schema.get("$ref")
    if isinstance(ref, str) and is_local(ref):
        there = target(root, ref)
        if isinstance(there, Mapping):
            yield there


def _length(value: JsonValue) -> int:
    return len(value) if isinstance(value, Mapping | Sequence) else 0


def _inner_first(nodes: Sequence[_Node]) -> Sequence[int]:
    """Each after all that the same value is held against because of it. A schema that comes
    back to itself without going into the value would be followed for ever."""
    order: list[int] = []
    state = ["new"] * len(nodes)
    for start in range(len(nodes)):
        stack = [start]
        while stack:
            place = stack[-1]
            if state[place] == "new":
                state[place] = "open"
                if any(state[each] == "open" for each in nodes[place].here):
                    raise SchemaRefused("refers to itself without end")
                stack += nodes[place].here
                continue
            stack.pop()
            if state[place] == "open":
                state[place] = "done"
                order.append(place)
    return order


MOST_BYTES: Final = 256 * 1024
MOST_NODES: Final = 10_000
DEEPEST: Final = 64
LONGEST_PATTERN: Final = 1_000
MOST_PATTERNS: Final = 200
MOST_STEPS: Final = 100_000
"""For one value at any of the first `USUAL_DEPTH` levels. No tool of 922 real ones needs 130."""
USUAL_DEPTH: Final = 12

_MOVING: Final = ("$dynamicRef", "$recursiveRef")


def check_schema(schema: JsonObject) -> Effort:
    """What a check against it costs, if it can be used at all. Raises `SchemaRefused`."""
    check_size(schema)
    _check_words(schema)
    effort = Effort(schema)
    if effort.nesting(0) > DEEPEST:
        raise SchemaRefused(f"has a chain of more than {DEEPEST} references")
    if effort.bound(USUAL_DEPTH, 1) > MOST_STEPS:
        raise SchemaRefused("branches so often that a check against it would take too long")
    return effort


def check_size(value: JsonValue) -> None:
    """Raises `SchemaRefused` for what is too deep, too many or too long, without going deep."""
    nodes = 0
    level: Sequence[JsonValue] = [value]
    for _ in range(DEEPEST + 1):
        nodes += len(level)
        if nodes > MOST_NODES:
            raise SchemaRefused(f"has more than {MOST_NODES:,} parts")
        level = [inside for each in level for inside in children(each)]
        if not level:
            break
    else:
        raise SchemaRefused(f"is nested more than {DEEPEST} levels deep")
    try:
        if len(canonical(value)) > MOST_BYTES:
            raise SchemaRefused(f"is longer than {MOST_BYTES // 1024} KiB")
    except NotCanonical as error:
        raise SchemaRefused("is not JSON") from error


def children(value: JsonValue) -> Iterator[JsonValue]:
    match value:
        case Mapping():
            yield from value.values()
        case str():
            return
        case Sequence():
            yield from value
        case _:
            return


def subschemas(root: JsonObject) -> Iterator[JsonObject]:
    """Itself, and all that stand in it or are referred to. Raises `SchemaRefused`."""
    seen: set[int] = set()
    waiting: list[JsonValue] = [root]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, Mapping) and id(schema) not in seen:
            seen.add(id(schema))
            yield schema
            waiting += [*inner(schema), *_referred_limits(schema, root)]


def _check_words(root: JsonObject) -> None:
    count = 0
    address = "id" if "draft-04" in str(root.get("$schema")) else "$id"
    for schema in subschemas(root):
        count += _check_patterns(schema)
        if count > MOST_PATTERNS:
            raise SchemaRefused(f"has more than {MOST_PATTERNS} patterns")
        if schema is not root and isinstance(schema.get(address), str):
            raise SchemaRefused("has another schema with an address of its own inside")


def _check_patterns(schema: JsonObject) -> int:
    found = list(patterns(schema))
    if any(len(pattern) > LONGEST_PATTERN for pattern in found):
        raise SchemaRefused(f"has a pattern longer than {LONGEST_PATTERN:,} characters")
    return len(found)


def _referred_limits(schema: JsonObject, root: JsonObject) -> Iterator[JsonValue]:
    if any(word in schema for word in _MOVING):
        raise SchemaRefused("has references that depend on where they are met")
    if "$ref" not in schema:
        return
    ref = schema["$ref"]
    if not isinstance(ref, str) or not is_local(ref):
        raise SchemaRefused(f"refers outside itself, to {visible(str(ref))!r}")
    there = target(root, ref)
    if not isinstance(there, Mapping | bool):
        raise SchemaRefused(f"refers to {visible(ref)!r}, which is not there")
    yield there
