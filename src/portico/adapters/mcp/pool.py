"""The pool of upstream servers, behind the gateway's port: started when needed, ended when not."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from portico.adapters.mcp.client_requests import Exchange, passed_on, refused
from portico.adapters.mcp.connection_slots import Changed, ConnectionSlot, ConnectionSlots, Failure
from portico.adapters.mcp.secrets import NOBODY, SecretResolver
from portico.adapters.mcp.session import Conversation, Opening, Secrets, Tokens, client_info, look
from portico.adapters.mcp.stdio import Confine, Terms
from portico.adapters.mcp.transport import Message, Overloaded, Refusal, TransportFailed
from portico.gateway.core.calls import (
    Phase,
    ServerHealth,
    ServerListing,
    ToolResult,
    UpstreamTarget,
)
from portico.gateway.core.errors import (
    OfferNotFound,
    UpstreamBusy,
    UpstreamDown,
    UpstreamRefused,
    UpstreamTimedOut,
    UpstreamWantsLogin,
)
from portico.gateway.ports import ClientChannel
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

# One caller at one station: shown in, served, and told in the gateway's words what went wrong.
#
# All of it happens in the caller's own task. When that is cancelled, so is this, and the server is
# told.

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class SlotCheckout:
    stations: ConnectionSlots
    slot: ConnectionSlot
    exchange: Exchange
    seconds: float
    looks: bool = False
    """Whether it only lists what there is."""
    conversation: Conversation | None = None

    async def __call__(self, work: Callable[[Conversation], Awaitable[_T]]) -> _T:
        """Raises `UpstreamDown`, `UpstreamBusy`, `UpstreamTimedOut`, and what `work` raises."""
        station = self.slot
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
        except (TransportFailed, Overloaded) as error:
            raise self._broke_off(error) from error
        finally:
            self.stations.left(station, self.conversation, looks=self.looks)
        self._went_well()
        return result

    async def _shown_in(self) -> Conversation:
        """Raises `UpstreamDown`, `UpstreamBusy`."""
        station = self.slot
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
            return UpstreamWantsLogin(self.slot.target.server, failure.login)
        return self._down(failure.reason, failure.fix, reached=False)

    def _too_late(self) -> PorticoError:
        if self.conversation is None:
            reason = f"it is still starting after {self.seconds:g} s"
            return self._down(reason, "Try again in a moment.", reached=False)
        if not self.exchange.sent:
            return UpstreamBusy(f"{self.exchange.subject}: its server is busy with another call.")
        words = self.exchange.words
        if words is not None and words == self.conversation.way.words:
            self.stations.silent(self.slot, self.conversation)
        return UpstreamTimedOut(self.exchange.subject, self.seconds)

    def _broke_off(self, error: TransportFailed | Overloaded) -> PorticoError:
        if isinstance(error, Overloaded):
            return UpstreamBusy(f"{self.slot.target.server}: {error}.")
        if error.login is not None:
            return UpstreamWantsLogin(self.slot.target.server, error.login)
        reason = error.reason
        if self.conversation is not None and error.final:
            self.stations.broke(self.slot, self.conversation, reason)
            if self.slot.is_process:
                reason = self.stations.told(self.slot, reason)
        return self._down(reason, error.fix, reached=error.reached)

    def _down(self, reason: str, fix: str | None, *, reached: bool) -> UpstreamDown:
        server, clean = self.slot.target.server, self.stations.clean
        return UpstreamDown(server, clean(reason), fix=fix, reached=reached)

    def _went_well(self) -> None:
        if self.looks:  # many that can still list what they offer hang, or die, when they are used
            return
        self.slot.silent = 0
        if self.slot.breaker.strikes:
            self.slot.breaker.answered()


_log: Final = logging.getLogger("portico.upstreams")
_NOT_FOUND: Final = -32002
_END: Final = 10.0
"""Seconds in which all of them have to be gone when we go."""


class UpstreamPool:
    """An async context: it runs servers while it is entered, and has ended them all when it is
    left."""

    def __init__(  # noqa: PLR0913 # a door each
        self,
        terms: Terms,
        *,
        clock: Clock,
        entropy: Entropy,
        secrets: Secrets,
        changed: Changed,
        confine: Confine,
        environment: Mapping[str, str],
        tokens: Tokens | None = None,
        keeper: SecretResolver = NOBODY,
    ) -> None:
        """`environment` is our own, of which servers are given little; `changed` is told that what
        a server offers is not what it was."""
        self._clock = clock
        self._entropy = entropy
        self._secrets = secrets
        self._changed = changed
        self._confine = confine
        self._terms = terms
        self._environment = environment
        self._tokens = tokens
        self._keeper = keeper
        self._info = client_info(version("portico"))
        self._entered: ConnectionSlots | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._opening = Opening(
            environment=self._environment,
            secrets=self._secrets,
            spawn=self._spawn,
            confine=self._confine,
            terms=self._terms,
            info=self._info,
            tokens=self._tokens,
            keeper=self._keeper,
        )
        self._entered = ConnectionSlots(
            self._opening, self._terms, self._clock, self._entropy, self._changed
        )
        _ = self._spawn(self._entered.tidy())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stations, self._entered = self._stations, None
        try:
            async with asyncio.timeout(_END):
                await stations.stop_all()
                await self._opening.watch.end()
        except TimeoutError:
            _log.error("some servers did not end in time, and are left to the warden")
        finally:
            for task in self._tasks:
                task.cancel()
            await self._group.__aexit__(None, None, None)

    @property
    def _stations(self) -> ConnectionSlots:
        if self._entered is None:
            raise UpstreamBusy("Portico is not serving now.")
        return self._entered

    def running(self) -> int:
        """Processes, those that are starting or ending among them."""
        return 0 if self._entered is None else self._entered.processes

    async def look(self, target: UpstreamTarget) -> ServerListing:
        exchange = Exchange(subject=target.server, name="", sent=True)
        return await self._served(target, exchange, self._terms.look, look, looks=True)

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        exchange = Exchange(subject=f"{target.server}.{tool}", name=tool, channel=line)

        def call(conversation: Conversation) -> Awaitable[ToolResult]:
            return conversation.call(exchange, arguments)

        return await self._served(target, exchange, timeout, call)

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        try:
            return await self._passed(target, "resources/read", {"uri": uri}, timeout, line)
        except UpstreamRefused as error:
            if error.number != _NOT_FOUND:
                raise
            raise OfferNotFound("resource", uri) from error

    async def get_prompt(
        self,
        target: UpstreamTarget,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        params = {"name": name, "arguments": dict(arguments)}
        return await self._passed(target, "prompts/get", params, timeout, line)

    async def complete(
        self, target: UpstreamTarget, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject:
        return await self._passed(target, "completion/complete", dict(params), timeout, None)

    async def _passed(
        self,
        target: UpstreamTarget,
        method: str,
        params: Message,
        timeout: timedelta,
        line: ClientChannel | None,
    ) -> JsonObject:
        name = str(params.get("uri") or params.get("name") or method)
        exchange = Exchange(subject=f"{target.server}: {name}", name=name, channel=line)

        async def request(conversation: Conversation) -> JsonObject:
            try:
                result = await conversation.request(exchange, method, params)
            except Refusal as refusal:
                raise refused(target.server, exchange, refusal) from refusal
            return passed_on(result)

        return await self._served(target, exchange, timeout, request)

    async def _served(
        self,
        target: UpstreamTarget,
        exchange: Exchange,
        timeout: timedelta,
        work: Callable[[Conversation], Awaitable[_T]],
        *,
        looks: bool = False,
    ) -> _T:
        stations = self._stations
        seconds = timeout.total_seconds()
        visit = SlotCheckout(stations, stations.at(target), exchange, seconds, looks=looks)
        return await visit(work)

    async def stop(self, space: SpaceId, server: str) -> None:
        if self._entered is not None:
            entered = self._entered
            await entered.stop([*entered.of(space, server), *entered.former(space, server)])

    async def stop_space(self, space: SpaceId) -> None:
        """All that it has running here."""
        if self._entered is not None:
            await self._entered.stop_space(space)

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        found = [] if self._entered is None else self._entered.of(space, server)
        if not found:
            return ServerHealth(phase=Phase.IDLE)
        latest = max(found, key=lambda station: (station.calls > 0, station.used_at))
        now = asyncio.get_running_loop().time()
        phase = latest.phase(now)
        rest = timedelta(seconds=latest.breaker.until - now)
        conversation = latest.conversation
        return ServerHealth(
            phase=phase,
            process=None if conversation is None else conversation.way.process,
            since=latest.since if phase is Phase.RUNNING else None,
            until=self._clock.now() + rest if phase is Phase.RESTING else None,
            starts=sum(station.starts for station in found),
            calls_now=sum(station.calls for station in found),
            last_words=latest.words.told(self._secrets.clean),
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._group.create_task(_unharmed(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # if it was cancelled before it began
        return task


async def _unharmed(work: Coroutine[Any, Any, None]) -> None:
    """One that fails must not take all the others along."""
    try:
        await work
    except Exception:  # noqa: BLE001 # whatever it is, it is its own affair, and told
        _log.exception("something that went on by itself broke off")
