"""What a call has to do with what was done ahead of it, and what that needs from outside."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Final, Protocol

from portico.gateway.core.ahead.forms import EdgeKey
from portico.gateway.core.ahead.switches import Switches
from portico.gateway.core.ahead.totals import Waste
from portico.gateway.core.call import Answer
from portico.gateway.core.server import Server
from portico.guard.core.access_request import Act
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class Ahead(Protocol):
    """Whoever looks ahead, as a call sees it: it costs the caller next to nothing."""

    def changing(self, act: Act) -> AbstractContextManager[None]:
        """While it is being made: if it may change something, nothing that was read before it, or
        during it, is served after it."""
        ...

    async def claim(
        self, act: Act, again: Callable[[], Awaitable[Server]], *, timeout: timedelta
    ) -> Answer | None:
        """What the tool answered to exactly this a moment ago, if it was asked ahead of time for
        this caller in this task; one that is still under way is waited for, and is then the
        caller's own. `again` looks once more whether it may be called: what it raises is raised.
        None: it has to be made."""
        ...

    def note(
        self, act: Act, server: Server, began: datetime, answer: Answer, *, in_run: bool = False
    ) -> None:
        """A caller has called this and was told that. `in_run`: it was made for a run; the order of
        a plan's calls says nothing of what somebody does next."""
        ...


class Hears(Protocol):
    """Who is told what somebody looks for, or wants done, in their own words."""

    def __call__(self, caller: Principal, *words: str) -> None: ...


def nobody_hears(caller: Principal, *words: str) -> None:
    """It is said to no one."""


class AheadTally(Protocol):
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

    def wasted(self, why: Waste) -> None: ...


class SwitchesAtHand(Protocol):
    async def current(self, caller: Principal) -> Switches:
        """In force in the caller's space, never older than a second."""
        ...


class Elsewhere(Protocol):
    """What other processes of the same house do."""

    async def changed_since(self, act: Act, since: datetime) -> bool:
        """Whether one of them has made a call since then that may have changed what this reads, or
        is at one: for the same principal, or at the same server, or, if that runs here, at any
        other that does. When in doubt, yes."""
        ...


class _Never:
    def changing(self, act: Act) -> AbstractContextManager[None]:  # noqa: ARG002 # of no matter
        return nullcontext()

    async def claim(
        self,
        act: Act,  # noqa: ARG002 # nothing was done ahead of it
        again: Callable[[], Awaitable[Server]],  # noqa: ARG002 # so nothing is looked at again
        *,
        timeout: timedelta,  # noqa: ARG002 # nor waited for
    ) -> Answer | None:
        return None

    def note(
        self, act: Act, server: Server, began: datetime, answer: Answer, *, in_run: bool = False
    ) -> None:
        """Nobody looks ahead."""


NEVER_AHEAD: Final[Ahead] = _Never()
