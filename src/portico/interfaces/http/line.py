"""The connection under a request, for answers that last: it can be cut, and says when it ends."""

from collections.abc import Callable
from typing import Final

from starlette.types import Scope

_LINE: Final = "portico.line"


class Line:
    def __init__(self, cut: Callable[[], None]) -> None:
        self.cut = cut
        """At once, with what is still to be sent: closing would wait for a client to read it."""
        self.ending = False
        """The server is to end, and waits for this connection."""
        self._told: Callable[[], None] | None = None

    def when_ending(self, told: Callable[[], None] | None) -> None:
        self._told = told

    def end(self) -> None:
        self.ending = True
        if self._told is not None:
            self._told()


def put_line(scope: Scope, line: Line) -> None:
    scope.setdefault("extensions", {})[_LINE] = line


def line_of(scope: Scope) -> Line | None:
    """None under a server that is not ours."""
    found = scope.get("extensions", {}).get(_LINE)
    return found if isinstance(found, Line) else None
