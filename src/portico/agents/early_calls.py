"""Reads that are begun while the model is still speaking.

They were asked for, so this is no guess. What one gives is handed to the step that makes the call
as its own; after a crash there is nothing to hand over, and the step makes it.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from portico.agents.core.calling import SEARCH, Acts, Early, Wanted
from portico.agents.core.message import ToolCall
from portico.agents.ports import Toolbox
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError

AT_ONCE: Final = 8
"""Of one turn."""


@dataclass(frozen=True, slots=True)
class _Begun:
    call: ToolCall
    at: datetime
    task: "asyncio.Task[Early | None]"


@dataclass(frozen=True, slots=True)
class ReadEarly:
    early: Early
    began: datetime


@dataclass(slots=True, kw_only=True)
class EarlyCalls:
    """Of one turn."""

    toolbox: Toolbox
    acts: Acts
    group: asyncio.TaskGroup
    clock: Clock
    left: int
    """Calls that the budget of the run has left."""
    lost: int = 0
    """That were begun for an answer that came to nothing."""
    _begun: dict[int, _Begun] = field(default_factory=dict)

    def begin(self, wanted: Wanted) -> None:
        if len(self._begun) < min(AT_ONCE, self.left - self.lost):
            task = self.group.create_task(self._read(wanted))
            self._begun[wanted.place] = _Begun(wanted.call, self.clock.now(), task)

    def void(self) -> None:
        """The answer that they were begun for does not count."""
        for begun in self._begun.values():
            begun.task.cancel()
        self.lost += len(self._begun)
        self._begun.clear()

    async def of(self, place: int, call: ToolCall) -> ReadEarly | None:
        begun = self._begun.get(place)
        if begun is None or (begun.call.name, begun.call.arguments) != (call.name, call.arguments):
            return None
        early = await begun.task
        return None if early is None else ReadEarly(early, begun.at)

    async def _read(self, wanted: Wanted) -> Early | None:
        try:
            if wanted.tool != SEARCH:
                effect = await self.toolbox.effect(self.acts, wanted.tool)
                if not effect.reads_only:
                    return None
            return await self.toolbox.early(self.acts, wanted)
        except PorticoError:  # the step that makes the call is told the same
            return None
