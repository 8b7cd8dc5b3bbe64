"""What a call of a tool is inside the program: a value, or an error of Python that it can catch."""

from collections.abc import Mapping
from typing import Final

from portico.gateway.core.plan.output import document_value
from portico.kernel.json import JsonObject, JsonValue
from portico.sandbox.core.requests import Raised

_KINDS: Final[Mapping[str, str]] = {
    "bad_arguments": "ValueError",
    "bad_tool_ref": "ValueError",
    "not_canonical": "ValueError",
    "tool_not_found": "LookupError",
    "server_not_found": "LookupError",
    "upstream_timed_out": "TimeoutError",
    "refused": "PermissionError",
    "not_permitted": "PermissionError",
    "key_ended": "PermissionError",
    "not_inline": "PermissionError",
    "approval_pending": "PermissionError",
    "approval_rejected": "PermissionError",
    "approval_over": "PermissionError",
    "tool_quarantined": "PermissionError",
    "server_disabled": "PermissionError",
    "server_gone": "PermissionError",
    "server_not_approved": "PermissionError",
}
_LONGEST: Final = 2_000


def value_of(document: JsonObject) -> JsonValue:
    """`json` if it has any, else its text."""
    return document_value(document)


def failed(message: str, code: str | None, document: JsonObject | None) -> Raised:
    """In the tool's own words, if it has said any."""
    own = None if document is None else document.get("text")
    words = own if isinstance(own, str) and own else message
    return Raised(words[:_LONGEST], _KINDS.get(code or "", "RuntimeError"))


def left_out(why: str) -> Raised:
    return Raised(f"not called: {why}"[:_LONGEST])
