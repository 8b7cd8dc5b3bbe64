"""What prefetching needs from outside."""

from datetime import datetime, timedelta
from typing import Protocol

from portico.guard.core.access_request import AccessRequest
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.observed_calls import EdgeKey
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_gates import Switches


class PrefetchCounter(Protocol):
    """Who counts what is foretold, and what comes of it."""

    def called(self, caller: Principal, label: Label) -> None: ...

    def predicted(self, caller: Principal, label: Label, edge: EdgeKey, *, live: bool) -> None: ...

    def tried(self, caller: Principal, label: Label, edge: EdgeKey | None) -> None: ...

    def served(
        self,
        caller: Principal,
        label: Label,
        edge: EdgeKey | None,
        *,
        took: timedelta,
        waited: timedelta,
    ) -> None: ...

    def wasted(self, why: WasteReason) -> None: ...


class SwitchesAtHand(Protocol):
    async def current(self, caller: Principal) -> Switches:
        """In force in the caller's space, never older than a second."""
        ...


class Elsewhere(Protocol):
    """What other processes of the same house do."""

    async def changed_since(self, act: AccessRequest, since: datetime) -> bool:
        """Whether one of them has made a call since then that may have changed what this reads, or
        is at one: for the same principal, or at the same server, or, if that runs here, at any
        other that does. When in doubt, yes."""
        ...
