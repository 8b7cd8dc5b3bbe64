"""Arguments held against a stranger's schema: nothing fetched, nothing slow, nothing repeated."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import jsonschema_rs

from portico.adapters.json_schema.flaws import flaws_of
from portico.adapters.json_schema.patterns import LINEAR, without_unfit_patterns
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.tool_schemas import DEEPEST, Effort, check_schema, children
from portico.gateway.core.untrusted_text import visible
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue

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

    def flaws(self, schema: JsonObject, arguments: JsonObject) -> Sequence[Flaw]:
        """Raises `SchemaRefused`."""
        levels = list(_levels(arguments))
        if len(levels) > DEEPEST:
            return [Flaw("", f"is nested more than {DEEPEST} levels deep")]
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
) -> Sequence[Flaw]:
    try:
        if validator.is_valid(arguments):
            return []
        if not in_words:
            return [Flaw("", "does not fit, and is too long to say where")]
        told = (flaw for error in validator.iter_errors(arguments) for flaw in flaws_of(error))
        return list(islice(told, MOST_FLAWS))
    except ValueError:
        return [Flaw("", "is not JSON")]


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
