"""All stations: which of them run, which must make way, which are left alone."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from portico.adapters.mcp.conversation import Conversation, Ears
from portico.adapters.mcp.looking import hear_of_changes
from portico.adapters.mcp.opening import Opening
from portico.adapters.mcp.places import NoPlace, Places
from portico.adapters.mcp.station import Failure, Start, Station
from portico.adapters.mcp.telling import Changed, Telling
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.wire import Broken, Crowded
from portico.gateway.core.calls import Target
from portico.gateway.core.start_diagnostics import advice
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import SpaceId

_log: Final = logging.getLogger("portico.upstreams")
_SILENCES: Final = 3
"""Calls in a row without a word, after which a server is taken to hang."""
_FORGOTTEN: Final = 86_400.0
_OFTEN: Final = 30.0


class Stations:
    def __init__(
        self, opening: Opening, terms: Terms, clock: Clock, entropy: Entropy, changed: Changed
    ) -> None:
        self._opening = opening
        self._terms = terms
        self._clock = clock
        self._entropy = entropy
        self._spawn = opening.spawn
        self._telling = Telling(changed, terms, opening.spawn)
        self._places = Places(terms.processes, self._make_way)
        self._stations: dict[tuple[SpaceId, str], dict[str, Station]] = {}
        self._dismissed: set[Station] = set()
        self._endings: dict[asyncio.Task[None], SpaceId] = {}
        self._leaving = 0
        self._now = asyncio.get_running_loop().time
        self.clean = opening.secrets.clean

    @property
    def processes(self) -> int:
        return self._places.taken

    def at(self, target: Target) -> Station:
        """Another launch is another server, even if it has the same name."""
        of_server = self._stations.setdefault((target.space, target.server), {})
        station = of_server.get(target.credentials)
        if station is None or not station.target.same_as(target):
            if station is not None:
                self._dismiss(station)
            station = of_server[target.credentials] = Station(target, used_at=self._now())
        return station

    def of(self, space: SpaceId, server: str) -> Sequence[Station]:
        return list(self._stations.get((space, server), {}).values())

    def former(self, space: SpaceId, server: str) -> Sequence[Station]:
        """Launches that have been replaced, and still serve somebody."""
        here = (space, server)
        return [its for its in self._dismissed if (its.target.space, its.target.server) == here]

    def _all(self) -> Iterator[Station]:
        yield from self._dismissed
        yield from (station for each in self._stations.values() for station in each.values())

    async def started(self, station: Station) -> Failure | None:
        """Begins it, unless that is under way; one start serves everybody."""
        if station.start is None:
            start = station.start = Start(asyncio.get_running_loop().create_future())
            start.task = self._spawn(self._begin(station, start))
            start.task.add_done_callback(partial(self._stopped, station, start))
        return await asyncio.shield(station.start.over)

    async def _begin(self, station: Station, start: Start) -> None:
        self._begun(station, start, await self._open(station))

    def _stopped(self, station: Station, start: Start, _task: asyncio.Task[None]) -> None:
        """Also if it had not even begun."""
        if not start.over.done():
            self._begun(station, start, Failure("it was stopped"))

    def _begun(self, station: Station, start: Start, failure: Failure | None) -> None:
        station.start = None
        station.failure = failure
        start.over.set_result(failure)

    async def _open(self, station: Station) -> Failure | None:
        try:
            if station.is_process:
                await self._places.take(self._terms.wait.total_seconds())
        except NoPlace:
            busy = f"All {self._terms.processes} processes are at work."
            return Failure(busy, crowded=True)
        made: Conversation | None = None
        try:
            made = await self._talk(station)
        except Crowded as error:
            return Failure(f"{station.target.server}: {error}.", crowded=True)
        except Broken as error:
            if error.login is None:
                self._strike(station)
            return self._failure(station, error)
        finally:
            if made is None and station.is_process:
                self._places.give()
        self._running(station, made)
        return None

    async def _talk(self, station: Station) -> Conversation:
        station.starts += 1
        station.words.begin()
        ears = Ears(changed=partial(self._telling, station), said=station.words.note)
        return await self._opening(station.target, station.learnt, station.words, ears)

    def _running(self, station: Station, made: Conversation) -> None:
        station.conversation = made
        station.since = self._clock.now()
        made.way.ended = partial(self._ended, station, made)
        made.hearing = self._spawn(hear_of_changes(made))
        if made.way.over is not None:  # meanwhile
            self._ended(station, made, made.way.over)
        self._have_listed(station, made)
        if station.dismissed:  # meanwhile
            self._dismiss(station)

    def _have_listed(self, station: Station, conversation: Conversation) -> None:
        """What was started anew may be another version of it: somebody has to look, once."""
        if not conversation.listed and not station.looks:
            conversation.listed = True
            self._telling(station)

    def _failure(self, station: Station, error: Broken) -> Failure:
        words = station.words.told(self.clean)
        fix = error.fix or advice(station.target.launch, error.reason, words[-20:])
        return Failure(self.told(station, error.reason), fix, login=error.login)

    def told(self, station: Station, reason: str) -> str:
        """With what it said last, which mostly is why."""
        last = station.words.last(self.clean)
        return reason if last is None else f"{reason}; it last wrote: {last}"

    def _strike(self, station: Station) -> None:
        station.breaker.broke(self._now(), self._entropy(1)[0] / 255)

    def _ended(self, station: Station, conversation: Conversation, reason: str) -> None:
        """By itself."""
        _log.info("%s: %s", station.target.server, self.clean(reason))
        self.broke(station, conversation, reason)

    def broke(self, station: Station, conversation: Conversation, reason: str) -> None:
        """Once for each conversation, however many were talking."""
        if station.conversation is conversation:
            station.conversation = None
            station.failure = Failure(self.told(station, reason))
            self._strike(station)
        conversation.spent = True
        self._rest(station, conversation)

    def silent(self, station: Station, conversation: Conversation) -> None:
        """A call was given up to which it had not said a word."""
        if station.conversation is not conversation:
            return
        station.silent += 1
        if station.silent >= _SILENCES:
            station.silent = 0
            self.broke(station, conversation, "it hangs")
            if station.is_process:
                _ = self._end(station, conversation)

    def came(self, station: Station, *, looks: bool) -> None:
        station.calls += 1
        station.looks += looks

    def left(self, station: Station, conversation: Conversation | None, *, looks: bool) -> None:
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

    def _rest(self, station: Station, conversation: Conversation) -> None:
        if conversation.spent and not conversation.users:
            if station.conversation is conversation:
                station.conversation = None
            _ = self._end(station, conversation)

    def _end(self, station: Station, conversation: Conversation) -> asyncio.Task[None]:
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

    def _sleep(self, station: Station) -> asyncio.Task[None]:
        conversation = station.conversation
        if conversation is None:
            raise LookupError
        station.conversation = None
        return self._end(station, conversation)

    def _dismiss(self, station: Station) -> None:
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

    async def stop(self, stations: Sequence[Station]) -> None:
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
