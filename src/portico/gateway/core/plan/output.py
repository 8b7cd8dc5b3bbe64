"""What a step gives to those after it: one document, whatever form its tool answered in."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from portico.gateway.core.call import Answer
from portico.kernel.json import JsonObject, JsonValue

DOCUMENT_FIELDS: Final = ("content", "structuredContent", "text", "json")
ITEMS_FIELDS: Final = ("items",)


def step_document(answer: Answer) -> JsonObject:
    """`json` is the structured form, or the text read as JSON, or null."""
    text = "\n".join(_texts(answer.content))
    structured = answer.structured
    return {
        "content": list(answer.content),
        "structuredContent": structured,
        "text": text,
        "json": structured if structured is not None else _parsed(text),
    }


UNKNOWN_DOCUMENT: Final[JsonObject] = {
    "content": [],
    "structuredContent": None,
    "text": None,
    "json": None,
}
"""Of a step that was done, of which nobody knows what it answered: every path into it leads to
nothing."""


def items_document(documents: Sequence[JsonValue]) -> JsonObject:
    """Of a step that was done once for each item, in their order; null for one that failed."""
    return {"items": list(documents)}


def document_value(document: JsonValue) -> JsonValue:
    """What it says, in the form that is easiest to work with: `json` if there is any, or `text`;
    of many, the list of theirs."""
    if not isinstance(document, Mapping):
        return document
    items = document.get("items")
    if isinstance(items, Sequence) and not isinstance(items, str):
        return [document_value(item) for item in items]
    found = document.get("json")
    return document.get("text") if found is None else found


def _texts(content: Sequence[JsonObject]) -> list[str]:
    texts = (_inner(block).get("text") for block in content)
    return [text for text in texts if isinstance(text, str)]


def _inner(block: JsonObject) -> JsonObject:
    resource = block.get("resource")
    return resource if isinstance(resource, Mapping) else block


def _parsed(text: str) -> JsonValue:
    if not text.strip():
        return None
    try:
        found: JsonValue = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found


def _refuse(constant: str) -> JsonValue:
    raise ValueError(constant)  # NaN and the infinities, which Python reads and JSON has not
