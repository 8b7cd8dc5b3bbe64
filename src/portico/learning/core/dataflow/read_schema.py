"""What a schema says that a tool takes or gives, as a flat list."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from portico.gateway.core.tool_schemas import is_local, target
from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.dataflow.shape import OutputField, Parameter

_DEEPEST: Final = 6
_MOST: Final = 200
_PLAIN: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


def parameters_of(schema: JsonValue) -> Sequence[Parameter]:
    root = _object(schema)
    required = root.get("required")
    needed = required if isinstance(required, Sequence) and not isinstance(required, str) else ()
    found = _members(_plain(root, root))
    return [_parameter(name, _plain(each, root), name in needed) for name, each in found][:_MOST]


def fields_of(schema: JsonValue, root: str = "json") -> Sequence[OutputField]:
    """At most two hundred, the shallow ones first; of a list, what its first item has."""
    whole = _object(schema)
    found: list[OutputField] = []
    level = list(_inside(whole, whole, root))
    for _ in range(_DEEPEST):
        found += [_field(path, each) for path, each in level]
        if len(found) >= _MOST:
            break
        inner = (each for path, schema in level for each in _inside(schema, whole, path))
        level = list(islice(inner, _MOST))
    return found[:_MOST]


def type_of(schema: JsonObject) -> str | None:
    """None if nothing is said or several are possible; being absent is none of them."""
    told = schema.get("type")
    match told:
        case str():
            return told
        case Sequence():
            some = [each for each in told if isinstance(each, str) and each != "null"]
            return some[0] if len(some) == 1 else None
        case _:
            return "object" if "properties" in schema else None


def _inside(schema: JsonObject, root: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    here = _plain(schema, root)
    if isinstance(here.get("items"), Mapping):
        here, path = _plain(_object(here["items"]), root), f"{path}[0]"
        if not _members(here):
            yield path, here
    for name, each in _members(here):
        yield f"{path}.{_key(name)}", _plain(each, root)


def _members(schema: JsonObject) -> list[tuple[str, JsonObject]]:
    return [(name, _object(each)) for name, each in _object(schema.get("properties")).items()]


def _plain(schema: JsonObject, root: JsonObject) -> JsonObject:
    """With what it refers to, and as the one thing it is if it can also be absent."""
    ref = schema.get("$ref")
    if is_local(ref):
        schema = {**_object(target(root, str(ref))), **_without_ref(schema)}
    for keyword in ("anyOf", "oneOf"):
        some = schema.get(keyword)
        if isinstance(some, Sequence) and not isinstance(some, str):
            real = [_object(each) for each in some if _object(each).get("type") != "null"]
            if len(real) == 1:
                return {**_plain_ref(real[0], root), **_without_ref(schema)}
    return schema


def _plain_ref(schema: JsonObject, root: JsonObject) -> JsonObject:
    ref = schema.get("$ref")
    return _object(target(root, str(ref))) if is_local(ref) else schema


def _without_ref(schema: JsonObject) -> JsonObject:
    return {name: value for name, value in schema.items() if name != "$ref"}


def _parameter(name: str, schema: JsonObject, required: bool) -> Parameter:
    kind = type_of(schema)
    return Parameter(
        name=name,
        type=kind,
        description=_description(schema),
        required=required,
        choice="enum" in schema or "const" in schema or kind == "boolean",
        default="default" in schema,
    )


def _field(path: str, schema: JsonObject) -> OutputField:
    return OutputField(path=path, type=type_of(schema), description=_description(schema))


def _description(schema: JsonObject) -> str:
    told = schema.get("description")
    return told if isinstance(told, str) else ""


def _key(name: str) -> str:
    """As JMESPath writes it: in quotes unless it is a plain word."""
    if name and all(letter in _PLAIN for letter in name) and not name[0].isdigit():
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}
