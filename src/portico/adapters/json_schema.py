"""Schemas of strangers, and arguments validated against them, by jsonschema-rs."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs

from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.tool_schemas import (
    DEEPEST,
    Effort,
    check_schema,
    children,
    patterns,
    subschemas,
)
from portico.gateway.core.untrusted_text import cut, visible
from portico.kernel.errors import FieldError
from portico.kernel.json import JsonObject, JsonValue

# Patterns of strangers, for an engine whose time grows with the text and not with its square.

LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=64 * 1024)
"""Linear is not enough: with the engine's own limit of 10 MB `(.{1,999}){1,9}!` takes a minute
for 100,000 letters. With this one no pattern that we found takes more than 0.4 µs a letter."""


def without_unfit_patterns(schema: JsonObject) -> JsonObject:
    """The same schema, less the patterns that this engine does not take: those with look-around
    or backreferences, such as zod's for an e-mail address, and overly large ones. What they
    ask for is left to the server, which has to check it in any case."""
    if all(_fits(each) for inner in subschemas(schema) for each in patterns(inner)):
        return schema
    copy: dict[str, Any] = deepcopy(dict(schema))
    for inner in subschemas(copy):
        _relax(cast("dict[str, Any]", inner))
    return copy


def _relax(schema: dict[str, Any]) -> None:
    if not _fits(str(schema.get("pattern", ""))):
        del schema["pattern"]
    matched = schema.get("patternProperties", {})
    for pattern in [each for each in matched if not _fits(each)]:
        del matched[pattern]
        # What it would have matched must not count as unexpected.
        schema.pop("additionalProperties", None)
        schema.pop("unevaluatedProperties", None)


def _fits(pattern: str) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=LINEAR)
    except ValueError:
        return False
    return True


# What is wrong with arguments, in words that repeat nothing of what was sent.

_LONGEST: Final = 160
_MOST_OPTIONS: Final = 10
_Kinds = jsonschema_rs.ValidationErrorKind
_LIMITS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match {}",
    "const": "must be {}",
}
_PLAIN: Final = {
    "contains": "has no item of the kind that is asked for",
    "falseSchema": "must not be there",
    "not": "is of a kind that is not allowed",
    "oneOf": "fits several of the allowed forms, and must fit one",
    "propertyNames": "has a member whose name is not allowed",
    "uniqueItems": "has the same item twice",
}


def flaws_of(error: jsonschema_rs.ValidationError) -> Iterator[FieldError]:
    path = list(error.instance_path)
    match error.kind:
        case _Kinds.Required(missing):
            yield FieldError(_field([*path, missing]), "is missing")
        case _Kinds.AdditionalProperties(names) | _Kinds.UnevaluatedProperties(names):
            for name in names:
                yield FieldError(_field([*path, name]), "is not something that it takes")
        case kind:
            yield FieldError(_field(path), cut(_message(kind, len(path)), _LONGEST))


def _message(kind: jsonschema_rs.ValidationErrorKind, depth: int) -> str:
    match kind:
        case _Kinds.Type(types):
            return f"must be {' or '.join(types)}"
        case _Kinds.Enum(options):
            return f"must be one of {_told(options)}"
        case _Kinds.AnyOf(context) | _Kinds.OneOfNotValid(context):
            return _of_several(context, depth)
        case _ if kind.name in _LIMITS:
            return _LIMITS[kind.name].format(_one(kind.value))
        case _:
            return _PLAIN.get(kind.name, f"does not fit what {kind.name!r} asks for")


def _of_several(context: Sequence[Sequence[jsonschema_rs.ValidationError]], depth: int) -> str:
    """Where the forms differ in type only, they can be named."""
    types: dict[str, None] = {}
    for branch in context:
        first = branch[0]
        if not isinstance(first.kind, _Kinds.Type) or len(first.instance_path) > depth:
            return f"fits none of the {len(context)} allowed forms"
        types |= dict.fromkeys(first.kind.types)
    return f"must be {' or '.join(types)}"


def _told(options: Sequence[object]) -> str:
    more = len(options) - _MOST_OPTIONS
    told = [_one(option) for option in options[:_MOST_OPTIONS]]
    return ", ".join([*told, f"{more} more"] if more > 0 else told)


def _one(value: object) -> str:
    return cut(value if isinstance(value, str) else json.dumps(value, default=str), 40)


def _field(path: Sequence[str | int]) -> str:
    return cut(".".join(str(step) for step in path), 120)


# Arguments held against a stranger's schema: nothing fetched, nothing slow, nothing repeated.

MOST_STEPS: Final = 1_000_000
"""A step is some 30 ns, a letter held against the worst pattern that is let in some 400 ns."""
MOST_STEPS_FOR_WORDS: Final = 10_000
"""Saying what is wrong takes a thousand times as long as finding that something is."""
MOST_NESTING: Final = 1_000
"""A check inside a check takes some 300 bytes of a stack, of which a thread may have 512 KiB."""
MOST_FLAWS: Final = 50

_DRAFTS: Final[Mapping[str, type[jsonschema_rs.Validator]]] = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
}


@dataclass(frozen=True, slots=True)
class _Compiled:
    schema: JsonObject
    """Held on to, so that no other can have its identity."""
    effort: Effort
    validator: jsonschema_rs.Validator


class JsonSchemaCheck:
    """Schemas are known by identity: whoever holds one in memory does not change it."""

    def __init__(self, kept: int = 4_096) -> None:
        self._kept = kept
        self._compiled: OrderedDict[int, _Compiled] = OrderedDict()

    def field_errors(self, schema: JsonObject, arguments: JsonObject) -> Sequence[FieldError]:
        """Raises `SchemaRefused`."""
        levels = list(_levels(arguments))
        if len(levels) > DEEPEST:
            return [FieldError("", f"is nested more than {DEEPEST} levels deep")]
        size, letters = sum(map(len, levels)), sum(_letters(level) for level in levels)
        compiled = self._of(schema)
        depth = len(levels) - 1
        steps = compiled.effort.bound(depth, size, letters)
        if steps > MOST_STEPS or compiled.effort.nesting(depth) > MOST_NESTING:
            raise SchemaRefused("would take too long to check these arguments against")
        return _flaws(compiled.validator, arguments, in_words=steps <= MOST_STEPS_FOR_WORDS)

    def _of(self, schema: JsonObject) -> _Compiled:
        found = self._compiled.get(id(schema))
        if found is None:
            found = self._compiled[id(schema)] = _compile(schema)
            if len(self._compiled) > self._kept:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(id(schema))
        return found


def _compile(schema: JsonObject) -> _Compiled:
    effort = check_schema(schema)
    try:
        validator = _validator(without_unfit_patterns(schema))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise SchemaRefused(f"is none: {visible(reason, 120)}") from error
    return _Compiled(schema, effort, validator)


def _validator(schema: JsonObject) -> jsonschema_rs.Validator:
    draft = str(schema.get("$schema")).rstrip("#")
    known = {key: value for key, value in schema.items() if key not in {"$schema", "$id", "id"}}
    return _DRAFTS.get(draft, jsonschema_rs.Draft202012Validator)(
        known, validate_formats=False, pattern_options=LINEAR, offline=True
    )


def _flaws(
    validator: jsonschema_rs.Validator, arguments: JsonObject, *, in_words: bool
) -> Sequence[FieldError]:
    try:
        if validator.is_valid(arguments):
            return []
        if not in_words:
            return [FieldError("", "does not fit, and is too long to say where")]
        told = (flaw for error in validator.iter_errors(arguments) for flaw in flaws_of(error))
        return list(islice(told, MOST_FLAWS))
    except ValueError:
        return [FieldError("", "is not JSON")]


def _levels(value: JsonValue) -> Iterator[Sequence[JsonValue]]:
    """No more than are looked at: what is deeper is not gone into."""
    level: Sequence[JsonValue] = [value]
    for _ in range(DEEPEST + 1):
        if not level:
            return
        yield level
        level = [inside for each in level for inside in children(each)]


def _letters(level: Sequence[JsonValue]) -> int:
    return sum(_written(each) for each in level)


def _written(value: JsonValue) -> int:
    match value:
        case str():
            return len(value)
        case Mapping():
            return sum(map(len, value))
        case _:
            return 0
