"""Where something is being changed, or may still be: nothing is read ahead of time there."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from portico.guard.core.access_request import Act
from portico.kernel.ids import PrincipalId, SpaceId

_REST: Final = 60.0
"""Seconds after a change of which nobody knows whether it was made, or still will be."""

_HERE: Final = "here/"
"""All servers that run here; none is called so."""

Subject = tuple[SpaceId, PrincipalId | str]
"""A principal, or a server by its name, or `_HERE`."""


@dataclass(slots=True)
class Unsettled:
    """Times are seconds."""

    _under_way: Counter[Subject] = field(default_factory=Counter)
    _until: dict[Subject, float] = field(default_factory=dict)

    def begin(self, act: Act) -> None:
        self._under_way.update(_subjects(act))

    def end(self, act: Act, now: float, *, known: bool) -> None:
        """`known`: it has been answered, one way or the other."""
        for subject in _subjects(act):
            self._under_way[subject] -= 1
            if not self._under_way[subject]:
                del self._under_way[subject]
            if not known:
                self._until[subject] = now + _REST

    def touches(self, act: Act, now: float) -> bool:
        return any(
            subject in self._under_way or now < self._until.get(subject, now)
            for subject in _subjects(act)
        )

    def sweep(self, now: float) -> None:
        self._until = {subject: until for subject, until in self._until.items() if now < until}


def _subjects(act: Act) -> Iterator[Subject]:
    yield act.caller.space, act.caller.id
    yield act.caller.space, act.aim.server
    if act.aim.here:
        yield act.caller.space, _HERE
