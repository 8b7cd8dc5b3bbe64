"""The last lines that a server wrote for people: kept raw and few, cleaned when somebody looks."""

import re
from collections import deque
from collections.abc import Callable
from typing import Final

_LINES: Final = 200
_LONGEST: Final = 8_192
"""Bytes kept of a line; more than are shown, so that no secret is cut in two before it is seen."""
_SHOWN: Final = 2_000
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class LastWords:
    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_LINES)
        self._rest = b""
        self._silent = True

    def begin(self) -> None:
        """It is started anew; what it said before stays, but says nothing about now."""
        self._silent = True

    def hear(self, data: bytes) -> None:
        """A piece of what it writes; a line may come in several."""
        self._silent = False
        lines = data.split(b"\n")
        lines[0] = self._rest + lines[0]
        self._rest = lines.pop()[:_LONGEST]
        self._lines.extend(line[:_LONGEST] for line in lines[-_LINES:] if line.strip())

    def note(self, line: str) -> None:
        self.hear(line.replace("\n", " ").encode(errors="replace") + b"\n")

    def told(self, clean: Callable[[str], str]) -> tuple[str, ...]:
        lines = [*self._lines, self._rest] if self._rest.strip() else list(self._lines)
        return tuple(_shown(line, clean) for line in lines)

    def last(self, clean: Callable[[str], str]) -> str | None:
        """Since it was started."""
        lines = [] if self._silent else [*self._lines, self._rest]
        found = next((line for line in reversed(lines) if line.strip()), None)
        return None if found is None else _shown(found, clean)[:300]


def _shown(line: bytes, clean: Callable[[str], str]) -> str:
    """Nothing in it steers whoever's terminal it is shown on."""
    text = _ESCAPE.sub("", line.decode(errors="replace"))
    return clean(_CONTROL.sub("", text))[:_SHOWN]
