"""Who looking ahead is done for: nobody's work keeps it from the others."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from portico.learning.core.prefetch.effort_share import EffortShare

_PART: Final = 0.25
"""Of the whole, what one may use of the half that is kept for those who use little."""
_REMEMBERED: Final = 1_000


@dataclass(slots=True)
class FairEffort:
    """Times are seconds. One half is anybody's; of the other each has a part, and no more."""

    share: float = 0.03
    saved: float = 0.25
    """Of work that may be saved up."""
    _open: EffortShare = field(init=False)
    _kept: EffortShare = field(init=False)
    _own: OrderedDict[Hashable, EffortShare] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._open, self._kept = self._part(0.5), self._part(0.5)

    def may(self, who: Hashable, now: float) -> bool:
        own = self._of(who).may(now)
        kept, anybodys = self._kept.may(now), self._open.may(now)
        return anybodys or (own and kept)

    def spent(self, who: Hashable, seconds: float) -> None:
        """First of what is anybody's. What is beyond one's own part too is owed by both."""
        own = self._of(who)
        beyond = seconds - min(seconds, max(0.0, self._open.left))
        mine = min(beyond, max(0.0, own.left))
        own.spent(beyond)
        self._kept.spent(mine)
        self._open.spent(seconds - mine)

    def _of(self, who: Hashable) -> EffortShare:
        own = self._own.get(who)
        if own is None:
            own = self._own[who] = self._part(_PART)
        self._own.move_to_end(who)
        while len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        return own

    def _part(self, part: float) -> EffortShare:
        return EffortShare(self.share * part, self.saved * part, self.saved * part)
