"""The line of legs within this process: whoever joins is carried out as soon as there is room."""

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from portico.engine.core.runs import Leg, Queue, Turn
from portico.kernel.clock import Clock

_LOOK: Final = 0.05
"""Seconds between two looks at whose time has come, unless somebody says otherwise."""


class InlineLine:
    def __init__(self, queues: Iterable[Queue], clock: Clock, *, look: float = _LOOK) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._clock = clock
        self._look = look
        self._waiting: list[tuple[int, int, Turn]] = []
        self._order = itertools.count()
        self._running: dict[Leg, Turn] = {}
        self._stirred = asyncio.Event()

    @property
    def running(self) -> int:
        return len(self._running)

    async def join(self, turn: Turn) -> None:
        known = {waiting.leg for _, _, waiting in self._waiting} | self._running.keys()
        if turn.leg not in known:
            heapq.heappush(self._waiting, (turn.place.priority, next(self._order), turn))
            self._stirred.set()

    async def leave(self, leg: Leg) -> None:
        self._waiting = [entry for entry in self._waiting if entry[2].leg != leg]
        heapq.heapify(self._waiting)

    @asynccontextmanager
    async def working(
        self,
        run_leg: Callable[[Leg], Awaitable[None]],
        due: Callable[[datetime], Sequence[Turn]],
    ) -> AsyncIterator[None]:
        """Carries out whoever joins, for as long as this is open."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(group, run_leg))
            waking = group.create_task(self._wake(due))
            try:
                yield
            finally:
                serving.cancel()
                waking.cancel()

    async def _serve(
        self, group: asyncio.TaskGroup, run_leg: Callable[[Leg], Awaitable[None]]
    ) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            for turn in self._next():
                self._running[turn.leg] = turn
                group.create_task(self._carry_out(turn, run_leg))

    async def _carry_out(self, turn: Turn, run_leg: Callable[[Leg], Awaitable[None]]) -> None:
        try:
            await run_leg(turn.leg)
        finally:
            del self._running[turn.leg]
            self._stirred.set()

    async def _wake(self, due: Callable[[datetime], Sequence[Turn]]) -> None:
        while True:
            await asyncio.sleep(self._look)
            for turn in due(self._clock.now()):
                await self.join(turn)

    def _next(self) -> Sequence[Turn]:
        """Who may go now, in order; the rest go on waiting."""
        queues = Counter(turn.place.queue for turn in self._running.values())
        partitions = Counter(
            (turn.place.queue, turn.place.partition) for turn in self._running.values()
        )
        going, staying = [], []
        for entry in sorted(self._waiting):
            place = entry[2].place
            queue = self._queues[place.queue]
            most = min(each for each in (queue.a_process, queue.everywhere, 10**9) if each)
            shared = queue.a_partition or 10**9
            if queues[place.queue] < most and partitions[place.queue, place.partition] < shared:
                queues[place.queue] += 1
                partitions[place.queue, place.partition] += 1
                going.append(entry[2])
            else:
                staying.append(entry)
        self._waiting = staying
        return going
