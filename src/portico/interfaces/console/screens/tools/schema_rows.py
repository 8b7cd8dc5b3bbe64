"""A schema as a table: one row for each place in it, as deep as there is room."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from portico.gateway.core.tool_schemas import is_local, target
from portico.gateway.core.untrusted_text import cut
from portico.kernel.json import JsonObject, JsonValue

MOST: Final = 80
_DEEPEST: Final = 6
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRow:
    path: str
    kind: str
    required: bool
    default: str
    description: str


def schema_rows(schema: JsonObject) -> Sequence[SchemaRow]:
    """At most `MOST`; what is left out stands in the raw schema."""
    return list(islice(_members(schema, schema, "", 0), MOST))


def _members(schema: JsonObject, root: JsonObject, path: str, depth: int) -> Iterator[SchemaRow]:
    its = _resolved(schema, root)
    properties = its.get("properties")
    if depth > _DEEPEST or not isinstance(properties, Mapping):
        return
    required = its.get("required")
    needed = required if isinstance(required, list | tuple) else ()
    for name, inner in properties.items():
        here = f"{path}.{name}" if path else name
        each = _resolved(inner, root) if isinstance(inner, Mapping) else {}
        yield _row(here, each, root, required=name in needed)
        items = each.get("items")
        yield from _members(each, root, here, depth + 1)
        if isinstance(items, Mapping):
            yield from _members(items, root, f"{here}[]", depth + 1)


def _row(path: str, schema: JsonObject, root: JsonObject, *, required: bool) -> SchemaRow:
    said, default = schema.get("description"), schema.get("default")
    return SchemaRow(
        path=path,
        kind=cut(_kind(schema, root), 160),
        required=required,
        default="" if default is None else cut(json.dumps(default, ensure_ascii=False), 60),
        description=cut(" ".join(said.split()), _LONGEST) if isinstance(said, str) else "",
    )


def _kind(schema: JsonObject, root: JsonObject, depth: int = 0) -> str:
    its = _resolved(schema, root)
    options = its.get("enum")
    if isinstance(options, list | tuple):
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in options)
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = its.get(keyword)
        if isinstance(branches, list | tuple) and depth < _DEEPEST:
            told = [_kind(each, root, depth + 1) for each in branches if isinstance(each, Mapping)]
            return " | ".join(dict.fromkeys(told))
    return _plain(its, root, depth)


def _plain(schema: JsonObject, root: JsonObject, depth: int) -> str:
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array" and isinstance(items, Mapping) and depth < _DEEPEST:
        return f"list of {_kind(items, root, depth + 1)}"
    if isinstance(kind, list | tuple):
        return " | ".join(str(each) for each in kind)
    shape = schema.get("format")
    known = str(kind) if isinstance(kind, str) else "any"
    return f"{known} ({shape})" if isinstance(shape, str) else known


def _resolved(schema: JsonValue, root: JsonObject) -> JsonObject:
    for _ in range(_DEEPEST):
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        schema = target(root, ref) if is_local(ref) else {}
    return schema if isinstance(schema, Mapping) else {}
