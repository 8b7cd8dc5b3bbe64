"""A line that is joined when what was written can be seen, not before.

Whoever takes up a leg looks for its run, and would not find it, or would find it still waiting.
"""

import asyncio
from functools import partial

from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.runs import Leg, Turn
from portico.engine.ports import Line


class LineAfterCommit:
    """For whoever starts or wakes runs as part of something larger."""

    def __init__(self, line: Line, transactions: Transactions) -> None:
        self._line = line
        self._transactions = transactions
        self._written: asyncio.Queue[Turn] = asyncio.Queue()

    async def join(self, turn: Turn) -> None:
        if self._transactions.inside:
            self._transactions.afterwards(partial(self._written.put_nowait, turn))
        else:
            await self._line.join(turn)

    async def leave(self, leg: Leg) -> None:
        await self._line.leave(leg)

    async def run(self) -> None:
        """Until cancelled. What is not in line by then is found by whoever looks after it."""
        while True:
            await self._line.join(await self._written.get())
