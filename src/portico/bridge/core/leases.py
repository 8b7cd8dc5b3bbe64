"""Leases: names, patterns and whether two exclude each other."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.bridge.core.errors import LeaseHeld, TooManyLeases, flaws_of_line
from portico.bridge.core.projects import ProjectId
from portico.engine.core.errors import KeyReused
from portico.kernel.errors import FieldError
from portico.kernel.ids import Id, PrincipalId

# Names with stars in them: whether two stand for the same thing, and whether one holds another.
#
# `*` stands for any letters but `/`, `**` for any at all. Patterns come from strangers and may have
# many stars, so nothing is tried twice: the places that can be reached in one pattern are the bits
# of a number, and all of them take a step at once.

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


# A lease: for a while something is somebody's, and who comes too late is told so.

MOST_LETTERS: Final = 300
"""Of a resource, and of a purpose."""
SHORTEST: Final = timedelta(seconds=1)
LONGEST: Final = timedelta(days=1)
USUAL: Final = timedelta(minutes=10)
WAITS_FOR: Final = timedelta(minutes=2)
"""How long somebody keeps their place in the queue without asking again."""
MOST_OF_ONE: Final = 200
"""Leases and places in the queue that one principal has in a project."""


class LeaseId(Id):
    __slots__ = ()
    prefix = "lse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    id: LeaseId
    project: ProjectId
    resource: str
    """A name or a pattern: `src/parser/**`, `branch:main`. `*` stands for anything but `/`, `**`
    for anything, and every other letter for itself: `pages/[id].ts` is one file."""
    holder: PrincipalId
    holder_name: str
    token: int
    """Larger than that of every lease which was given before in this project: whoever guards the
    resource refuses a smaller one than it has seen."""
    taken_at: datetime
    expires_at: datetime
    """By the clock of the database, as everything about leases."""
    purpose: str = ""

    def held(self, now: datetime) -> bool:
        return now < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSpec:
    project: ProjectId
    resource: str
    lasts: timedelta = USUAL
    purpose: str = ""
    wait: bool = False
    """To be in the queue if it is another's, and so to be seen there."""
    key: str | None = None
    """The same again in the same project is the same lease. None: it is another one each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Somebody who wants what another has."""

    principal: PrincipalId
    name: str
    resource: str
    since: datetime
    until: datetime
    """When they lose their place, unless they ask again before."""


def check_alike(wish: LeaseSpec, resource: str) -> None:
    """Of what its key has brought before. Raises `KeyReused`."""
    if resource != wish.resource:
        raise KeyReused(wish.key or wish.resource)


def check_free(
    wish: LeaseSpec, by: PrincipalId, *, held: Sequence[Lease], queue: Sequence[Waiting]
) -> None:
    """That nobody holds any name of it, and that nobody else came first who waits for one. Of both
    only those that have not expired are given here. Raises `LeaseHeld`."""
    for lease in held:
        if overlap(wish.resource, lease.resource):
            raise LeaseHeld(
                lease.resource,
                holder=lease.holder_name,
                until=lease.expires_at,
                own=lease.holder == by,
            )
    for waiting in ahead_of(wish, by, queue):
        if overlap(wish.resource, waiting.resource):
            raise LeaseHeld(waiting.resource, next_=waiting.name, until=waiting.until)


def ahead_of(wish: LeaseSpec, by: PrincipalId, queue: Sequence[Waiting]) -> Sequence[Waiting]:
    """The others who came before; all of them, of somebody who does not wait for it yet."""
    place = next(
        (
            n
            for n, each in enumerate(queue)
            if (each.principal, each.resource) == (by, wish.resource)
        ),
        len(queue),
    )
    return [waiting for waiting in queue[:place] if waiting.principal != by]


def check_number(
    wish: LeaseSpec, by: PrincipalId, *, held: Sequence[Lease], queue: Sequence[Waiting]
) -> None:
    """Raises `TooManyLeases`."""
    has = [lease.resource for lease in held if lease.holder == by]
    waits_for = [waiting.resource for waiting in queue if waiting.principal == by]
    if len(has) + sum(resource != wish.resource for resource in waits_for) >= MOST_OF_ONE:
        raise TooManyLeases(MOST_OF_ONE)


def flaws_of_resource(resource: str) -> Sequence[FieldError]:
    return flaws_of_line("resource", resource, most=MOST_LETTERS)


def flaws_of_wish(wish: LeaseSpec) -> Iterator[FieldError]:
    yield from flaws_of_resource(wish.resource)
    yield from flaws_of_line("purpose", wish.purpose, least=0, most=MOST_LETTERS)
    yield from flaws_of_time(wish.lasts)


def flaws_of_time(lasts: timedelta) -> Iterator[FieldError]:
    if not SHORTEST <= lasts <= LONGEST:
        yield FieldError("lasts", "is between a second and a day")
