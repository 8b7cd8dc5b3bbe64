"""What one reader was told, step by step: ids, cursors and times as the first, the second and so on
that came up, each with its length; all else word for word."""

import re
from dataclasses import dataclass, field

from tests.storm.bridge_told import as_text

_REPLACED = re.compile(
    r"(?P<id>\b[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+\d\d:\d\d|Z))"
    r"|(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)"
    r"|(?P<cursor>(?<=\"next\": \")[^\"]+|(?<=\"cursor\": \")[^\"]+|[\w-]{50,}={0,2}(?=\"))"
)


@dataclass(slots=True)
class Transcript:
    lines: list[str] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    def note(self, step: str, told: object) -> None:
        self.lines.append(f"{step}: {_REPLACED.sub(self._by_order, as_text(told))}")

    def _by_order(self, found: "re.Match[str]") -> str:
        kind, text = found.lastgroup, found.group()
        if kind == "second":
            return "<to the second>"  # two times may be one of these, or not
        if kind == "cursor" and re.fullmatch("[0-9a-f]{64}", text):
            return text  # what a content is known by is the same in both
        length = "" if kind == "time" else f", {len(text)} letters"
        return self._seen.setdefault(text, f"<{kind} {len(self._seen)}{length}>")
