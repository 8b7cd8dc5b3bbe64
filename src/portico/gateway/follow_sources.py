"""Keep the servers as the files say that describe them, for as long as Portico runs."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from portico.gateway.core.client_files.wish import Described, Problem, Wish
from portico.gateway.core.errors import ServerNotFound
from portico.gateway.core.server import ADDED, OURS
from portico.gateway.house import house
from portico.gateway.index_server import IndexServer
from portico.gateway.ports import Servers, Sources
from portico.gateway.reconcile_servers import ReconcileServers
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.gateway")
_LONGEST: Final = timedelta(minutes=10)


@dataclass(slots=True, kw_only=True)
class FollowSources:
    sources: Sources
    servers: Servers
    reconcile: ReconcileServers
    index: IndexServer
    at_once: int = 4
    """How many servers are asked what they offer at the same time."""
    pause: timedelta = timedelta(seconds=10)
    """After which it is tried again what could not be done."""
    _wished: dict[str, Sequence[Wish]] = field(default_factory=dict)
    _said: dict[str, Sequence[Problem]] = field(default_factory=dict)
    _asking: set[str] = field(default_factory=set)

    async def __call__(self, space: SpaceId) -> None:
        """Until it is cancelled. Whoever runs several processes gives them the same files."""
        caller, turns = house(space), asyncio.Semaphore(self.at_once)
        async with asyncio.TaskGroup() as under_way:
            await self._take_over(caller)
            await self._ask_new_ones(caller, under_way, turns)
            async for _ in self.sources.changes():
                await self._take_over(caller)
                await self._ask_new_ones(caller, under_way, turns)

    async def _take_over(self, caller: Principal) -> None:
        while True:
            try:
                await self._as_they_say(caller)
            except PorticoError as error:
                _log.warning("the files that describe servers cannot be followed: %s", error)
                await asyncio.sleep(self.pause.total_seconds())
            else:
                return

    async def _as_they_say(self, caller: Principal) -> None:
        described = await self.sources.read()
        for file in described:
            self._tell(file)
            if file.readable:
                await self._reconciled(caller, file.origin, file.wishes)
        named = {file.origin for file in described} | {ADDED, OURS}
        for origin in {each.origin for each in await self.servers.all(caller)} - named:
            await self._reconciled(caller, origin, [])

    async def _reconciled(self, caller: Principal, origin: str, wishes: Sequence[Wish]) -> None:
        """Some clients write their file every few seconds, and mostly other things than servers."""
        if self._wished.get(origin) != wishes:
            await self.reconcile(caller, origin, wishes)
            self._wished[origin] = wishes

    async def _ask_new_ones(
        self, caller: Principal, under_way: asyncio.TaskGroup, turns: asyncio.Semaphore
    ) -> None:
        """What may be started, and has never said what it offers."""
        for server in await self.servers.all(caller):
            if server.may_start and server.listed_at is None and server.name not in self._asking:
                self._asking.add(server.name)
                under_way.create_task(self._ask(caller, server.name, turns))

    async def _ask(self, caller: Principal, name: str, turns: asyncio.Semaphore) -> None:
        """Again and again, with growing pauses, until it has answered or is not wanted."""
        pause = self.pause
        try:
            while not await self._asked(caller, name, turns):
                await asyncio.sleep(pause.total_seconds())
                pause = min(2 * pause, _LONGEST)
        finally:
            self._asking.discard(name)

    async def _asked(self, caller: Principal, name: str, turns: asyncio.Semaphore) -> bool:
        async with turns:
            try:
                server = await self.servers.get(caller, name)
                if server.may_start and server.listed_at is None:
                    await self.index(caller, name)
            except ServerNotFound:
                return True
            except PorticoError as error:
                _log.warning("the server %s could not be asked what it offers: %s", name, error)
                return False
        return True

    def _tell(self, file: Described) -> None:
        """Each problem once, until the file says something else."""
        if self._said.get(file.origin) != file.problems:
            self._said[file.origin] = file.problems
            for problem in file.problems:
                if problem.left_out:
                    _log.warning("%s", told(file.origin, problem))


def told(origin: str, problem: Problem) -> str:
    place = origin if problem.line is None else f"{origin}:{problem.line}"
    return f"{place}: {problem.server or 'the file'}: {problem.reason}"
