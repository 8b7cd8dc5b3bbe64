"""A lease: for a while something is somebody's, and who comes too late is told so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.bridge.core.errors import LeaseHeld, TooManyLeases
from portico.bridge.core.pattern import overlap
from portico.bridge.core.project import ProjectId
from portico.bridge.core.spelling import flaws_of_line
from portico.engine.core.errors import KeyReused
from portico.kernel.errors import Flaw
from portico.kernel.ids import Id, PrincipalId

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
class LeaseWish:
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


def check_alike(wish: LeaseWish, resource: str) -> None:
    """Of what its key has brought before. Raises `KeyReused`."""
    if resource != wish.resource:
        raise KeyReused(wish.key or wish.resource)


def check_free(
    wish: LeaseWish, by: PrincipalId, *, held: Sequence[Lease], queue: Sequence[Waiting]
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


def ahead_of(wish: LeaseWish, by: PrincipalId, queue: Sequence[Waiting]) -> Sequence[Waiting]:
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
    wish: LeaseWish, by: PrincipalId, *, held: Sequence[Lease], queue: Sequence[Waiting]
) -> None:
    """Raises `TooManyLeases`."""
    has = [lease.resource for lease in held if lease.holder == by]
    waits_for = [waiting.resource for waiting in queue if waiting.principal == by]
    if len(has) + sum(resource != wish.resource for resource in waits_for) >= MOST_OF_ONE:
        raise TooManyLeases(MOST_OF_ONE)


def flaws_of_resource(resource: str) -> Sequence[Flaw]:
    return flaws_of_line("resource", resource, most=MOST_LETTERS)


def flaws_of_wish(wish: LeaseWish) -> Iterator[Flaw]:
    yield from flaws_of_resource(wish.resource)
    yield from flaws_of_line("purpose", wish.purpose, least=0, most=MOST_LETTERS)
    yield from flaws_of_time(wish.lasts)


def flaws_of_time(lasts: timedelta) -> Iterator[Flaw]:
    if not SHORTEST <= lasts <= LONGEST:
        yield Flaw("lasts", "is between a second and a day")
