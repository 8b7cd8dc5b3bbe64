"""Server files: import, reconcile, follow."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE
from portico.gateway.core.calls import about_server
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.config_documents import Described, Problem, ServerSpec
from portico.gateway.core.errors import InvalidLaunch, PinMoved, ServerExists, ServerNotFound
from portico.gateway.core.launch import check_launch
from portico.gateway.core.pins import launch_pin
from portico.gateway.core.server_approval import Proposed
from portico.gateway.core.server_files import ReconcileAction, as_wished, fate_of, newly_wished
from portico.gateway.core.servers import ADDED, OURS, Server, ServerId
from portico.gateway.core.start_diagnostics import advice
from portico.gateway.discovery import IndexServer
from portico.gateway.ports import Servers, Sources, Upstreams, house
from portico.gateway.server_approval import AcceptTools, ApproveLaunch, ReviewServers, ServerReview
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokens
from portico.kernel.clock import Clock, Entropy
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal

_TRIES: Final = 5
"""Of a name, while others take names too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileServers:
    servers: Servers
    unit_of_work: UnitOfWork
    audit: Audit
    upstreams: Upstreams
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, origin: str, wishes: Sequence[ServerSpec]
    ) -> Mapping[str, ReconcileAction]:
        """What changed, by the names of the servers.

        `wishes` are all that the file at `origin` describes, none if there is no such file any
        more; one that cannot be read says nothing, and is not reconciled. What a file has
        switched off, or what nobody could start, is not asked for. Raises `NotPermitted`.
        """
        require_scope(caller, Scope.SERVERS_WRITE)
        wanted = {wish.where: wish for wish in wishes if wish.enabled and _sound(wish)}
        fates: dict[str, ReconcileAction] = {}
        for server in await self.servers.all(caller):
            if server.origin == origin:
                wish = wanted.pop(server.entry or "", None)
                fates |= await self._seen_to(caller, server, wish)
        for wish in wanted.values():
            fates |= await self._added(caller, origin, wish)
        if fates:
            self.bus.wake(caller.space, CATALOGUE)
        for name, fate in fates.items():
            if fate in {ReconcileAction.CHANGED, ReconcileAction.GONE, ReconcileAction.FORGOTTEN}:
                await self.upstreams.stop(caller.space, name)
        return fates

    async def _seen_to(
        self, caller: Principal, server: Server, wish: ServerSpec | None
    ) -> Mapping[str, ReconcileAction]:
        fate = None
        with suppress(ServerNotFound):  # another process has forgotten it meanwhile
            async with self.servers.changing(caller, server.name) as before:
                after = as_wished(before, wish, self.clock.now())
                fate = fate_of(before, after)
                if after is None:
                    await self.servers.remove(caller, before.id)
                elif fate is not None:
                    await self.servers.put(caller, after)
                if fate is not None:
                    entry = about_server(f"server.{fate}", after or before)
                    await self.audit.note(caller, entry)
        return {} if fate is None else {server.name: fate}

    async def _added(
        self, caller: Principal, origin: str, wish: ServerSpec
    ) -> Mapping[str, ReconcileAction]:
        """Nothing if another process was faster, which reads the same file."""
        for _ in range(_TRIES):
            others, now = await self.servers.all(caller), self.clock.now()
            if any((other.origin, other.entry) == (origin, wish.where) for other in others):
                return {}
            id_ = ServerId.mint(now, self.entropy)
            server = newly_wished(id_, origin, wish, others, now)
            with suppress(ServerExists):  # somebody has taken the name meanwhile
                async with self.unit_of_work(caller):
                    await self.servers.add(caller, server)
                    await self.audit.note(caller, about_server("server.added", server))
                return {server.name: ReconcileAction.ADDED}
        raise ServerExists(wish.name, wish.name)


def _sound(wish: ServerSpec) -> bool:
    try:
        check_launch(wish.launch)
    except InvalidLaunch:
        return False
    return True


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
    _wished: dict[str, Sequence[ServerSpec]] = field(default_factory=dict)
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

    async def _reconciled(
        self, caller: Principal, origin: str, wishes: Sequence[ServerSpec]
    ) -> None:
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


SourcePosition = tuple[str, str]
"""A file, and where in it a server is described."""


@dataclass(frozen=True, slots=True)
class Starting:
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    server: str
    pin: str
    """Of what was looked at; to be named when it is accepted."""
    tools: int
    tokens: Tokens
    reads: int
    writes: int
    others: int
    """Proposed to be destructive, or not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotListed:
    server: str
    reason: str
    fix: str | None


Progress = Starting | Listed | NotListed


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportServers:
    servers: Servers
    upstreams: Upstreams
    reconcile: ReconcileServers
    approve: ApproveLaunch
    index: IndexServer
    review: ReviewServers
    at_once: int = 4
    """How many are started at the same time."""

    async def __call__(
        self, caller: Principal, described: Sequence[Described], chosen: AbstractSet[SourcePosition]
    ) -> AsyncGenerator[Progress, None]:
        """All that the files describe is known from now on; what was chosen is approved exactly
        as it is described here, started and asked. Each server comes twice: when it is started,
        and when that is over. Raises `NotPermitted`."""
        for file in described:
            await self.reconcile(caller, file.origin, file.wishes)
        told: asyncio.Queue[Progress] = asyncio.Queue()
        approved, refused = await self._approved(caller, dict(_wanted(described, chosen)))
        for each in refused:
            yield each
        turns = asyncio.Semaphore(self.at_once)
        async with asyncio.TaskGroup() as under_way:
            for server in approved:
                under_way.create_task(self._see(caller, server, turns, told.put_nowait))
            for _ in range(2 * len(approved)):
                yield await told.get()

    async def _approved(
        self, caller: Principal, wanted: dict[SourcePosition, str]
    ) -> tuple[Sequence[Server], Sequence[NotListed]]:
        approved: list[Server] = []
        refused: list[NotListed] = []
        for server in await self.servers.all(caller):
            pin = wanted.get((server.origin, server.entry or ""))
            if pin is None or not server.enabled:
                continue
            try:
                approved.append(await self.approve(caller, server.name, pin))
            except (PinMoved, ServerNotFound) as error:
                refused.append(NotListed(server=server.name, reason=str(error), fix=error.fix))
        return approved, refused

    async def _see(
        self,
        caller: Principal,
        server: Server,
        turns: asyncio.Semaphore,
        tell: Callable[[Progress], None],
    ) -> None:
        async with turns:
            tell(Starting(server.name))
            try:
                tell(await self._listed(caller, server.name))
            except PorticoError as error:
                tell(self._not_listed(caller, server, error))
            await self.upstreams.stop(caller.space, server.name)

    async def _listed(self, caller: Principal, name: str) -> Listed:
        indexed = await self.index(caller, name)
        [review] = await self.review(caller, name)
        effects = list(_proposed(review))
        reads = sum(effect.is_read_only for effect in effects)
        others = sum(effect.destroys for effect in effects)
        return Listed(
            server=name,
            pin=review.pin,
            tools=len(effects),
            tokens=indexed.counted.tokens,
            reads=reads,
            writes=len(effects) - reads - others,
            others=others,
        )

    def _not_listed(self, caller: Principal, server: Server, error: PorticoError) -> NotListed:
        words = self.upstreams.health(caller.space, server.name).last_words
        fix = advice(server.launch, str(error), words) or error.fix
        return NotListed(server=server.name, reason=str(error), fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptListed:
    accept: AcceptTools

    async def __call__(
        self, caller: Principal, listed: Collection[Listed], which: Proposed
    ) -> Sequence[NotListed]:
        """What was seen is let in, each tool of it with an effect; what has changed since is left
        to wait, and told. Raises `NotPermitted`."""
        moved: list[NotListed] = []
        for each in listed:
            try:
                await self.accept(caller, each.server, each.pin, which)
            except (PinMoved, ServerNotFound) as error:
                moved.append(NotListed(server=each.server, reason=str(error), fix=error.fix))
        return moved


def _wanted(
    described: Sequence[Described], chosen: AbstractSet[SourcePosition]
) -> Iterator[tuple[SourcePosition, str]]:
    for file in described:
        for wish in file.wishes:
            if (file.origin, wish.where) in chosen:
                yield (file.origin, wish.where), launch_pin(wish.launch)


def _proposed(review: ServerReview) -> Iterator[Effect]:
    return (each.proposal.effect for each in review.tools if _there(each.tool))


def _there(tool: Tool) -> bool:
    return not tool.gone and tool.refused is None
