"""For whom calls are made ahead: those whose next calls were foretold well of late."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.buffer import place_of
from portico.learning.core.prefetch.trust import Trust

_PRINCIPALS: Final = 1_000
"""Who is not among the latest begins anew."""
PROVEN_FOR_CALLER: Final = "proven_for_caller"
"""What forbids a call where it is not so, as a gate is called."""


@dataclass(slots=True)
class TrustInAll:
    begin: Callable[[], Trust] = Trust
    """For a principal of whom nothing is known yet."""
    _of: OrderedDict[tuple[SpaceId, PrincipalId], Trust] = field(default_factory=OrderedDict)

    def foretold(self, caller: Principal, calls: Iterable[bytes]) -> bool:
        """Whether what was foretold for them before came true. What is foretold now, in the task
        that they are at, counts for the next time."""
        trust = self._in(caller)
        good = trust.good
        trust.foretold(place_of(caller), calls)
        return good

    def saw(self, caller: Principal, call: bytes, *, reads: bool) -> None:
        self._in(caller).saw(place_of(caller), call, reads=reads)

    def ended(self, caller: Principal) -> None:
        """The task that they are at."""
        self._in(caller).ended(place_of(caller))

    def _in(self, caller: Principal) -> Trust:
        who = (caller.space, caller.id)
        trust = self._of.get(who)
        if trust is None:
            trust = self._of[who] = self.begin()
        self._of.move_to_end(who)
        while len(self._of) > _PRINCIPALS:
            self._of.popitem(last=False)
        return trust
