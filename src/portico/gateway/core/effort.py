"""How many steps a check against a schema can take at most, known before it is made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.local_ref import is_local, target
from portico.gateway.core.schema_walk import (
    every_item,
    every_member,
    here,
    one_of_items,
    one_of_members,
    patterns,
)
from portico.kernel.json import JsonObject, JsonValue

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
