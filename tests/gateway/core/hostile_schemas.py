"""Schemas that were made to keep a validator busy, or to make it fetch something."""

from typing import Any


def bomb(levels: int, word: str = "anyOf", branches: int = 2) -> dict[str, Any]:
    """Each level refers twice to the next one: 2 to the power of `levels` ways to the last."""
    defs: dict[str, Any] = {
        f"d{level}": {word: [{"$ref": f"#/$defs/d{level + 1}"}] * branches}
        for level in range(levels)
    }
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {**defs, f"d{levels}": {"type": "integer"}},
    }


def chain(links: int) -> dict[str, Any]:
    """One reference after the other, which a validator follows by calling itself."""
    defs: dict[str, Any] = {f"d{link}": {"$ref": f"#/$defs/d{link + 1}"} for link in range(links)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, f"d{links}": {}}}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


TREE: dict[str, Any] = {
    "type": "object",
    "anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}],
}
"""Each level of the value doubles the ways: fine for a flat one, hopeless for a deep one."""


def tree_value(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


ENDLESS: list[dict[str, Any]] = [
    {"$ref": "#"},
    {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
    {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}},
    },
    {"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}},
    {"if": {"dependentSchemas": {"x": {"else": {"$ref": "#"}}}}},
]

ELSEWHERE = [
    "http://127.0.0.1:9/latest/meta-data",
    "https://json-schema.org/draft/2020-12/schema",
    "file:///etc/passwd",
    "other.json",
    "#anchor",
    "//host/x",
    "",
]

SLOW_PATTERNS = [r"^(a+)+$", r"(x+x+)+y", r"(.{1,999}){1,9}!", r"([ab]{1,300}c?){1,20}!"]
"""The first two for an engine that backtracks, the others for one that does not."""
