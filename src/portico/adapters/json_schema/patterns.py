"""Patterns of strangers, for an engine whose time grows with the text and not with its square."""

from copy import deepcopy
from typing import Any, Final, cast

import jsonschema_rs

from portico.gateway.core.tool_schemas import patterns, subschemas
from portico.kernel.json import JsonObject

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
