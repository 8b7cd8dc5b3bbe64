"""News of conversations, for all who listen in this process: one look a wake-up and clearance, and
nothing that piles up."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Final

from portico.bridge.core.conversation import ConversationId
from portico.bridge.news_listener import Listener
from portico.bridge.news_watch import Eyes, Pace, Watch, Watched
from portico.bridge.ports import Conversations, Messages
from portico.engine.ports import Bus
from portico.guard.authentication import AsTheyAre
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_TELLINGS: Final = 10_000
"""A second, to all listeners together."""
_LOOKING: Final = 10
"""What a look costs, in tellings."""
_AT_ONCE: Final = 0.1
"""Seconds' worth of tellings that need not wait, after a quiet time."""
_LOOKS: Final = 50
"""A second, of all watches together."""


class Bulletin:
    """A watch a conversation and clearance: it reads behind the same wall as its listeners would,
    and lives as long as it has one."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        messages: Messages,
        as_they_are: AsTheyAre,
        bus: Bus,
        look: float = 5.0,
    ) -> None:
        self._eyes = Eyes(conversations=conversations, messages=messages, as_they_are=as_they_are)
        self._bus = bus
        self._watches: dict[Watched, Watch] = {}
        self._tasks: dict[Watch, asyncio.Task[None]] = {}
        self._busy_until = 0.0
        self._pace = Pace(after=self._after, look=lambda: max(look, len(self._tasks) / _LOOKS))

    @asynccontextmanager
    async def listening(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        upto: Label | None = None,
    ) -> AsyncIterator[Listener]:
        """To what the caller may see of these. What is said after this has begun is heard of, and
        perhaps what was said just before. One that is not there for them is lost before long."""
        listener = Listener(caller, conversations, upto)
        watches = [
            self._watch(Watched(caller.space, each, listener.visible), listener)
            for each in conversations
        ]
        try:
            for watch in watches:
                await watch.begun.wait()
            yield listener
        finally:
            for watch in watches:
                watch.listeners.pop(listener, None)
            await self._end(watches)

    @property
    def size(self) -> int:
        """How many watches there are."""
        return len(self._tasks)

    def _watch(self, watched: Watched, listener: Listener) -> Watch:
        watch = self._watches.get(watched)
        if watch is None or watch.over:
            watch = self._watches[watched] = Watch(watched, self._eyes)
            self._tasks[watch] = asyncio.create_task(
                watch.run(self._bus, self._pace),
                context=Context(),  # nobody's: it may outlive whoever happened to come first
            )
        watch.listeners[listener] = None
        return watch

    async def _end(self, watches: Iterable[Watch]) -> None:
        """Those that nobody listens to any more."""
        ended = [watch for watch in watches if not watch.listeners and watch in self._tasks]
        tasks = [self._tasks.pop(watch) for watch in ended]
        for watch, task in zip(ended, tasks, strict=True):
            if self._watches.get(watch.watched) is watch:
                del self._watches[watch.watched]
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _after(self, told: int) -> float:
        now = asyncio.get_running_loop().time()
        start = max(self._busy_until, now - _AT_ONCE)
        self._busy_until = start + (told + _LOOKING) / _TELLINGS
        return max(self._busy_until - now, 0.0)
