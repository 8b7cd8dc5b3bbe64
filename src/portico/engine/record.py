"""What one leg of a run writes down: each step by its name, numbered as it ended.

What ended is numbered here, in the order in which this process came to know of it, before it is
noted. That order is what `wait_any` goes by, so that the same one is first each time.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from portico.engine.core.entry import NewEntry
from portico.engine.core.errors import BadStepName, StepNamedTwice, StoreUnavailable
from portico.engine.core.run import Failure, Step, StepState, Taken
from portico.engine.ports import Journal
from portico.kernel.json import JsonObject, JsonValue

_PAUSE: Final = 0.2
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,300}")


class Lost(BaseException):
    """This run is somebody else's now. No work may catch it: it has nothing more to say."""


class Record:
    def __init__(self, taken: Taken, journal: Journal) -> None:
        self._taken = taken
        self._journal = journal
        self._steps = {step.name: step for step in taken.steps}
        self._last = max((step.number for step in taken.steps), default=0)
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._gate = asyncio.Event()
        self._gate.set()
        self.away = False
        """Whether nothing more is done here: the run is put away, or somebody else's."""
        self.topic = str(taken.run.id)

    def use(self, name: str) -> None:
        """Raises `BadStepName`, `StepNamedTwice`."""
        if not _NAME.fullmatch(name):
            raise BadStepName(name)
        if name in self._used:
            raise StepNamedTwice(name)
        self._used.add(name)

    def known(self, name: str) -> Step | None:
        return self._steps.get(name)

    def number_of(self, name: str) -> float:
        """Infinite for what has not ended: it will get a number after all that have."""
        return self._numbers.get(name, float("inf"))

    async def admitted(self) -> None:
        """What comes to the gate while the run is put away is done when it goes on, not now.

        Raises `Lost`.
        """
        if not self._gate.is_set():
            await self._gate.wait()
        if self.away:
            raise Lost

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Nobody is admitted meanwhile."""
        self._gate.clear()
        try:
            yield
        finally:
            self._gate.set()

    def lost(self) -> Lost:
        """Shuts the door first: whatever a work still does on its way out is not done."""
        self.away = True
        return Lost()

    def ended(
        self,
        name: str,
        started: datetime,
        finished: datetime,
        output: JsonValue,
        failure: Failure | None,
    ) -> Step:
        self._last += 1
        self._numbers[name] = self._last
        return Step(
            name=name,
            number=self._last,
            state=StepState.DONE if failure is None else StepState.FAILED,
            started_at=started,
            finished_at=finished,
            output=output,
            failure=failure,
        )

    async def noted(self, step: Step, told: NewEntry) -> None:
        """Until it is written down, however long the database is away. Raises `Lost`."""
        while True:
            try:
                if not await self._journal.finish(self._taken, step, told):
                    raise self.lost()
            except StoreUnavailable:
                await asyncio.sleep(_PAUSE)
            else:
                self._steps[step.name] = step
                return

    async def announced(self, names: Sequence[str]) -> None:
        """That steps have begun which take long. Raises `Lost`, `StoreUnavailable`."""
        told = [self.entry("step.started", {"step": name}) for name in names]
        if told and not await self._journal.announce(self._taken, told):
            raise self.lost()

    def entry(self, type_: str, facts: JsonObject) -> NewEntry:
        label = self._taken.run.label
        return NewEntry(topic=self.topic, type=type_, facts=facts, topic_label=label, label=label)

    def step_entry(self, step: Step) -> NewEntry:
        """What it gave is not in it: whoever may see that asks for the run's steps."""
        finished = step.finished_at or step.started_at
        seconds = (finished - step.started_at).total_seconds()
        facts: dict[str, JsonValue] = {"step": step.name, "seconds": round(seconds, 3)}
        if step.failure is not None:
            facts["error"] = step.failure.as_json()
        return self.entry("step.done" if step.failure is None else "step.failed", facts)
