"""What a run waits for while it is carried out, and when somebody has to look again."""

import asyncio
from collections import UserDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from portico.kernel.json import JsonValue

_LOOK: Final = 5.0
"""Seconds; a waiting run that is kept in memory looks by itself so often."""
_RARE_LOOK: Final = 15.0
"""Seconds; one that does not wait looks whether it is still its own."""


@dataclass(slots=True)
class Wait:
    """For somebody (`topic`), for a time (`due_at`), or for whichever comes first."""

    name: str
    topic: str | None
    due_at: datetime | None
    over: "asyncio.Future[JsonValue]"
    began: datetime


class Waits(UserDict[str, Wait]):
    """By the names of their steps."""

    @property
    def topics(self) -> list[str]:
        return [wait.topic for wait in self.values() if wait.topic is not None]

    @property
    def next_due(self) -> datetime | None:
        return min((w.due_at for w in self.values() if w.due_at is not None), default=None)

    def due_within(self, grace: timedelta, now: datetime) -> bool:
        due = self.next_due
        return due is not None and due - now <= grace

    def pause(self, now: datetime) -> float:
        """Seconds until one should look by oneself."""
        if not self:
            return _RARE_LOOK
        due = self.next_due
        if due is None:
            return _LOOK
        return min(max((due - now).total_seconds(), 0.001), _LOOK)


@dataclass(slots=True)
class Stir:
    """Something has happened that whoever attends to the waits should look at."""

    event: asyncio.Event = field(default_factory=asyncio.Event)

    def set(self) -> None:
        self.event.set()

    async def within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.event.wait()
        except TimeoutError:
            return False
        self.event.clear()
        return True
