"""A bus that says that something has changed when others can see it, not before."""

from contextlib import AbstractContextManager
from functools import partial

from portico.adapters.postgres.transaction import Transactions
from portico.engine.ports import Bus, Wakeups
from portico.kernel.ids import SpaceId


class BusAfterCommit:
    """For whoever does not know whether what it does is part of something larger."""

    def __init__(self, bus: Bus, transactions: Transactions) -> None:
        self._bus = bus
        self._transactions = transactions

    def wake(self, space: SpaceId, topic: str) -> None:
        self._transactions.afterwards(partial(self._bus.wake, space, topic))

    def listen(self, space: SpaceId, topic: str) -> AbstractContextManager[Wakeups]:
        return self._bus.listen(space, topic)
