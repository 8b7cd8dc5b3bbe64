"""When is a file that somebody is writing a file that has changed?

An editor may write it anew in its place, put another one there, or take it away for a moment. So
it counts when it has looked the same twice, and its absence when it has lasted.
"""

from collections.abc import Mapping
from typing import Final

Look = Mapping[str, str | None]
"""What each file looked like, by its path; None for one that is not there."""
_LASTING: Final = 3


class Noticing:
    def __init__(self, first: Look) -> None:
        self._known = dict(first)
        self._seen: dict[str, tuple[str | None, int]] = {}

    def changed(self, look: Look) -> frozenset[str]:
        """Which files have another content than was last told; a file that was not asked for
        before has changed if it is there."""
        found = {path for path, now in look.items() if self._settled(path, now)}
        for path in found:
            self._known[path] = look[path]
        for path in self._known.keys() - look.keys():
            del self._known[path]
            self._seen.pop(path, None)
        return frozenset(found)

    def _settled(self, path: str, now: str | None) -> bool:
        if now == self._known.get(path):
            self._seen.pop(path, None)
            return False
        before, times = self._seen.get(path, (now, 0))
        times = times + 1 if before == now else 1
        self._seen[path] = now, times
        return times >= (_LASTING if now is None else 2)
