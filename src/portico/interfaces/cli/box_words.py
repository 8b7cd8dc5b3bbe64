"""What strangers' code runs in, told in a line."""

from collections.abc import Mapping, Sequence
from typing import Any

_Report = Mapping[str, Any]


def in_words(boxes: Sequence[_Report] | None) -> str:
    """As `GET /status` gives them."""
    if boxes is None:
        return "being tried"
    for box in boxes:
        if box["offered"]:
            return f"{box['backend']}, {box['held']} probes held"
    told = [_why_not(box) for box in boxes] or ["the setting box.backend is none"]
    return "; ".join(["none", *told])


def _why_not(box: _Report) -> str:
    fix = f" (fix: {box['fix']})" if box["fix"] else ""
    if box["missing"]:
        return f"{box['backend']}: {box['missing']}{fix}"
    escapes = ", ".join(box["escapes"]) or "not tried"
    return f"{box['backend']} does not hold: {escapes}{fix}"
