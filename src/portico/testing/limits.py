"""Limits in memory, by a clock that a test moves."""

from collections.abc import Sequence
from datetime import timedelta

from portico.guard.core.access_request import Act
from portico.guard.core.errors import LimitReached
from portico.guard.core.rate_limits import CallRates, Limit, Slots, Window
from portico.kernel.ids import SpaceId


class MemoryCallLimits:
    def __init__(self, rates: CallRates, slots: Slots | None = None) -> None:
        self._rates = rates
        self._slots = slots or Slots()
        self._windows: dict[tuple[SpaceId, str], Window] = {}
        self.now = 0.0
        """Seconds, since whenever."""

    async def take_own(self, act: Act) -> None:
        self._take(act, self._rates.own(act))

    async def take_shared(self, act: Act) -> None:
        self._take(act, self._rates.shared(act))

    async def take_ahead(self, act: Act, share: float) -> None:
        self._take(act, [limit.shared(share) for limit in self._rates.shared(act)])

    def _take(self, act: Act, limits: Sequence[Limit]) -> None:
        for limit in limits:
            key = act.caller.space, limit.subject
            window = self._windows.setdefault(key, Window(self._slots))
            if wait := window.take(limit.most, self.now):
                raise LimitReached(limit.what, limit.most, timedelta(seconds=wait))
