"""What a server says about how far a call of a run has come, told now and then."""

import asyncio
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from portico.engine.execution import Lost
from portico.gateway.core.errors import InputUnsupported
from portico.gateway.core.upstream import Question, Wanted
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

_PAUSE: Final = timedelta(seconds=1)
_PATIENCE: Final = 1.0
"""Seconds."""
_MOST: Final = 100
"""Of one call; each is a row of its run's journal."""


@dataclass(slots=True)
class ProgressLine:
    """The gateway's `Line` of a call that nobody listens to: its server can ask nobody, and its
    words stay unsaid, since others read the events of a run than those who may read its values."""

    durable: Durable
    step: str
    clock: Clock
    _told: int = field(default=0, init=False)
    _last: datetime | None = field(default=None, init=False)

    @property
    def able(self) -> AbstractSet[Wanted]:
        return frozenset()

    @property
    def log_level(self) -> str | None:
        return None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 # a server's words
        now = self.clock.now()
        if self._told >= _MOST or (self._last is not None and now - self._last < _PAUSE):
            return
        self._told, self._last = self._told + 1, now
        facts: JsonObject = {"step": self.step, "done": done, "total": total}
        name = f"{self.step}:progress:{self._told}"
        # The run may have become somebody else's, or the store may be away. Whoever carries it out
        # finds that by itself, and the server's own line, on which this is called, is not ours to
        # cut or to hold up: its answer comes by it.
        with suppress(Lost, PorticoError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self.durable.tell(name, "workflow.step_progress", facts)

    async def log(self, params: JsonObject) -> None:
        """Nobody asked for it."""

    async def ask(self, question: Question) -> JsonObject:
        raise InputUnsupported(self.step, str(question.wanted))
