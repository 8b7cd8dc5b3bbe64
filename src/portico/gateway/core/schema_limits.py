"""What a stranger's schema may be, before anything is checked against it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.effort import Effort
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.hidden_text import visible
from portico.gateway.core.local_ref import is_local, target
from portico.gateway.core.schema_walk import inner, patterns
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical

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
            waiting += [*inner(schema), *_referred(schema, root)]


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


def _referred(schema: JsonObject, root: JsonObject) -> Iterator[JsonValue]:
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
