"""How often Python looks for garbage that refers to itself."""

import gc
from typing import Final

_YOUNG: Final = 10_000
_MIDDLE: Final = 20
_OLD: Final = 25


def collect_rarely() -> None:
    """For a process that lives long and keeps much: what is there by now is never looked through
    again, and the rest some hundred times more seldom than usual. A page that reads a thousand
    tools would otherwise have everything looked through that a server has in memory."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
