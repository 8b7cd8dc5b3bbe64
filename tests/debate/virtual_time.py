"""A loop in which nobody waits: where nothing is left to do but to wait, its time jumps ahead to
whatever comes next. Where nothing would ever come, it says so instead of hanging."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from portico.testing.memory_store import BEGINNING

Result = TypeVar("Result")


class Hangs(Exception):
    """All wait, and for nothing that will ever happen."""


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing that is outside."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Hangs
        if timeout > 0:
            self.loop.passed += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _Jumping()
        selector.loop = self
        self.passed = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.passed

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override] # at once
        """No threads: nobody could say how much time passes meanwhile."""
        done = self.create_future()
        done.set_result(func(*args))
        return done


class LoopClock:
    """What the loop's time is on a calendar."""

    def __init__(self, start: datetime = BEGINNING) -> None:
        self._start = start
        self.ahead = timedelta(0)
        """That was slept through by no loop: a process that was gone."""

    def now(self) -> datetime:
        passed = timedelta(seconds=asyncio.get_running_loop().time())
        return self._start + passed + self.ahead


def in_no_time(story: Coroutine[Any, Any, Result]) -> Result:
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(story)
    finally:
        loop.run_until_complete(_cancelled(asyncio.all_tasks(loop)))
        loop.close()


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
