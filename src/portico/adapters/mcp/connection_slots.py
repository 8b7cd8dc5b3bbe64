"""Connection slots: one for each server, with its session, circuit breaker and refresh backoff."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from portico.adapters.mcp.http import Spawn
from portico.adapters.mcp.processes import StderrTail
from portico.adapters.mcp.session import Conversation, Ears, Opening, ServerMemo, hear_of_changes
from portico.adapters.mcp.stdio import Terms
from portico.adapters.mcp.transport import Overloaded, TransportFailed
from portico.gateway.core.calls import Phase, UpstreamTarget
from portico.gateway.core.servers import Stdio
from portico.gateway.core.start_diagnostics import advice
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import PrincipalId, SpaceId

# When to leave a server alone that breaks again and again, and for how long.

_FIRST: Final = 1.0
_LONGEST: Final = 60.0


@dataclass(slots=True)
class Breaker:
    """Times are seconds of any clock that only goes forward. The first break is forgiven; from
    the second on each rest is twice the last, give or take a fifth, so that many do not come back
    at the same moment. After a rest one attempt is made, and it decides."""

    strikes: int = 0
    until: float = 0.0

    def broke(self, now: float, luck: float) -> None:
        """`luck` is between 0 and 1."""
        self.strikes += 1
        if self.strikes > 1:
            rest = min(_LONGEST, _FIRST * 2.0 ** min(self.strikes - 2, 30))
            self.until = now + rest * (0.8 + 0.4 * luck)

    def answered(self) -> None:
        self.strikes = 0
        self.until = 0.0

    def rests(self, now: float) -> bool:
        return now < self.until


# How soon to look again at a server that says it has changed: one that says so each time it is
# looked at would else never be left alone.

_PACE_LONGEST: Final = 300.0
_FOLLOWS: Final = 10.0
"""So many pauses after a listing, a change is still taken to come of it."""


@dataclass(slots=True)
class Pace:
    """Times are seconds of any clock that only goes forward."""

    last: float = 0.0
    at: float | None = None

    def pause(self, now: float, shortest: float) -> float:
        """Seconds from the word of a change until it is looked at."""
        follows = self.at is not None and now - self.at < _FOLLOWS * self.last
        self.last = min(2 * self.last, max(_PACE_LONGEST, shortest)) if follows else shortest
        return self.last

    def listed(self, now: float) -> None:
        self.at = now


# How many processes there may be: whoever wants to start one more waits for a place.


class NoPlace(Exception):
    """None became free in time."""


class Places:
    def __init__(self, most: int, make_way: Callable[[], None]) -> None:
        self._most = most
        self._make_way = make_way
        """Asked to end somebody who has nothing to do, if there is anyone."""
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def taken(self) -> int:
        return self._taken

    @property
    def wanted(self) -> int:
        return len(self._queue)

    @property
    def limit(self) -> int:
        return self._most

    async def take(self, patience: float) -> None:
        """Raises `NoPlace`."""
        if self._taken < self._most and not self._queue:
            self._taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._make_way()
        try:
            async with asyncio.timeout(patience):
                await turn
        except (TimeoutError, asyncio.CancelledError) as error:
            if turn.done() and not turn.cancelled():
                self.give()
            with suppress(ValueError):
                self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise NoPlace from error
            raise

    def give(self) -> None:
        self._taken -= 1
        while self._queue and self._taken < self._most:
            turn = self._queue.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a start came to nothing, for all who waited for it."""

    reason: str
    fix: str | None = None
    crowded: bool = False
    login: str | None = None
    """What the server says to whoever it does not know, if that is why."""


@dataclass(slots=True, eq=False)
class PendingStart:
    """There is one, however many wait for it; it goes on when they have gone."""

    over: "asyncio.Future[Failure | None]"
    task: "asyncio.Task[None] | None" = None


@dataclass(slots=True, eq=False)
class ConnectionSlot:
    target: UpstreamTarget
    words: StderrTail = field(default_factory=StderrTail)
    memo: ServerMemo = field(default_factory=ServerMemo)
    breaker: Breaker = field(default_factory=Breaker)
    conversation: Conversation | None = None
    start: PendingStart | None = None
    calls: int = 0
    """That are under way, or wait for it to start."""
    starts: int = 0
    since: datetime | None = None
    used_at: float = 0.0
    silent: int = 0
    """Calls in a row to which it has not said a word."""
    failure: Failure | None = None
    """The last one."""
    changes: int = 0
    """That it has told of, and nobody has looked at yet."""
    telling: "asyncio.Task[None] | None" = None
    pace: Pace = field(default_factory=Pace)
    looks: int = 0
    """Of the calls, those that only list what it offers."""
    dismissed: bool = False
    """Whether there is another launch in its place: it serves who is there, and ends."""

    @property
    def is_process(self) -> bool:
        return isinstance(self.target.launch, Stdio)

    @property
    def over(self) -> bool:
        return not self.calls and self.start is None and self.conversation is None

    @property
    def idle(self) -> bool:
        return self.conversation is not None and not self.calls

    def phase(self, now: float) -> Phase:
        if self.conversation is not None:
            return Phase.RUNNING
        if self.start is not None:
            return Phase.STARTING
        return Phase.RESTING if self.breaker.rests(now) else Phase.IDLE


# Word that a server offers something else by now, passed on to whoever will look.

Changed: TypeAlias = Callable[[SpaceId, str, PrincipalId | None], Awaitable[None]]
"""Told that what a server offers is not what it was, and with whose login that was seen."""

_log: Final = logging.getLogger("portico.upstreams")


class ListChangedNotifier:
    """Not each word of it: mostly there are several, and some servers never stop."""

    def __init__(self, changed: Changed, terms: Terms, spawn: Spawn) -> None:
        self._changed = changed
        self._settle = terms.settle.total_seconds()
        self._spawn = spawn
        self._now = asyncio.get_running_loop().time

    def __call__(self, station: ConnectionSlot) -> None:
        station.changes += 1
        if station.telling is None or station.telling.done():
            station.telling = self._spawn(self._tell(station))

    async def _tell(self, station: ConnectionSlot) -> None:
        """Of one that has ended meanwhile there is nothing to tell: whoever calls it starts it
        again, and that is told."""
        while station.changes:
            await asyncio.sleep(station.pace.pause(self._now(), self._settle))
            station.changes = 0
            if station.conversation is not None and not station.dismissed:
                await self._told(station.target)
                station.pace.listed(self._now())

    async def _told(self, target: UpstreamTarget) -> None:
        try:
            login = target.login if target.personal else None
            await self._changed(target.space, target.server, login)
        except Exception:  # noqa: BLE001 # the next change has to be told all the same
            _log.exception("nobody could be told what %s offers by now", target.server)


_SILENCES: Final = 3
"""Calls in a row without a word, after which a server is taken to hang."""
_FORGOTTEN: Final = 86_400.0
_OFTEN: Final = 30.0


class ConnectionSlots:
    def __init__(
        self, opening: Opening, terms: Terms, clock: Clock, entropy: Entropy, changed: Changed
    ) -> None:
        self._opening = opening
        self._terms = terms
        self._clock = clock
        self._entropy = entropy
        self._spawn = opening.spawn
        self._telling = ListChangedNotifier(changed, terms, opening.spawn)
        self._places = Places(terms.processes, self._make_way)
        self._stations: dict[tuple[SpaceId, str], dict[str, ConnectionSlot]] = {}
        self._dismissed: set[ConnectionSlot] = set()
        self._endings: dict[asyncio.Task[None], SpaceId] = {}
        self._leaving = 0
        self._now = asyncio.get_running_loop().time
        self.clean = opening.secrets.clean

    @property
    def processes(self) -> int:
        return self._places.taken

    def at(self, target: UpstreamTarget) -> ConnectionSlot:
        """Another launch is another server, even if it has the same name."""
        of_server = self._stations.setdefault((target.space, target.server), {})
        station = of_server.get(target.credentials)
        if station is None or not station.target.same_as(target):
            if station is not None:
                self._dismiss(station)
            station = of_server[target.credentials] = ConnectionSlot(target, used_at=self._now())
        return station

    def of(self, space: SpaceId, server: str) -> Sequence[ConnectionSlot]:
        return list(self._stations.get((space, server), {}).values())

    def former(self, space: SpaceId, server: str) -> Sequence[ConnectionSlot]:
        """Launches that have been replaced, and still serve somebody."""
        here = (space, server)
        return [its for its in self._dismissed if (its.target.space, its.target.server) == here]

    def _all(self) -> Iterator[ConnectionSlot]:
        yield from self._dismissed
        yield from (station for each in self._stations.values() for station in each.values())

    async def started(self, station: ConnectionSlot) -> Failure | None:
        """Begins it, unless that is under way; one start serves everybody."""
        if station.start is None:
            start = station.start = PendingStart(asyncio.get_running_loop().create_future())
            start.task = self._spawn(self._begin(station, start))
            start.task.add_done_callback(partial(self._stopped, station, start))
        return await asyncio.shield(station.start.over)

    async def _begin(self, station: ConnectionSlot, start: PendingStart) -> None:
        self._begun(station, start, await self._open(station))

    def _stopped(
        self, station: ConnectionSlot, start: PendingStart, _task: asyncio.Task[None]
    ) -> None:
        """Also if it had not even begun."""
        if not start.over.done():
            self._begun(station, start, Failure("it was stopped"))

    def _begun(self, station: ConnectionSlot, start: PendingStart, failure: Failure | None) -> None:
        station.start = None
        station.failure = failure
        start.over.set_result(failure)

    async def _open(self, station: ConnectionSlot) -> Failure | None:
        try:
            if station.is_process:
                await self._places.take(self._terms.wait.total_seconds())
        except NoPlace:
            busy = f"All {self._terms.processes} processes are at work."
            return Failure(busy, crowded=True)
        made: Conversation | None = None
        try:
            made = await self._talk(station)
        except Overloaded as error:
            return Failure(f"{station.target.server}: {error}.", crowded=True)
        except TransportFailed as error:
            if error.login is None:
                self._strike(station)
            return self._failure(station, error)
        finally:
            if made is None and station.is_process:
                self._places.give()
        self._running(station, made)
        return None

    async def _talk(self, station: ConnectionSlot) -> Conversation:
        station.starts += 1
        station.words.mark_restarted()
        ears = Ears(changed=partial(self._telling, station), said=station.words.note)
        return await self._opening(station.target, station.memo, station.words, ears)

    def _running(self, station: ConnectionSlot, made: Conversation) -> None:
        station.conversation = made
        station.since = self._clock.now()
        made.way.ended = partial(self._ended, station, made)
        made.hearing = self._spawn(hear_of_changes(made))
        if made.way.over is not None:  # meanwhile
            self._ended(station, made, made.way.over)
        self._have_listed(station, made)
        if station.dismissed:  # meanwhile
            self._dismiss(station)

    def _have_listed(self, station: ConnectionSlot, conversation: Conversation) -> None:
        """What was started anew may be another version of it: somebody has to look, once."""
        if not conversation.listed and not station.looks:
            conversation.listed = True
            self._telling(station)

    def _failure(self, station: ConnectionSlot, error: TransportFailed) -> Failure:
        words = station.words.told(self.clean)
        fix = error.fix or advice(station.target.launch, error.reason, words[-20:])
        return Failure(self.told(station, error.reason), fix, login=error.login)

    def told(self, station: ConnectionSlot, reason: str) -> str:
        """With what it said last, which mostly is why."""
        last = station.words.last(self.clean)
        return reason if last is None else f"{reason}; it last wrote: {last}"

    def _strike(self, station: ConnectionSlot) -> None:
        station.breaker.broke(self._now(), self._entropy(1)[0] / 255)

    def _ended(self, station: ConnectionSlot, conversation: Conversation, reason: str) -> None:
        """By itself."""
        _log.info("%s: %s", station.target.server, self.clean(reason))
        self.broke(station, conversation, reason)

    def broke(self, station: ConnectionSlot, conversation: Conversation, reason: str) -> None:
        """Once for each conversation, however many were talking."""
        if station.conversation is conversation:
            station.conversation = None
            station.failure = Failure(self.told(station, reason))
            self._strike(station)
        conversation.spent = True
        self._rest(station, conversation)

    def silent(self, station: ConnectionSlot, conversation: Conversation) -> None:
        """A call was given up to which it had not said a word."""
        if station.conversation is not conversation:
            return
        station.silent += 1
        if station.silent >= _SILENCES:
            station.silent = 0
            self.broke(station, conversation, "it hangs")
            if station.is_process:
                _ = self._end(station, conversation)

    def came(self, station: ConnectionSlot, *, looks: bool) -> None:
        station.calls += 1
        station.looks += looks

    def left(
        self, station: ConnectionSlot, conversation: Conversation | None, *, looks: bool
    ) -> None:
        """One who was being served, or waited to be, is not any more. To look is not to use: it
        keeps nobody from being ended."""
        station.calls -= 1
        station.looks -= looks
        if not looks:
            station.used_at = self._now()
        if conversation is not None:
            conversation.users -= 1
            self._rest(station, conversation)
        if station.conversation is not None:
            self._have_listed(station, station.conversation)
        if not station.calls and self._places.wanted:
            self._make_way()

    def _rest(self, station: ConnectionSlot, conversation: Conversation) -> None:
        if conversation.spent and not conversation.users:
            if station.conversation is conversation:
                station.conversation = None
            _ = self._end(station, conversation)

    def _end(self, station: ConnectionSlot, conversation: Conversation) -> asyncio.Task[None]:
        if conversation.ending is None:
            ending = conversation.ending = self._spawn(self._close(conversation))
            self._endings[ending] = station.target.space
            ending.add_done_callback(self._endings.pop)
        return conversation.ending

    async def _close(self, conversation: Conversation) -> None:
        if conversation.hearing is not None:
            conversation.hearing.cancel()
        is_process = conversation.way.process is not None
        try:
            await conversation.way.close()
        finally:
            if is_process:
                self._places.give()

    def _make_way(self) -> None:
        """Who has not been needed for longest goes first."""
        while self._leaving < self._places.wanted:
            idle = [station for station in self._all() if station.idle and station.is_process]
            if not idle:
                return
            self._leaving += 1
            ending = self._sleep(min(idle, key=lambda station: station.used_at))
            ending.add_done_callback(self._has_left)

    def _has_left(self, _ending: asyncio.Task[None]) -> None:
        self._leaving -= 1

    def _sleep(self, station: ConnectionSlot) -> asyncio.Task[None]:
        conversation = station.conversation
        if conversation is None:
            raise LookupError
        station.conversation = None
        return self._end(station, conversation)

    def _dismiss(self, station: ConnectionSlot) -> None:
        """Whoever it serves, or who waits for it, is served to the end."""
        station.dismissed = True
        self._dismissed.add(station)
        conversation, start = station.conversation, station.start
        if conversation is not None:
            conversation.spent = True
            if not station.calls:
                self._rest(station, conversation)
        elif start is not None and start.task is not None and not station.calls:
            start.task.cancel()

    async def tidy(self) -> None:
        """For ever: ends who is not needed, and forgets who has not been for long."""
        idle = self._terms.idle.total_seconds()
        while True:
            await asyncio.sleep(min(_OFTEN, idle / 4))
            now = self._now()
            for station in list(self._all()):
                if station.idle and now - station.used_at > idle:
                    _ = self._sleep(station)
            self._forget(now)

    def _forget(self, now: float) -> None:
        self._dismissed = {station for station in self._dismissed if not station.over}
        for key, of_server in list(self._stations.items()):
            kept = {
                credentials: station
                for credentials, station in of_server.items()
                if not station.over or now - station.used_at < _FORGOTTEN
            }
            if kept:
                self._stations[key] = kept
            else:
                del self._stations[key]

    async def stop(self, stations: Sequence[ConnectionSlot]) -> None:
        """At once, also if it serves somebody."""
        ending: list[asyncio.Task[None]] = []
        for station in stations:
            if station.start is not None and station.start.task is not None:
                station.start.task.cancel()
                ending.append(station.start.task)
            if station.conversation is not None:
                ending.append(self._sleep(station))
            station.breaker.answered()
            station.silent = 0
        if ending:
            await asyncio.wait(ending)

    async def stop_space(self, space: SpaceId) -> None:
        """And waits for those that were about to end by themselves."""
        await self.stop([each for each in self._all() if each.target.space == space])
        if ending := [task for task, its in self._endings.items() if its == space]:
            await asyncio.wait(ending)

    async def stop_all(self) -> None:
        await self.stop(list(self._all()))
        if self._endings:
            await asyncio.wait(self._endings)
