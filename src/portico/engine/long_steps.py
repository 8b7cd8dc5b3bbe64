"""Steps that take long, so that they can be announced while they run.

Looked for now and then while any run, and not timed one by one: most are over long before.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

_LONG: Final = 0.25
"""Seconds."""


class LongSteps:
    def __init__(self, found: Callable[[], None]) -> None:
        """`found` is called when there are new ones."""
        self._found = found
        self._since: dict[str, float] = {}
        self._seen: set[str] = set()
        self._new: list[str] = []
        self._watch: asyncio.TimerHandle | None = None

    def begin(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        self._since[name] = loop.time()
        if self._watch is None:
            self._watch = loop.call_later(_LONG, self._look)

    def end(self, name: str) -> None:
        del self._since[name]

    def new(self) -> Sequence[str]:
        """Those that have grown long and still run; each is given once."""
        names, self._new = self._new, []
        return [name for name in names if name in self._since]

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        ago = loop.time() - _LONG
        grown = [n for n, since in self._since.items() if since <= ago and n not in self._seen]
        self._seen.update(grown)
        self._new += grown
        if grown:
            self._found()
        self._watch = loop.call_later(_LONG, self._look) if self._since else None
