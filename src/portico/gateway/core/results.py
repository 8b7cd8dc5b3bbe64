"""Results: kept answers, pages, paths."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.calls import CallId, ToolResult
from portico.kernel.json import JsonObject, JsonValue


def answer_kept(answer: ToolResult, call: CallId) -> JsonObject:
    return {
        "content": [*answer.content],
        "structured": answer.structured,
        "failed": answer.failed,
        "meta": answer.meta,
        "call": str(call),
    }


def answer_from(kept: JsonValue) -> tuple[ToolResult, CallId] | None:
    """None for what was kept of something else."""
    if not isinstance(kept, Mapping) or "call" not in kept:
        return None
    content, meta = kept.get("content"), kept.get("meta")
    blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    answer = ToolResult(
        content=[block for block in blocks if isinstance(block, Mapping)],
        structured=kept.get("structured"),
        failed=kept.get("failed") is True,
        meta=meta if isinstance(meta, Mapping) else None,
    )
    return answer, CallId.parse(str(kept["call"]))


_BACK: Final = 400
"""How far before a page's end a better place to end it is looked for."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    text: str
    page: int
    pages: int


def text_of(answer: ToolResult) -> str:
    """All its texts in order, also those of resources in it; where its structured form says much
    more than they do, that form."""
    told = "\n".join(_texts(answer.content))
    if answer.structured is None:
        return told
    structured = json.dumps(answer.structured, ensure_ascii=False)
    return structured if len(structured) > 2 * len(told) + _BACK else told


def _texts(content: Sequence[JsonObject]) -> Iterator[str]:
    for block in content:
        text = _text(block)
        if text is not None:
            yield text


def _text(block: JsonObject) -> str | None:
    resource = block.get("resource")
    text = (resource if isinstance(resource, Mapping) else block).get("text")
    return text if isinstance(text, str) else None


def pages(text: str, size: int) -> Sequence[str]:
    """Ended where a line or at least a word ends, if there is such a place near the end."""
    found: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        found.append(text[start:end])
        start = end
    return found or [""]


def _end(text: str, start: int, size: int) -> int:
    end = start + size
    if end >= len(text):
        return len(text)
    for stop in ("\n", " "):
        at = text.rfind(stop, max(start + 1, end - _BACK), end)
        if at > start:
            return at + 1
    return end


def beginning(answer: ToolResult, size: int, how_to_go_on: str) -> ToolResult:
    """Its first page and what is no text; the structured form has no beginning and is left out."""
    first: JsonObject = {"type": "text", "text": pages(text_of(answer), size)[0]}
    others = [block for block in answer.content if _text(block) is None]
    note: JsonObject = {"type": "text", "text": how_to_go_on}
    return replace(answer, content=[first, *others, note], structured=None)


# Paths into what a tool gives, in JMESPath: of any item of a list the first stands for all.

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def member(path: str, key: str) -> str:
    """`json` and `id` are `json.id`; what is no plain name stands in quotes."""
    return f"{path}.{key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)}"


def item(path: str) -> str:
    return f"{path}[0]"
