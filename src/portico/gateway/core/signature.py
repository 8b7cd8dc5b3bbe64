"""What a tool takes, as short as a model can still call it by: `owner: str, labels?: [str]`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.local_ref import is_local, target
from portico.gateway.core.tool import Definition, ToolRef
from portico.kernel.json import JsonObject, JsonValue

_MOST: Final = 12
"""Parameters that are shown; those that are required come first."""
_MOST_OPTIONS: Final = 6
_MOST_FIELDS: Final = 5
_DEEPEST: Final = 3
_SHORT: Final = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "null": "null",
    "object": "obj",
    "array": "[any]",
}
_WORD: Final = re.compile(r"[\w.:/@+%*,-][\w.:/@+%*, -]{0,23}")


def signature(ref: ToolRef, definition: Definition) -> str:
    return f"{ref}({', '.join(_parameters(definition.input_schema))})"


def _parameters(schema: JsonObject) -> Iterator[str]:
    properties = _members(schema, "properties")
    needed = [name for name in _names(schema.get("required")) if name in properties]
    order = [*dict.fromkeys(needed), *(name for name in properties if name not in needed)]
    for name in order[:_MOST]:
        yield _parameter(name, properties[name], schema, required=name in needed)
    if len(order) > _MOST:
        yield f"…{len(order) - _MOST} more"


def _parameter(name: str, schema: JsonValue, root: JsonObject, *, required: bool) -> str:
    optional = "" if required else "?"
    return f"{_name(name)}{optional}: {_type(schema, root)}{_default(schema)}"


def _name(name: str) -> str:
    return re.sub(r"[^\w$.@-]", "_", name)[:64]


def _default(schema: JsonValue) -> str:
    default = schema.get("default") if isinstance(schema, Mapping) else None
    told = None if default is None else _value(default)
    return f"={told}" if told and len(told) <= 12 else ""


def _type(schema: JsonValue, root: JsonObject, depth: int = 0) -> str:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return _type(target(root, ref), root, depth + 1) if is_local(ref) else "any"
    if options := _options(schema):
        return options
    for keyword in ("anyOf", "oneOf", "allOf"):
        if branches := _list(schema.get(keyword)):
            return _union([_type(branch, root, depth + 1) for branch in branches])
    return _union([_named(kind, schema, root, depth) for kind in _kinds(schema)])


def _named(kind: str, schema: JsonObject, root: JsonObject, depth: int) -> str:
    if kind == "array" and "items" in schema:
        return f"[{_type(schema['items'], root, depth + 1)}]"
    if kind == "object":
        return _fields(schema, root, depth)
    return _SHORT.get(kind, "any")


def _fields(schema: JsonObject, root: JsonObject, depth: int) -> str:
    properties = _members(schema, "properties")
    if not 0 < len(properties) <= _MOST_FIELDS or depth > 1:
        return "obj"
    needed = _names(schema.get("required"))
    told = (
        f"{_name(name)}{'' if name in needed else '?'}: {_type(inner, root, depth + 2)}"
        for name, inner in properties.items()
    )
    return f"{{{', '.join(told)}}}"


def _options(schema: JsonObject) -> str:
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    told = [_value(value) for value in values if value is not None]
    more = ["…"] if len(told) > _MOST_OPTIONS else []
    return "|".join([each or "…" for each in told[:_MOST_OPTIONS]] + more)


def _union(types: Sequence[str]) -> str:
    """That something may also be null is what `?` says already."""
    told = [each for each in dict.fromkeys(types) if each != "null"]
    return "|".join(told) if 0 < len(told) <= _DEEPEST else "any" if told else "null"


def _kinds(schema: JsonObject) -> Sequence[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if "properties" in schema:
        return ["object"]
    return _names(kind) or ["any"]


def _value(value: JsonValue) -> str | None:
    """A word of a stranger's, if it is short and only a word."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            told = f"{value}"
            return told if len(told) <= 24 else None
        case str() if _WORD.fullmatch(value):
            return value
        case _:
            return None


def _members(schema: JsonObject, keyword: str) -> JsonObject:
    members = schema.get(keyword)
    return members if isinstance(members, Mapping) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else []


def _names(value: JsonValue) -> Sequence[str]:
    return [each for each in _list(value) if isinstance(each, str)]
