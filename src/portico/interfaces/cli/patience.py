"""A server that is about to come is waited for, within reason."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from portico.kernel.errors import Kind, PorticoError

AT_FIRST: Final = 10.0
"""Seconds for which a server that was never met is waited for by whoever wants to follow it."""
NOT_YET: Final = "The server is not there yet; waiting for it …"
_PAUSE: Final = 0.2

_Given = TypeVar("_Given")


def patiently(
    ask: Callable[[], _Given],
    seconds: float,
    say: Callable[[str], None] = lambda _: None,
    *,
    enough: Callable[[_Given], bool] = lambda _: True,
) -> _Given:
    """What `ask` gives once it is enough, or at the last try. Raises what the last try raises."""
    until = time.monotonic() + seconds
    said = False
    while True:
        try:
            given = ask()
        except PorticoError as error:
            if error.kind is not Kind.UNAVAILABLE or time.monotonic() >= until:
                raise
        else:
            if enough(given) or time.monotonic() >= until:
                return given
        if not said:
            say(NOT_YET)
        said = True
        time.sleep(_PAUSE)
