"""Notify people of events."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Cleaning, as_it_is
from portico.engine.ports import EventLog
from portico.guard.core.errors import LimitReached
from portico.guard.core.rate_limits import RateWindow, Slots
from portico.guard.ports import Contexts
from portico.kernel.clock import Clock
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

NOTIFICATIONS: Final = "notifications"
"""The topic."""

_REMEMBERED: Final = 10_000
"""Principals, of whom it is known how often they spoke lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyPeople:
    log: EventLog
    contexts: Contexts
    clock: Clock
    clean: Cleaning = as_it_is
    limit: int = 10
    """A minute, of one principal, in one process."""
    _heard: OrderedDict[tuple[SpaceId, PrincipalId], RateWindow] = field(
        default_factory=OrderedDict
    )

    async def __call__(self, caller: Principal, title: str, text: str) -> Label:
        """Its label: as secret as all that the caller's task has read, since it may say it again.

        Raises `LimitReached`, `ContextNotFound`, `TopicRefused`.
        """
        self._take(caller)
        label = (await self.contexts.get(caller)).label
        told = NewEntry(
            topic=NOTIFICATIONS,
            type="notification",
            details={
                "from": caller.name,
                "title": self.clean(title),
                "text": self.clean(text),
            },
            label=label,
        )
        await self.log.append(caller, [told])
        return label

    def _take(self, caller: Principal) -> None:
        who = caller.space, caller.id
        window = self._heard.setdefault(who, RateWindow(Slots()))
        self._heard.move_to_end(who)
        if len(self._heard) > _REMEMBERED:
            self._heard.popitem(last=False)
        if wait := window.take(self.limit, self.clock.now().timestamp()):
            what = f"notifications by {caller.name}"
            raise LimitReached(what, self.limit, timedelta(seconds=wait))
