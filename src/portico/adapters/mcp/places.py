"""How many processes there may be: whoever wants to start one more waits for a place."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class NoPlace(Exception):
    """None became free in time."""


class Places:
    def __init__(self, most: int, make_way: Callable[[], None]) -> None:
        self._most = most
        self._make_way = make_way
        """Asked to end somebody who has nothing to do, if there is anyone."""
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def wanted(self) -> int:
        return len(self._queue)

    @property
    def most(self) -> int:
        return self._most

    async def take(self, patience: float) -> None:
        """Raises `NoPlace`."""
        if self._taken < self._most and not self._queue:
            self._taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._make_way()
        try:
            async with asyncio.timeout(patience):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:
            if turn.done() and not turn.cancelled():
                self.give()
            with suppress(ValueError):
                self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise NoPlace from error
            raise

    def give(self) -> None:
        self._taken -= 1
        while self._queue and self._taken < self._most:
            turn = self._queue.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)
