"""The two engines that plans run on: the durable one, and this process alone."""

from dataclasses import dataclass
from typing import Protocol

from portico.engine.core.errors import RunNotFound
from portico.engine.core.runs import Run, Started
from portico.engine.ports import Bus, Line, RunBook, Runs
from portico.engine.runs import RunWish
from portico.gateway.core.plan.report import Mode
from portico.gateway.workflows.outputs import Outputs
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal


class Starting(Protocol):
    async def started(self, caller: Principal, wish: RunWish) -> Started:
        """Raises what starting a run raises."""
        ...


class OpenOutputs(Protocol):
    def __call__(self) -> Outputs:
        """Where what a run gives is kept, for one who is about to keep or to read some of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSide:
    """One of them, as whoever starts and looks at runs needs it."""

    mode: Mode
    book: RunBook
    runs: Runs
    line: Line
    bus: Bus
    start_run: Starting
    outputs: OpenOutputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    durable: EngineSide
    inline: EngineSide

    async def find(self, caller: Principal, run: RunId) -> tuple[Run, EngineSide]:
        """Raises `RunNotFound`."""
        try:
            return await self.inline.book.get(caller, run), self.inline
        except RunNotFound:
            return await self.durable.book.get(caller, run), self.durable

    def of(self, mode: Mode) -> EngineSide:
        return self.inline if mode is Mode.INLINE else self.durable
