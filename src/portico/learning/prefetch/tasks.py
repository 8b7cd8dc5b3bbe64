"""The tasks that callers are at, and what of each is still to be learnt from."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.buffer import Place, place_of
from portico.learning.core.prefetch.layer import Increment, Layer
from portico.learning.core.prefetch.predicted import Predicted
from portico.learning.core.prefetch.window import IDLE, LONGEST, SeenCall

_TASKS: Final = 100


class Foretelling(Protocol):
    """What one task has done and said, and what it will probably do next."""

    def saw(self, call: SeenCall, layer: Layer) -> Sequence[Increment]: ...

    def told(self, text: str) -> None: ...

    def ahead(
        self, layers: Sequence[Layer], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]: ...

    def end(self, layer: Layer) -> Sequence[Increment]: ...


@dataclass(slots=True)
class Task:
    caller: Principal
    course: Foretelling
    heard_at: datetime
    label: Label = PUBLIC
    missed: bool = False
    """Something happened at it that was not worked through."""


@dataclass(slots=True, kw_only=True)
class Tasks:
    begin: Callable[[], Foretelling]
    """For a task that nothing is known of yet."""
    _at: OrderedDict[Place, Task] = field(default_factory=OrderedDict)

    def __iter__(self) -> Iterator[Task]:
        return iter([*self._at.values()])

    def of(self, caller: Principal, label: Label, now: datetime) -> Task:
        """That which the caller is at, as they are now."""
        place = place_of(caller)
        task = self._at.get(place)
        if task is None:
            task = self._at[place] = Task(caller, self.begin(), now)
        task.caller, task.label, task.heard_at = caller, label, now
        self._at.move_to_end(place)
        return task

    def missed(self, caller: Principal) -> None:
        """Something of what the caller's task has done: it begins anew. What it has taught already
        is remembered, so that nobody teaches more by being missed."""
        task = self._at.get(place_of(caller))
        if task is not None:
            task.missed = True

    def forget(self, caller: Principal) -> None:
        self._at.pop(place_of(caller), None)

    def too_many(self) -> Iterator[Task]:
        """Those that nothing was heard of for longest, which are forgotten."""
        while len(self._at) > _TASKS:
            yield self._at.popitem(last=False)[1]

    def idle(self, now: datetime) -> Iterator[Task]:
        """At which nothing has happened for so long that it was the end of something; what they
        have taught is remembered for longer."""
        for task in self:
            if now - task.heard_at > IDLE:
                yield task
            if now - task.heard_at > LONGEST:
                self.forget(task.caller)
