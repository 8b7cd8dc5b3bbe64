"""One caller at one station: shown in, served, and told in the gateway's words what went wrong.

All of it happens in the caller's own task. When that is cancelled, so is this, and the server is
told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from portico.adapters.mcp.conversation import Conversation
from portico.adapters.mcp.exchange import Exchange
from portico.adapters.mcp.station import Failure, Station
from portico.adapters.mcp.stations import Stations
from portico.adapters.mcp.wire import Broken, Crowded
from portico.gateway.core.errors import (
    UpstreamBusy,
    UpstreamDown,
    UpstreamTimedOut,
    UpstreamWantsLogin,
)
from portico.kernel.errors import PorticoError

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Visit:
    stations: Stations
    station: Station
    exchange: Exchange
    seconds: float
    looks: bool = False
    """Whether it only lists what there is."""
    conversation: Conversation | None = None

    async def __call__(self, work: Callable[[Conversation], Awaitable[_T]]) -> _T:
        """Raises `UpstreamDown`, `UpstreamBusy`, `UpstreamTimedOut`, and what `work` raises."""
        station = self.station
        self.stations.came(station, looks=self.looks)
        timer = asyncio.timeout(self.seconds)
        self.exchange.timer = timer
        try:
            async with timer:
                conversation = station.conversation or await self._shown_in()
                self.conversation = conversation
                conversation.users += 1
                self.exchange.words = conversation.way.words
                result = await work(conversation)
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise self._too_late() from error
        except (Broken, Crowded) as error:
            raise self._broke_off(error) from error
        finally:
            self.stations.left(station, self.conversation, looks=self.looks)
        self._went_well()
        return result

    async def _shown_in(self) -> Conversation:
        """Raises `UpstreamDown`, `UpstreamBusy`."""
        station = self.station
        while station.conversation is None:
            if station.breaker.rests(asyncio.get_running_loop().time()):
                raise self._turned_away(station.failure or Failure("it broke off"))
            failure = await self.stations.started(station)
            if failure is not None:
                raise self._turned_away(failure)
        return station.conversation

    def _turned_away(self, failure: Failure) -> PorticoError:
        if failure.crowded:
            return UpstreamBusy(self.stations.clean(failure.reason))
        if failure.login is not None:
            return UpstreamWantsLogin(self.station.target.server, failure.login)
        return self._down(failure.reason, failure.fix, reached=False)

    def _too_late(self) -> PorticoError:
        if self.conversation is None:
            reason = f"it is still starting after {self.seconds:g} s"
            return self._down(reason, "Try again in a moment.", reached=False)
        if not self.exchange.sent:
            return UpstreamBusy(f"{self.exchange.subject}: its server is busy with another call.")
        words = self.exchange.words
        if words is not None and words == self.conversation.way.words:
            self.stations.silent(self.station, self.conversation)
        return UpstreamTimedOut(self.exchange.subject, self.seconds)

    def _broke_off(self, error: Broken | Crowded) -> PorticoError:
        if isinstance(error, Crowded):
            return UpstreamBusy(f"{self.station.target.server}: {error}.")
        if error.login is not None:
            return UpstreamWantsLogin(self.station.target.server, error.login)
        reason = error.reason
        if self.conversation is not None and error.final:
            self.stations.broke(self.station, self.conversation, reason)
            if self.station.is_process:
                reason = self.stations.told(self.station, reason)
        return self._down(reason, error.fix, reached=error.reached)

    def _down(self, reason: str, fix: str | None, *, reached: bool) -> UpstreamDown:
        server, clean = self.station.target.server, self.stations.clean
        return UpstreamDown(server, clean(reason), fix=fix, reached=reached)

    def _went_well(self) -> None:
        if self.looks:  # many that can still list what they offer hang, or die, when they are used
            return
        self.station.silent = 0
        if self.station.breaker.strikes:
            self.station.breaker.answered()
