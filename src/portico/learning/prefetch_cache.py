"""Ask ahead, and give an answer to the call that asks for exactly that."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Final

from portico.gateway.core.calls import ClientCapability, Question, ToolResult, UpstreamTarget
from portico.gateway.core.errors import InputUnsupported, UpstreamTimedOut
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.core.reserved_metadata import admits, marked, unmarked
from portico.gateway.core.servers import Server, Stdio
from portico.gateway.ports import Upstreams
from portico.guard.core.access_request import AccessRequest
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_cache import Buffer, BufferedCall, Key, Paces
from portico.learning.core.prefetch_gates import (
    ARRIVAL,
    Arrival,
    ArrivalGate,
    Budget,
    PrefetchLimits,
    Started,
    Switches,
    Unsettled,
    closed,
    size_of,
    switched_on,
    touched,
)
from portico.learning.prefetch_gates import StillSo
from portico.learning.prefetch_ports import PrefetchCounter

# The line of a call that nobody is waiting for: whoever asks is turned away, and remembered.


@dataclass(slots=True)
class NullChannel:
    """It says that its caller can be asked anything: a server that would ask does so, and then it
    is known that its answer would have been another one."""

    subject: str
    asked: bool = False

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        return frozenset(ClientCapability)

    @property
    def log_level(self) -> str | None:
        return None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Nobody is there to be told."""

    async def log(self, params: JsonObject) -> None:
        """Nor to read along."""

    async def ask(self, question: Question) -> JsonObject:
        self.asked = True
        raise InputUnsupported(self.subject, str(question.wanted))


After = Callable[[BufferedCall, ToolResult], Awaitable[None]]


@dataclass(slots=True, eq=False)
class InFlightCall:
    held: BufferedCall
    started: Started
    after: After
    """Told of an answer that is kept."""
    line: NullChannel
    landed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    timer: asyncio.Timeout | None = None
    wait_timeout: float | None = None
    """Of whoever has joined it, in seconds."""
    why: WasteReason = WasteReason.CANCELLED
    """Why nothing came of it, if nothing does."""

    def cancel(self, why: WasteReason) -> None:
        self.why = why
        if self.task is not None:
            self.task.cancel()

    async def joined(self, timeout: timedelta) -> None:
        """It is its caller's own now, and has as much time as that. Raises `UpstreamTimedOut` when
        the caller has waited for so long."""
        loop = asyncio.get_running_loop()
        began, self.wait_timeout = loop.time(), timeout.total_seconds()
        if self.timer is not None:
            with suppress(RuntimeError):  # it has been answered just now
                self.timer.reschedule(began + self.wait_timeout)
        await self.landed.wait()
        if self.held.answer is None and loop.time() - began >= self.wait_timeout:
            raise UpstreamTimedOut(self.held.access_request.target.tool, self.wait_timeout)


# Ask a server what nobody has asked for yet, and look at what it says before it is kept.

_LONGEST: Final = timedelta(seconds=5)
"""Whatever the terms say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchOne:
    still_so: StillSo
    upstreams: Upstreams
    tally: PrefetchCounter
    clock: Clock
    terms: PrefetchLimits
    timeout: timedelta
    """Of a call that somebody waits for."""
    gates: Sequence[ArrivalGate] = ARRIVAL
    now: Callable[[], float] = monotonic

    async def __call__(self, flight: InFlightCall, buffer: Buffer) -> ToolResult | None:
        """What is kept, in what the flight holds; None, with why, if nothing is. Raises as
        `Upstreams` does, and `TimeoutError`."""
        if not await self._as_decided(flight):
            return None
        answer = await self._asked(flight)
        return answer if await self._kept(flight, answer, buffer) else None

    async def _as_decided(self, flight: InFlightCall) -> bool:
        held = flight.held
        if not await self.still_so.on(held):
            flight.why = WasteReason.SWITCHED
            return False
        if (
            await self.still_so.aim(held.access_request) != held.access_request.target
            or held.doomed
        ):
            flight.why = WasteReason.CHANGED
            return False
        return True

    async def _asked(self, flight: InFlightCall) -> ToolResult:
        held, act = flight.held, flight.held.access_request
        held.begun_at, held.started = self.clock.now(), self.now()
        held.until = held.started + self.terms.keep.total_seconds()
        self.tally.tried(act.caller, held.label, held.wanted.edge)
        target = UpstreamTarget.of(act.caller.space, held.server, act.caller.id, links=False)
        timeout = self._timeout(held)
        longest = flight.wait_timeout or min(self.terms.longest, _LONGEST, timeout).total_seconds()
        async with asyncio.timeout(longest) as flight.timer:
            return await self.upstreams.call(
                target, held.wanted.ref.name, act.arguments, timeout=timeout, line=flight.line
            )

    async def _kept(self, flight: InFlightCall, answer: ToolResult, buffer: Buffer) -> bool:
        """Between the gates and its being kept, nothing else happens."""
        held, act = flight.held, flight.held.access_request
        took = self.now() - held.started
        on, aim = await self.still_so.on(held), await self.still_so.aim(act)
        arrival = Arrival(
            access_request=act,
            target=aim,
            on=on,
            overtaken=held.doomed,
            failed=answer.failed,
            asked=flight.line.asked,
            orders=admits(answer),
            size=size_of(answer),
            room=buffer.room(act.caller),
        )
        if closed(arrival, self.gates) is not None:
            flight.why = WasteReason.FAILED if answer.failed else WasteReason.CHANGED
            return False
        held.answer, held.size, held.took = unmarked(answer), arrival.size, took
        return True

    def _timeout(self, held: BufferedCall) -> timedelta:
        own = held.server.timeout
        return timedelta(seconds=own) if own else self.timeout


# Where calls are made that nobody has asked for yet, and where their answers wait.
#
# Whoever asks for exactly that is given the answer, once; one that is still under way becomes the
# caller's own. Everybody else, and everything that learns or remembers, sees nothing of it.

_log: Final = logging.getLogger("portico.ahead")

_SWEEP: Final = 0.5
"""Seconds between two looks for what is too old."""
_UNCHANGED: Final[AbstractContextManager[None]] = nullcontext()


@dataclass(slots=True, kw_only=True)
class PrefetchExecutor:
    ask: PrefetchOne
    tally: PrefetchCounter
    buffer: Buffer = field(default_factory=Buffer)
    budget: Budget = field(default_factory=Budget)
    paces: Paces = field(default_factory=Paces)
    unsettled: Unsettled = field(default_factory=Unsettled)
    _flights: dict[Key, InFlightCall] = field(default_factory=dict)
    _claiming: set[BufferedCall] = field(default_factory=set)
    _group: asyncio.TaskGroup | None = None

    @property
    def terms(self) -> PrefetchLimits:
        return self.ask.terms

    def now(self) -> float:
        """In seconds, from any beginning."""
        return self.ask.now()

    @property
    def under_way(self) -> int:
        return len(self._flights)

    @property
    def spaces(self) -> Collection[SpaceId]:
        """In which something is under way, or waits."""
        return {held.key.place.space for held in self.buffer.which(lambda _: True)}

    def start(self, held: BufferedCall, price: float, after: After) -> bool:
        """False if it is not taken: there is no room, or it is there already, or all this is over
        or has not begun. `after` is told of an answer that is kept, in here."""
        if self._group is None or held.key in self._flights or not self.buffer.hold(held):
            return False
        started = self.budget.start(held.key.place, held.server.name, price, self.now())
        flight = InFlightCall(held, started, after, NullChannel(held.access_request.target.tool))
        self._flights[held.key] = flight
        flight.task = self._group.create_task(self._fly(flight), name="a call ahead of time")
        flight.task.add_done_callback(lambda _: self._land(flight))
        return True

    def changing(self, act: AccessRequest) -> AbstractContextManager[None]:
        return _UNCHANGED if act.target.effect.is_read_only else self._change(act)

    async def claim(
        self, act: AccessRequest, again: Callable[[], Awaitable[Server]], *, timeout: timedelta
    ) -> ToolResult | None:
        if not act.target.effect.is_read_only or not self.buffer.has_any(act.caller):
            self._give_way(act)
            return None
        held = self.buffer.take(act, self.now())
        if held is None:
            self._give_way(act)
            return None
        self._claiming.add(held)
        asked, flight = self.now(), self._flights.get(held.key)
        try:
            if flight is not None:
                await flight.joined(timeout)
            if not await self._serves(act, held, again):
                return None
        finally:
            self._claiming.discard(held)
            if flight is not None and not flight.landed.is_set():
                flight.cancel(WasteReason.CANCELLED)
        return self._served(held, asked)

    def switched(self, space: SpaceId, switches: Switches) -> None:
        self.drop(
            lambda held: (
                held.key.place.space == space
                and not switched_on(switches, held.server, held.access_request)
            ),
            WasteReason.SWITCHED,
        )

    def drop(self, which: Callable[[BufferedCall], bool], why: WasteReason) -> None:
        """None of these is served any more, wherever it is just now."""
        for held in [*self.buffer.which(which), *filter(which, self._claiming)]:
            held.doomed = True
            flight = self._flights.get(held.key)
            if flight is not None and flight.held is held:
                flight.cancel(why)
            elif held not in self._claiming:
                self.buffer.forget(held)
                self.tally.wasted(why)

    async def run(self) -> None:
        """Until it is cancelled; then everything that is under way is, and what waits is gone."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                try:
                    while True:
                        await asyncio.sleep(_SWEEP)
                        self.sweep()
                finally:
                    self._group = None
        finally:
            self.drop(lambda _: True, WasteReason.CANCELLED)

    def sweep(self) -> None:
        now = self.now()
        self.drop(
            lambda held: held.too_old(now) and held not in self._claiming, WasteReason.EXPIRED
        )
        self.unsettled.sweep(now)

    @contextmanager
    def _change(self, act: AccessRequest) -> Iterator[None]:
        """What was read before it is not true any more, nor what is read while it is made."""
        theirs = partial(touched, act)
        self.unsettled.start(act)
        self.drop(theirs, WasteReason.CHANGED)
        known = False
        try:
            yield
            known = True
        finally:
            self.unsettled.end(act, self.now(), known=known)
            self.drop(theirs, WasteReason.CHANGED)

    def _give_way(self, act: AccessRequest) -> None:
        """A process that does one thing at a time does what somebody waits for."""
        place = act.caller.space, act.target.server
        for flight in [*self._flights.values()] if self._flights else ():
            held, alone = flight.held, isinstance(flight.held.server.launch, Stdio)
            there = held.key.place.space, held.access_request.target.server
            if alone and there == place and not held.doomed and held not in self._claiming:
                held.doomed = True
                flight.cancel(WasteReason.CANCELLED)

    async def _serves(
        self, act: AccessRequest, held: BufferedCall, again: Callable[[], Awaitable[Server]]
    ) -> bool:
        """The last look is the one at what it may be by now; nothing comes in between then. Raises
        what `again` raises."""
        why: WasteReason | None = WasteReason.CANCELLED
        served = False
        try:
            why = await self.ask.still_so.untrue(act, held)
            served = why is None and await again() == held.server and not held.doomed
        finally:
            if not served and held.answer is not None:
                self.tally.wasted(why or WasteReason.CHANGED)
        return served

    def _served(self, held: BufferedCall, asked: float) -> ToolResult:
        assert held.answer is not None  # noqa: S101 # it was looked at just now
        now, caller = self.now(), held.access_request.caller
        took = timedelta(seconds=held.took)
        self.paces.note(caller.space, ToolPlace(held.server.id, held.wanted.ref.name), took)
        self.tally.served(
            caller, held.label, held.wanted.edge, took=took, waited=timedelta(seconds=now - asked)
        )
        return marked(held.answer, timedelta(seconds=now - held.started))

    async def _fly(self, flight: InFlightCall) -> None:
        try:
            answer = await self.ask(flight, self.buffer)
            if answer is not None:
                self._land(flight)
                await flight.after(flight.held, answer)
        except TimeoutError:
            pass
        except PorticoError:
            flight.why = WasteReason.FAILED
        except Exception as error:  # noqa: BLE001 # the edge of a background task
            flight.why = WasteReason.FAILED
            # its words may be the server's, which nobody has asked for
            _log.warning("a call ahead of time broke off: %s", type(error).__name__)

    def _land(self, flight: InFlightCall) -> None:
        """However it ended; once or several times."""
        held = flight.held
        if flight.landed.is_set():
            return
        flight.landed.set()
        self.budget.end(flight.started)
        self._flights.pop(held.key, None)
        if held.answer is None:
            self.buffer.forget(held)
            if held.begun_at is not None:
                self.tally.wasted(flight.why)
