"""What a tool's description and parameters give away about what it can change."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from portico.gateway.core.effect_words import Doing, Sign, meaning, sentence_signs, words
from portico.gateway.core.plain_text import first_sentence
from portico.gateway.core.tool import Definition
from portico.kernel.json import JsonObject, JsonValue

_ANYTHING: Final = re.compile(
    r"\b(?:any|arbitrary|raw)\b.{0,30}\b(?:command|code|script|sql|query|statement|javascript)",
    re.IGNORECASE,
)
_FINAL: Final = re.compile(
    r"\b(?:overwrit\w+|permanently|irreversibl\w+|can(?:no|')t be undone|is lost)", re.IGNORECASE
)
_KEPT: Final = re.compile(r"\b(?:save[sd]?|saving|overwrit\w+|written)\b", re.IGNORECASE)
_RUN: Final = frozenset({"command", "commands", "cmd", "pipeline", "script", "shell", "sql"})
_BRAKES: Final = frozenset({"confirm", "confirmed", "dry", "overwrite"})
_CHOICES: Final = frozenset({"action", "operation", "op", "command", "method", "subcommand"})


def description_signs(definition: Definition) -> Iterator[Sign]:
    """Of the first sentence, and of warnings anywhere."""
    yield from sentence_signs(first_sentence(definition.description)[:400])
    if found := _ANYTHING.search(definition.description):
        yield Sign(Doing.RUNS, found[0].lower())


def says_final(definition: Definition) -> str | None:
    found = _FINAL.search(definition.description)
    return found[0].lower() if found else None


def parameter_signs(schema: JsonObject) -> Iterator[Sign]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        parts = set(words(name))
        about = inner if isinstance(inner, Mapping) else {}
        if parts & _RUN and "enum" not in about:
            yield Sign(Doing.RUNS, name)
        if parts & _BRAKES or _KEPT.search(str(about.get("description", ""))):
            yield Sign(Doing.WRITES, name)
        if parts & _CHOICES:
            yield from _chosen(about)


def _chosen(schema: JsonObject) -> Iterator[Sign]:
    """`operation: list | get | set` can set."""
    for option in _list(schema.get("enum")):
        if isinstance(option, str) and (doing := meaning(option)):
            yield Sign(doing, option)


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
