"""Every topic that somebody follows in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Final

from portico.engine.core.cursor import Positions
from portico.engine.core.entry import Aside
from portico.engine.cursors import Cursors
from portico.engine.ports import Bus, EventLog, Seal, Wording
from portico.engine.subscription import Subscription
from portico.engine.tail import Pace, Tail
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

_TELLINGS: Final = 10_000
"""A second, to all followers together; a telling holds all that is new for one of them."""
_READING: Final = 10
"""What a look into the log costs, in tellings."""
_AT_ONCE: Final = 0.1
"""Seconds' worth of tellings that need not wait, after a quiet time."""
_LOOKS: Final = 50
"""A second, of all tails together."""


class Tails:
    """A tail a topic and clearance: it reads behind the same wall as its followers would, and
    lives as long as it has one."""

    def __init__(
        self, *, log: EventLog, bus: Bus, seal: Seal, wording: Wording, look: float = 5.0
    ) -> None:
        self._log = log
        self._bus = bus
        self._seal = seal
        self._wording = wording
        self._tails: dict[tuple[SpaceId, str], dict[Label, Tail]] = {}
        self._tasks: dict[Tail, asyncio.Task[None]] = {}
        self._subscriptions: set[Subscription] = set()
        self._busy_until = 0.0
        self._pace = Pace(after=self._after, look=lambda: max(look, len(self._tasks) / _LOOKS))

    @asynccontextmanager
    async def follow(self, caller: Principal, positions: Positions) -> AsyncIterator[Subscription]:
        """What the caller may see of these topics after these positions, as it comes. A topic
        that is not there, or not for the caller, is one in which nothing has happened yet."""
        cursors = Cursors.of(self._seal, caller.space, positions)
        subscription = Subscription(positions, cursors, self._wording)
        self._subscriptions.add(subscription)
        followers = subscription.follow([self._tail(caller, topic) for topic in positions])
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            for follower in followers:
                follower.tail.followers.discard(follower)
            await self._end({follower.tail for follower in followers})

    def say(self, space: SpaceId, aside: Aside) -> None:
        """To those who follow the topic here and now, and may hear it."""
        for clearance, tail in self._tails.get((space, aside.topic), {}).items():
            if clearance.covers(aside.label):
                tail.say(aside, self._pace)

    @property
    def size(self) -> tuple[int, int]:
        """How many subscriptions, and how many tails."""
        return len(self._subscriptions), len(self._tasks)

    def _after(self, told: int) -> float:
        now = asyncio.get_running_loop().time()
        start = max(self._busy_until, now - _AT_ONCE)
        self._busy_until = start + (told + _READING) / _TELLINGS
        return max(self._busy_until - now, 0.0)

    def _tail(self, caller: Principal, topic: str) -> Tail:
        tails = self._tails.setdefault((caller.space, topic), {})
        tail = tails.get(caller.clearance)
        if tail is None or tail.broken:
            reader = Principal(
                id=caller.id,
                space=caller.space,
                kind=PrincipalKind.WORKER,
                name="tail",
                clearance=caller.clearance,
            )
            cursors = Cursors.of(self._seal, caller.space, [topic])
            tail = Tail(reader, topic, self._log, self._wording, cursors)
            tails[caller.clearance] = tail
            self._tasks[tail] = asyncio.create_task(
                tail.run(self._bus, self._pace),
                context=Context(),  # nobody's: it may outlive whoever happened to come first
            )
        return tail

    async def _end(self, tails: set[Tail]) -> None:
        """Those that nobody follows any more."""
        ended = [tail for tail in tails if not tail.followers and tail in self._tasks]
        tasks = [self._tasks.pop(tail) for tail in ended]
        for tail, task in zip(ended, tasks, strict=True):
            place = (tail.reader.space, tail.topic)
            siblings = self._tails.get(place, {})
            if siblings.get(tail.reader.clearance) is tail:
                del siblings[tail.reader.clearance]
            if not siblings:
                self._tails.pop(place, None)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
