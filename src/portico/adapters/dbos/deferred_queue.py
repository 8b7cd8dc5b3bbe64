"""A line that is not there yet: whoever joins early is put there when it comes.

DBOS takes longer to load than all the rest. The server answers meanwhile.
"""

from portico.engine.core.runs import Activation, QueuedActivation
from portico.engine.ports import RunQueue


class DeferredQueue:
    def __init__(self) -> None:
        self._line: RunQueue | None = None
        self._early: list[QueuedActivation] = []

    async def bring(self, line: RunQueue) -> None:
        self._line = line
        early, self._early = self._early, []
        for turn in early:
            await line.join(turn)

    async def join(self, turn: QueuedActivation) -> None:
        if self._line is None:
            self._early.append(turn)
        else:
            await self._line.join(turn)

    async def leave(self, leg: Activation) -> None:
        self._early = [turn for turn in self._early if turn.activation != leg]
        if self._line is not None:
            await self._line.leave(leg)
