"""What of a schema is looked at for one value, and what for the values inside it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.kernel.json import JsonObject

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
