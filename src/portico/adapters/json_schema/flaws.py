"""What is wrong with arguments, in words that repeat nothing of what was sent."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import jsonschema_rs

from portico.gateway.core.untrusted_text import cut
from portico.kernel.errors import Flaw

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


def flaws_of(error: jsonschema_rs.ValidationError) -> Iterator[Flaw]:
    path = list(error.instance_path)
    match error.kind:
        case _Kinds.Required(missing):
            yield Flaw(_field([*path, missing]), "is missing")
        case _Kinds.AdditionalProperties(names) | _Kinds.UnevaluatedProperties(names):
            for name in names:
                yield Flaw(_field([*path, name]), "is not something that it takes")
        case kind:
            yield Flaw(_field(path), cut(_message(kind, len(path)), _LONGEST))


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
