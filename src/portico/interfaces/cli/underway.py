"""What a command is doing, and for how long: drawn anew with every turn of what turns."""

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.text import Text

_LONG: Final = 2.0
"""Seconds; whoever waits for longer is told how long it was."""


class Underway:
    """Counts by itself: whoever works may hear nothing for a while, and so say nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        self._text = text

    def __rich__(self) -> "Text":
        from rich.text import Text

        passed = time.monotonic() - self._began
        return Text.assemble(self._text, (f"  {passed:.0f} s" if passed >= _LONG else "", "dim"))
