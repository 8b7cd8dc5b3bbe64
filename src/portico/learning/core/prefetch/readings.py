"""What a tool's answer says as values: JSON, Python's way of writing them, JSON after JSON."""

import json
import re
from collections.abc import Mapping
from typing import Final

from portico.kernel.json import JsonObject, JsonValue

LONGEST: Final = 60_000
"""Characters of an answer that are looked at."""
_MOST: Final = 200
"""Documents that stand one after another."""
_TOKEN: Final = re.compile(
    r"""'(?>(?:[^'\\]++|\\.)*)(?:'|\\?\Z)|"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)"""
    r"""|\b(?:True|False|None)\b|[()]""",
    re.DOTALL,
)
"""A text that is not closed goes to the end, so that no letter is looked at twice."""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_AS_JSON: Final = {"True": "true", "False": "false", "None": "null", "(": "[", ")": "]"}
_TEXT: Final = re.compile(r"\s|^[\[{(]")
_BETWEEN: Final = re.compile(r"[ \r\n\t,]+")
_LONE_COMMA: Final = re.compile(r",\s*\]")


def reading(document: JsonObject) -> JsonValue:
    """Values if it has any; else its text."""
    structured = document.get("json")
    text = _wrapped(structured)
    if text is None and structured is not None:
        return structured
    if text is None:
        found = document.get("text")
        text = found if isinstance(found, str) else ""
    text = text[:LONGEST]
    values = _values(text.strip())
    return text if values is None else values


def _wrapped(value: JsonValue) -> str | None:
    """The text of a result that is nothing but a text in an envelope; a single word is a value
    with a name."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value if isinstance(value, str) else None
    (only,) = value.values()
    return only if isinstance(only, str) and _TEXT.search(only) else None


def _values(text: str) -> JsonValue:
    if not text.startswith(("[", "{", "(")):
        return None
    found = _one_after_another(text)
    return found if found is not None else _parsed(_from_python(text))


def _one_after_another(text: str) -> JsonValue:
    decoder, found, at = json.JSONDecoder(), list[JsonValue](), 0
    while at < len(text) and len(found) < _MOST:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(value)
        between = _BETWEEN.match(text, at)
        at = at if between is None else between.end()
    return found[0] if len(found) == 1 else found


def _from_python(text: str) -> str:
    return _LONE_COMMA.sub("]", _TOKEN.sub(_token, text))


def _token(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] not in "'\"":
        return _AS_JSON[token]
    return json.dumps(_ESCAPE.sub(_escaped, token[1:-1]))


def _escaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def _parsed(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found
