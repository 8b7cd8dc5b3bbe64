"""What a tool gave, as it can be shown: text and JSON; of anything else, that it is there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.gateway.core.calls import Called
from portico.gateway.core.reserved_metadata import age_ms
from portico.kernel.json import JsonObject, JsonValue

_LONGEST: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    text: str
    json: bool = False
    """Whether it is to be shown as JSON."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    failed: bool
    blocks: Sequence[Block]
    structured: Block | None
    """Only where it says something that the text does not."""
    took: timedelta
    age_ms: int | None
    """How old it is, if it ran ahead."""
    rest: str | None
    """The id under which the whole of it is kept, if this is only its beginning."""


def result(called: Called, took: timedelta) -> Result:
    answer = called.answer
    blocks = [_block(each) for each in answer.content]
    whole = None if answer.structured is None else _pretty(answer.structured)
    told = whole is not None and any(block.text == whole.text for block in blocks)
    return Result(
        failed=answer.failed,
        blocks=blocks,
        structured=None if told else whole,
        took=took,
        age_ms=age_ms(answer),
        rest=None if called.kept is None else str(called.kept),
    )


def _block(block: JsonObject) -> Block:
    match block.get("type"):
        case "text":
            return _text(str(block.get("text", "")))
        case "image" | "audio" as kind:
            size = len(str(block.get("data", ""))) * 3 // 4
            return Block(text="", note=f"{kind}, {block.get('mimeType', '?')}, {size} bytes")
        case _:
            inner = block.get("resource")
            said = inner.get("text") if isinstance(inner, Mapping) else None
            return _text(said) if isinstance(said, str) else _pretty(dict(block))


def _text(text: str) -> Block:
    if text[:1] in ("{", "["):
        try:
            return _pretty(json.loads(text))
        except (ValueError, RecursionError):
            pass  # it only began like JSON
    return Block(text=_cut(text))


def _pretty(value: JsonValue) -> Block:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Block(text=_cut(text), json=True)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} more"
