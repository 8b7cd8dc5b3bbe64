"""How much is done ahead of time: counted when it is begun, so that no bound is ever passed."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final, TypeVar

from portico.kernel.ids import PrincipalId, SpaceId
from portico.learning.core.prefetch.attempt import Use
from portico.learning.core.prefetch.buffer import Place

_MINUTE: Final = 60.0
_HOUR: Final = 3_600.0
_REMEMBERED: Final = 1_000
"""Principals and tasks. Who is not among the latest has begun nothing for longer than a minute, or
there are so many that the bound of the process holds all of them."""

_Whose = TypeVar("_Whose")
_What = TypeVar("_What")


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """One call, to be given back when it is over."""

    place: Place
    server: str


@dataclass(slots=True)
class Budget:
    """Times are seconds."""

    _under_way: set[Started] = field(default_factory=set)
    _begun: OrderedDict[tuple[SpaceId, PrincipalId], deque[float]] = field(
        default_factory=OrderedDict
    )
    _spent: OrderedDict[Place, deque[tuple[float, float]]] = field(default_factory=OrderedDict)

    def use(self, place: Place, server: str, now: float) -> Use:
        mine = (place.space, place.principal)
        begun = self._begun.get(mine, ())
        spent = self._spent.get(place, ())
        return Use(
            at_once=len(self._under_way),
            own_at_once=sum(_whose(each.place) == mine for each in self._under_way),
            at_server=sum(
                (each.place.space, each.server) == (place.space, server) for each in self._under_way
            ),
            last_minute=sum(now - at < _MINUTE for at in begun),
            spent=sum(price for at, price in spent if now - at < _HOUR),
        )

    def begin(self, place: Place, server: str, price: float, now: float) -> Started:
        """It counts from now on, whatever becomes of it: what was paid is paid."""
        started = Started(place, server)
        self._under_way.add(started)
        times = _latest(self._begun, _whose(place))
        while times and now - times[0] >= _MINUTE:
            times.popleft()
        times.append(now)
        if price > 0:
            paid = _latest(self._spent, place)
            while paid and now - paid[0][0] >= _HOUR:
                paid.popleft()
            paid.append((now, price))
        return started

    def end(self, started: Started) -> None:
        """Once or several times."""
        self._under_way.discard(started)

    @property
    def remembered(self) -> int:
        return len(self._begun) + len(self._spent)


def _latest(of: OrderedDict[_Whose, deque[_What]], who: _Whose) -> deque[_What]:
    found = of.setdefault(who, deque())
    of.move_to_end(who)
    while len(of) > _REMEMBERED:
        of.popitem(last=False)
    return found


def _whose(place: Place) -> tuple[SpaceId, PrincipalId]:
    return place.space, place.principal
