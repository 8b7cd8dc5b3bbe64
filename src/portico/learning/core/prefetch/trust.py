"""How well somebody's next calls were foretold of late: an edge that others have proved may lead
nowhere in the work of one who does something else."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final

LATEST: Final = 20
ENOUGH: Final = 10
LEAST: Final = 0.35
"""Of the latest, that must have been asked for."""
_PATIENCE: Final = 4
"""Calls within which it must be asked for."""
_TASKS: Final = 64


@dataclass(slots=True)
class _Open:
    call: bytes
    left: int = _PATIENCE


@dataclass(slots=True)
class Trust:
    """Of one principal. Only what may be made counts, whether or not it is then made: so it comes
    back when what is foretold comes true again."""

    _latest: deque[bool] = field(default_factory=lambda: deque(maxlen=LATEST))
    _open: OrderedDict[Hashable, list[_Open]] = field(default_factory=OrderedDict)

    @property
    def good(self) -> bool:
        right = sum(self._latest)
        return len(self._latest) >= ENOUGH and right >= LEAST * len(self._latest)

    def foretold(self, task: Hashable, calls: Iterable[bytes]) -> None:
        """In this task, these, by their keys."""
        known = {each.call for each in self._open.get(task, ())}
        anew = [_Open(call) for call in calls if call not in known]
        if anew:
            self._open.setdefault(task, []).extend(anew)
            self._open.move_to_end(task)
        while len(self._open) > _TASKS:
            self.ended(next(iter(self._open)))

    def saw(self, task: Hashable, call: bytes, *, reads: bool) -> None:
        """This was called in it. What a change has overtaken can come true no more."""
        still = []
        for each in self._open.pop(task, ()):
            each.left -= 1
            if each.call == call:
                self._latest.append(True)
            elif each.left and reads:
                still.append(each)
            else:
                self._latest.append(False)
        if still:
            self._open[task] = still

    def ended(self, task: Hashable) -> None:
        """Nothing more will come in it."""
        self._latest.extend(False for _ in self._open.pop(task, ()))
