"""Who may call at the same time: all at once, except for what must be alone.

An old server's question over stdio does not say which call it belongs to. So a tool that has been
seen to ask is called alone, and then there is only one whom it can mean.
"""

import asyncio
from collections import deque
from contextlib import suppress


class Turns:
    def __init__(self) -> None:
        self._together = 0
        self._alone = False
        self._queue: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def take(self, *, alone: bool) -> None:
        if not self._queue and self._free(alone=alone):
            self._let_in(alone=alone)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (turn, alone)
        self._queue.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(alone=alone)
            else:
                with suppress(ValueError):
                    self._queue.remove(entry)
                self._next()
            raise

    def give(self, *, alone: bool) -> None:
        if alone:
            self._alone = False
        else:
            self._together -= 1
        self._next()

    def _free(self, *, alone: bool) -> bool:
        return not self._alone and not (alone and self._together)

    def _let_in(self, *, alone: bool) -> None:
        if alone:
            self._alone = True
        else:
            self._together += 1

    def _next(self) -> None:
        """In the order in which they came, so that who must be alone is not kept out for ever."""
        while self._queue and self._free(alone=self._queue[0][1]):
            turn, alone = self._queue.popleft()
            if not turn.done():
                self._let_in(alone=alone)
                turn.set_result(None)
