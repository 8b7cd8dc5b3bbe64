"""A tool's answer as it is kept whole, and as it comes back."""

from collections.abc import Mapping, Sequence

from portico.gateway.core.call import Answer, CallId
from portico.kernel.json import JsonObject, JsonValue


def answer_kept(answer: Answer, call: CallId) -> JsonObject:
    return {
        "content": [*answer.content],
        "structured": answer.structured,
        "failed": answer.failed,
        "meta": answer.meta,
        "call": str(call),
    }


def answer_from(kept: JsonValue) -> tuple[Answer, CallId] | None:
    """None for what was kept of something else."""
    if not isinstance(kept, Mapping) or "call" not in kept:
        return None
    content, meta = kept.get("content"), kept.get("meta")
    blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    answer = Answer(
        content=[block for block in blocks if isinstance(block, Mapping)],
        structured=kept.get("structured"),
        failed=kept.get("failed") is True,
        meta=meta if isinstance(meta, Mapping) else None,
    )
    return answer, CallId.parse(str(kept["call"]))
