"""The order that AG-UI demands of the events of a run."""

from collections.abc import Sequence
from typing import Any

OPENS = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "messageId"),
    "REASONING_START": ("REASONING_END", "messageId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "toolCallId"),
    "STEP_STARTED": ("STEP_FINISHED", "stepName"),
}
INSIDE = {
    "TEXT_MESSAGE_CONTENT": ("TEXT_MESSAGE_END", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("REASONING_MESSAGE_END", "messageId"),
    "TOOL_CALL_ARGS": ("TOOL_CALL_END", "toolCallId"),
}


def in_order(found: Sequence[dict[str, Any]]) -> None:
    """As the protocol says: one beginning, one end, and nothing open at the end."""
    assert found[0]["type"] == "RUN_STARTED"
    assert found[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}
    ends = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"}
    assert not [each for each in found[1:-1] if each["type"] in ends]
    still: set[tuple[str, str]] = set()
    for each in found:
        if each["type"] in OPENS:
            end, name = OPENS[each["type"]]
            assert (end, each[name]) not in still, each
            still.add((end, each[name]))
        elif each["type"] in INSIDE:
            end, name = INSIDE[each["type"]]
            assert (end, each[name]) in still, each
        elif any(each["type"] == end for end, _ in OPENS.values()):
            [name] = [name for end, name in {*OPENS.values()} if end == each["type"]]
            assert (each["type"], each[name]) in still, each
            still.discard((each["type"], each[name]))
    assert still == set() or found[-1]["type"] == "RUN_ERROR"
