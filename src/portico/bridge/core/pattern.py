"""Names with stars in them: whether two stand for the same thing, and whether one holds another.

`*` stands for any letters but `/`, `**` for any at all. Patterns come from strangers and may have
many stars, so nothing is tried twice: the places that can be reached in one pattern are the bits of
a number, and all of them take a step at once.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

_ANY: Final = "*"
_ALL: Final = "**"
_STARS: Final = (_ANY, _ALL)


def overlap(one: str, other: str) -> bool:
    """Whether there is a name that both stand for."""
    return _begin_alike(one, other) and _Places(other).meet(_parts(one))


def holds(pattern: str, resource: str) -> bool:
    """Whether all that the resource stands for is in the pattern. Where that is hard to tell, it
    says no: `a*` and `*a` together are all that begins and ends so, and neither holds the other."""
    return _Places(pattern).take(_parts(resource))


def _begin_alike(one: str, other: str) -> bool:
    """Up to the first star: most names of a project differ there."""
    mine, theirs = one.partition(_ANY)[0], other.partition(_ANY)[0]
    return mine.startswith(theirs) or theirs.startswith(mine)


def _parts(pattern: str) -> Sequence[str]:
    """Letters, `*` and `**`."""
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        step = 2 if pattern.startswith(_ALL, place) else 1
        parts.append(pattern[place : place + step])
        place += step
    return parts


class _Places:
    """Those of a pattern: before each of its parts, and after the last."""

    def __init__(self, pattern: str) -> None:
        parts = _parts(pattern)
        self._before: defaultdict[str, int] = defaultdict(int)
        for place, part in enumerate(parts):
            self._before[part] |= 1 << place
        self._stars = self._before[_ANY] | self._before[_ALL]
        self._letters = (1 << len(parts)) - 1 - self._stars
        self._end = 1 << len(parts)

    def meet(self, parts: Sequence[str]) -> bool:
        at = 1
        for part in parts:
            if part in _STARS:
                at = _on(at, self._stars | self._passed_by(part))
            else:
                at = self._step(_on(at, self._stars), part)
        return bool(_on(at, self._stars) & self._end)

    def take(self, parts: Sequence[str]) -> bool:
        at = 1
        for part in parts:
            at = _on(at, self._stars)
            at = at & self._takers(part) if part in _STARS else self._step(at, part)
        return bool(_on(at, self._stars) & self._end)

    def _step(self, at: int, letter: str) -> int:
        return (at & self._before[letter]) << 1 | (at & self._takers(letter))

    def _takers(self, part: str) -> int:
        """Stars that can stand for this and go on."""
        return self._before[_ALL] if part in ("/", _ALL) else self._stars

    def _passed_by(self, star: str) -> int:
        return self._letters if star == _ALL else self._letters & ~self._before["/"]


def _on(at: int, passable: int) -> int:
    """Past as many as can be passed: adding carries each bit through the run of ones above it."""
    return at | (((at & passable) + passable) ^ passable)
