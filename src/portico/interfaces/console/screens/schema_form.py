"""A JSON schema as a form and as a table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from math import isfinite
from typing import Final

from portico.gateway.core.tool_schemas import is_local, target
from portico.gateway.core.untrusted_text import cut
from portico.interfaces.console.forms import Form, InvalidForm
from portico.kernel.json import JsonObject, JsonValue

# Scalars, choices and lists of scalars have fields of their own; deeper values are written as JSON.
# The form only helps: the tool's schema decides whether arguments are valid.

PREFIX: Final = "arg."
RAW: Final = "raw"
MOST: Final = 40
"""Fields of a form; a tool that takes more is called with raw JSON."""
_LONGEST: Final = 400
_DEEPEST: Final = 8
_MOST_CHOICES: Final = 60
_LETTERS: Final = 100_000
_LONG_TEXTS: Final = frozenset(
    {"body", "code", "content", "data", "html", "markdown", "message", "prompt", "script", "sql"}
    | {"description", "input", "query", "text", "thought"}
)


class Input(StrEnum):
    LINE = "line"
    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    TRUTH = "truth"
    CHOICE = "choice"
    LIST = "list"
    JSON = "json"


_WORDS: Final[Mapping[Input, str]] = {
    Input.LINE: "text",
    Input.TEXT: "text",
    Input.WHOLE: "whole number",
    Input.NUMBER: "number",
    Input.TRUTH: "yes or no",
    Input.CHOICE: "one of these",
    Input.LIST: "a list, one a line",
    Input.JSON: "JSON",
}
_SCALARS: Final[Mapping[str, Input]] = {
    "integer": Input.WHOLE,
    "number": Input.NUMBER,
    "boolean": Input.TRUTH,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    value: str
    """As JSON, so that a number and a text are told apart."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    input: Input
    of: Input
    """Of a list: what is in it."""
    required: bool
    description: str
    default: str
    """What is taken if it is left out, in words; empty if nothing is said."""
    choices: Sequence[Choice]
    typed: str

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"

    @property
    def kind(self) -> str:
        return _WORDS[self.input]


def fields(schema: JsonObject, filled: JsonObject | None = None) -> Sequence[Field] | None:
    """What is required comes first; None where only JSON can say it."""
    its = _resolved(schema, schema)
    properties, needed = _object(its.get("properties")), _names(its.get("required"))
    if properties is None or len(properties) > MOST:
        return None
    found = [_field(name, it, schema, required=name in needed) for name, it in properties.items()]
    ordered = sorted(found, key=lambda field: not field.required)
    return [_filled(field, filled) for field in ordered] if filled else ordered


def typed(form: Form, known: Sequence[Field]) -> Sequence[Field]:
    """The same fields with what somebody has written."""
    return [_with(field, form.maybe(field.key, most=_LETTERS) or "") for field in known]


def arguments(known: Sequence[Field]) -> JsonObject:
    """What is left empty is left out. Raises `InvalidForm`."""
    return {field.name: _read(field) for field in known if field.typed}


def raw_arguments(text: str | None) -> JsonObject:
    """Raises `InvalidForm`."""
    found = {} if text is None else _json(RAW, text)
    if not isinstance(found, Mapping):
        raise InvalidForm(RAW, "must be an object: { … }")
    return found


def _field(name: str, schema: JsonValue, root: JsonObject, *, required: bool) -> Field:
    its = _resolved(_object(schema) or {}, root)
    choices = _choices(its)
    kind = Input.CHOICE if choices else _input(name, its)
    items = _resolved(_object(its.get("items")) or {}, root)
    of = _scalar("", items) if kind is Input.LIST else kind
    if kind is Input.LIST and of is None:
        kind, of = Input.JSON, Input.JSON
    said = its.get("description") or _object_text(schema, "description")
    default = its.get("default", _object_text(schema, "default"))
    return Field(
        name=name,
        input=kind,
        of=of or kind,
        required=required,
        description=cut(said, _LONGEST) if isinstance(said, str) else "",
        default="" if default is None else cut(_told(default), 80),
        choices=choices,
        typed="",
    )


def _input(name: str, schema: JsonObject) -> Input:
    if schema.get("type") == "array":
        return Input.LIST
    return _scalar(name, schema) or Input.JSON


def _scalar(name: str, schema: JsonObject) -> Input | None:
    kind = schema.get("type")
    if kind == "string":
        longest = schema.get("maxLength")
        roomy = isinstance(longest, int) and longest > 300
        return Input.TEXT if roomy or name.lower() in _LONG_TEXTS else Input.LINE
    return _SCALARS.get(kind) if isinstance(kind, str) else None


def _choices(schema: JsonObject) -> Sequence[Choice]:
    given = schema.get("enum")
    values = [schema["const"]] if "const" in schema else _list(given)
    if len(values) > _MOST_CHOICES:
        return []
    return [Choice(value=json.dumps(it), text=cut(_told(it), 80)) for it in values]


def _resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Behind references, and the one that is left where the other is null."""
    for _ in range(_DEEPEST):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            found = _object(target(root, ref)) if is_local(ref) else None
            schema = {**(found or {}), **{key: it for key, it in schema.items() if key != "$ref"}}
            continue
        only = _not_null(schema)
        if only is None:
            break
        outer = {key: it for key, it in schema.items() if key not in ("anyOf", "oneOf", "type")}
        schema = {**outer, **only}
    return schema


def _not_null(schema: JsonObject) -> JsonObject | None:
    for keyword in ("anyOf", "oneOf"):
        branches = [_object(each) or {} for each in _list(schema.get(keyword))]
        others = [each for each in branches if each.get("type") != "null"]
        if branches and len(others) == 1:
            return others[0]
    kinds = [kind for kind in _list(schema.get("type")) if kind != "null"]
    return {"type": kinds[0]} if len(kinds) == 1 else None


def _filled(field: Field, values: JsonObject) -> Field:
    if field.name not in values:
        return field
    value = values[field.name]
    if field.input is Input.CHOICE:
        return _with(field, json.dumps(value))
    if field.input is Input.LIST and isinstance(value, list | tuple):
        return _with(field, "\n".join(_told(each) for each in value))
    plain = field.input is not Input.JSON
    return _with(field, _told(value) if plain else json.dumps(value, ensure_ascii=False, indent=2))


def _with(field: Field, text: str) -> Field:
    return replace(field, typed=text)


def _read(field: Field) -> JsonValue:
    if field.input is Input.LIST:
        lines = (line.strip() for line in field.typed.splitlines())
        return [_one(field, field.of, line) for line in lines if line]
    return _one(field, field.input, field.typed)


def _one(field: Field, kind: Input, text: str) -> JsonValue:
    match kind:
        case Input.WHOLE | Input.NUMBER:
            return _number(field, text, whole=kind is Input.WHOLE)
        case Input.TRUTH:
            if text not in {"true", "false"}:
                raise InvalidForm(field.name, "must be true or false")
            return text == "true"
        case Input.CHOICE:
            if text not in {choice.value for choice in field.choices}:
                raise InvalidForm(field.name, "must be one of what is offered")
            return _json(field.name, text)
        case Input.JSON | Input.LIST:
            return _json(field.name, text)
        case Input.LINE | Input.TEXT:
            return text


def _number(field: Field, text: str, *, whole: bool) -> float:
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise InvalidForm(field.name, f"must be a {_WORDS[field.of]}") from None
    if not isfinite(number):
        raise InvalidForm(field.name, "must be a number that can be written")
    return int(number) if whole or ("." not in text and number == int(number)) else number


def _json(name: str, text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except RecursionError as error:
        raise InvalidForm(name, "is nested too deeply") from error
    except ValueError as error:
        raise InvalidForm(name, f"is not valid JSON: {error}") from error
    return found


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _object(value: JsonValue) -> JsonObject | None:
    return value if isinstance(value, Mapping) else None


def _object_text(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, Mapping) else None


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else ()


def _names(value: JsonValue) -> frozenset[str]:
    return frozenset(_texts(_list(value)))


def _texts(values: Sequence[JsonValue]) -> Iterator[str]:
    return (each for each in values if isinstance(each, str))


MOST_ROWS: Final = 80
_DEEPEST_ROW: Final = 6
_LONGEST_ROW: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRow:
    path: str
    kind: str
    required: bool
    default: str
    description: str


def schema_rows(schema: JsonObject) -> Sequence[SchemaRow]:
    """At most `MOST_ROWS`; what is left out stands in the raw schema."""
    return list(islice(_members(schema, schema, "", 0), MOST_ROWS))


def _members(schema: JsonObject, root: JsonObject, path: str, depth: int) -> Iterator[SchemaRow]:
    its = _resolved_row(schema, root)
    properties = its.get("properties")
    if depth > _DEEPEST_ROW or not isinstance(properties, Mapping):
        return
    required = its.get("required")
    needed = required if isinstance(required, list | tuple) else ()
    for name, inner in properties.items():
        here = f"{path}.{name}" if path else name
        each = _resolved_row(inner, root) if isinstance(inner, Mapping) else {}
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
        description=cut(" ".join(said.split()), _LONGEST_ROW) if isinstance(said, str) else "",
    )


def _kind(schema: JsonObject, root: JsonObject, depth: int = 0) -> str:
    its = _resolved_row(schema, root)
    options = its.get("enum")
    if isinstance(options, list | tuple):
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in options)
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = its.get(keyword)
        if isinstance(branches, list | tuple) and depth < _DEEPEST_ROW:
            told = [_kind(each, root, depth + 1) for each in branches if isinstance(each, Mapping)]
            return " | ".join(dict.fromkeys(told))
    return _plain(its, root, depth)


def _plain(schema: JsonObject, root: JsonObject, depth: int) -> str:
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array" and isinstance(items, Mapping) and depth < _DEEPEST_ROW:
        return f"list of {_kind(items, root, depth + 1)}"
    if isinstance(kind, list | tuple):
        return " | ".join(str(each) for each in kind)
    shape = schema.get("format")
    known = str(kind) if isinstance(kind, str) else "any"
    return f"{known} ({shape})" if isinstance(shape, str) else known


def _resolved_row(schema: JsonValue, root: JsonObject) -> JsonObject:
    for _ in range(_DEEPEST_ROW):
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        schema = target(root, ref) if is_local(ref) else {}
    return schema if isinstance(schema, Mapping) else {}
