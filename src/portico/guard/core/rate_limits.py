"""Rate limits: a sliding window of one minute."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.access_request import AccessRequest
from portico.guard.core.rules import fits

# How often something may be done in a minute, and how much of that is still free.
#
# Time is cut into slots, and what was taken counts until the last moment at which it could have
# been used is a whole minute ago: so never more than the limit fall into any minute, wherever one
# begins to count, and a burst is served as a burst.

MINUTE: Final = timedelta(minutes=1)
_SLOTS: Final = 240
_AHEAD: Final = 2
"""Slots within which what was taken ahead of time has to be used."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`subject` is what is counted under; `what` is what people call it."""

    subject: str
    what: str
    per_minute: int

    @property
    def ahead(self) -> int:
        """How many a process takes at a time: a hundredth, so that four of them, each of which
        goes idle right then, keep 4 % from the others for a minute at the worst."""
        return max(1, self.per_minute // 100)

    def shared(self, share: float) -> "Limit":
        """What of it may be used up by what nobody has asked for yet."""
        return replace(self, per_minute=int(self.per_minute * share))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRates:
    """What the settings allow, in calls a minute; nothing limits what is not here."""

    principal: int | None = None
    tools: Mapping[str, int] = field(default_factory=dict)
    """By wildcards over `server.tool`: all that one of them stands for counts together."""
    servers: Mapping[str, int] = field(default_factory=dict)

    def own(self, act: AccessRequest) -> tuple[Limit, ...]:
        """The caller's, for whatever it tries."""
        if self.principal is None:
            return ()
        caller = act.caller
        return (Limit(f"principal:{caller.id}", f"calls by {caller.name}", self.principal),)

    def shared(self, act: AccessRequest) -> tuple[Limit, ...]:
        """Everybody's, each of which has to have one left."""
        found = []
        if (most := self.servers.get(act.target.server)) is not None:
            server = act.target.server
            found.append(Limit(f"server:{server}", f"calls of the server {server}", most))
        found += [
            Limit(f"tool:{wildcard}", f"calls of {wildcard}", most)
            for wildcard, most in self.tools.items()
            if fits(act.target.tool, [wildcard])
        ]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Slots:
    """How the window is cut."""

    window: timedelta = MINUTE

    @property
    def seconds(self) -> float:
        """Of one slot."""
        return self.window.total_seconds() / _SLOTS

    @property
    def count(self) -> int:
        """Those of the window, the one in which something was taken, and those in which it may
        still be used."""
        return _SLOTS + 1 + _AHEAD

    @property
    def lease(self) -> float:
        """Seconds for which something that was taken ahead may be used."""
        return self.seconds * _AHEAD


class FirstAMinute:
    """Tells the first of a kind in a minute from those that only repeat it; of the latest kinds,
    so that whoever makes up new ones fills nobody's memory."""

    def __init__(self, remembered: int = 10_000) -> None:
        self._remembered = remembered
        self._heard: OrderedDict[Hashable, datetime] = OrderedDict()

    def __call__(self, kind: Hashable, now: datetime) -> bool:
        heard = self._heard.get(kind)
        if heard is not None and now - heard < MINUTE:
            return False
        self._heard[kind] = now
        self._heard.move_to_end(kind)
        if len(self._heard) > self._remembered:
            self._heard.popitem(last=False)
        return True


class RateWindow:
    """What was taken of one subject, for whoever keeps it in memory. Times are seconds."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._taken: dict[int, int] = {}

    def take(self, most: int, now: float) -> float:
        """One, if there is one left: zero; else how many seconds from now there is."""
        slot = int(now / self._slots.seconds)
        oldest = slot - self._slots.count + 1
        self._taken = {each: count for each, count in self._taken.items() if each >= oldest}
        if sum(self._taken.values()) < most:
            self._taken[slot] = self._taken.get(slot, 0) + 1
            return 0.0
        first = min(self._taken, default=slot)
        return (first + self._slots.count) * self._slots.seconds - now
