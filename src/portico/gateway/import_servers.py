"""Take over servers that somebody has elsewhere, and see what each of them offers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from portico.gateway.approve_server import AcceptTools, ApproveLaunch, ReviewServers, ServerReview
from portico.gateway.core.acceptance import Proposed
from portico.gateway.core.client_files.wish import Described
from portico.gateway.core.errors import PinMoved, ServerNotFound
from portico.gateway.core.pin import launch_pin
from portico.gateway.core.server import Server
from portico.gateway.core.start_advice import advice
from portico.gateway.core.tool import Tool
from portico.gateway.index_server import IndexServer
from portico.gateway.ports import Servers, Upstreams
from portico.gateway.reconcile_servers import ReconcileServers
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokens

Place = tuple[str, str]
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
        self, caller: Principal, described: Sequence[Described], chosen: AbstractSet[Place]
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
        self, caller: Principal, wanted: dict[Place, str]
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
        reads = sum(effect.reads_only for effect in effects)
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
        words = self.upstreams.vitals(caller.space, server.name).last_words
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
    described: Sequence[Described], chosen: AbstractSet[Place]
) -> Iterator[tuple[Place, str]]:
    for file in described:
        for wish in file.wishes:
            if (file.origin, wish.where) in chosen:
                yield (file.origin, wish.where), launch_pin(wish.launch)


def _proposed(review: ServerReview) -> Iterator[Effect]:
    return (each.proposal.effect for each in review.tools if _there(each.tool))


def _there(tool: Tool) -> bool:
    return not tool.gone and tool.refused is None
