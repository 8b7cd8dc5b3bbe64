"""What a tool gave, in words for a model."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from portico.gateway.core.calls import Answer
from portico.gateway.core.results import pages, text_of
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue

READ: Final = "read_result"
"""The tool by which a model reads on in what was too long to be given at once."""
_NOTHING: Final = "It was done, and answered nothing."
_UNKNOWN: Final = "It was done. Nobody knows what it answered."


def words_of_answer(answer: Answer) -> str:
    others = [_named(block) for block in answer.content if not _has_text(block)]
    text = text_of(answer)
    if not text and answer.structured is not None:
        text = json.dumps(answer.structured, ensure_ascii=False)
    return "\n".join([*([text] if text else []), *others]) or _NOTHING


def words_of_document(document: JsonObject) -> str:
    """Of what a step of a run keeps of an answer."""
    content = document.get("content")
    blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    if not blocks and document.get("text") is None and document.get("json") is None:
        return _UNKNOWN
    answer = Answer(
        [block for block in blocks if isinstance(block, Mapping)],
        document.get("structuredContent"),
    )
    return words_of_answer(answer)


def words_of_error(message: str, fix: str | None) -> str:
    return message if not fix else f"{message} {fix}"


def words_of_refusal(error: PorticoError) -> str:
    return words_of_error(str(error), error.fix)


def first_page(text: str, size: int, name: str) -> str:
    """Its beginning, and how to go on, if it is longer than that."""
    if len(text) <= size:
        return text
    found = pages(text, size)
    more = f'{READ}(result="{name}", page=2)'
    return f"{found[0]}\n[page 1 of {len(found)}; {len(text):,} characters. The next: {more}]"


def page_of(text: str, size: int, number: int) -> str:
    found = pages(text, size)
    at = min(max(number, 1), len(found))
    return f"{found[at - 1]}\n[page {at} of {len(found)}]"


def _has_text(block: JsonObject) -> bool:
    resource = block.get("resource")
    inner = resource if isinstance(resource, Mapping) else block
    return isinstance(inner.get("text"), str)


def _named(block: JsonObject) -> str:
    kind, mime = _told(block.get("type")), _told(block.get("mimeType"))
    link = _told(block.get("uri"))
    return f"[{' '.join(filter(None, [kind or 'something', mime, link]))}, which is not shown here]"


def _told(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
