"""The server of the built-in tools, as the gateway talks to servers, and the way to it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import timedelta
from typing import Final, Protocol

from portico.adapters.builtin.files import (
    LIST_FILES,
    MAKE_FOLDER,
    MOVE_FILE,
    READ_FILE,
    REMOVE_FILE,
    WRITE_FILE,
)
from portico.adapters.builtin.programs import RUN_CODE, SHELL
from portico.adapters.builtin.status import (
    CHECK_PERMISSION,
    METRICS,
    MODELS_INFO,
    NOTIFY,
    WORKFLOW_STATE,
)
from portico.adapters.builtin.tool import BuiltinTool, NothingBeside, ToolInvocation, refusal
from portico.adapters.builtin.web import FETCH, SEND_REQUEST
from portico.gateway.core.calls import (
    Phase,
    ServerHealth,
    ServerListing,
    ToolResult,
    UpstreamTarget,
)
from portico.gateway.core.errors import ToolNotFound, UpstreamDown, UpstreamTimedOut
from portico.gateway.core.servers import (
    BUILTIN,
    Identity,
    Inside,
    ProtocolRevision,
    Server,
    ServerId,
)
from portico.gateway.discovery import KeepBuiltin
from portico.gateway.ports import ClientChannel, Servers, Upstreams
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

VERSION: Final = "1"
"""Another one as soon as one of them can do more than it could: then it is approved anew. A word
in a description changes only the pin of that tool; and one that is new waits for approval by
itself, while those that were approved go on."""

LAUNCH: Final = Inside(BUILTIN, VERSION)

OFFERED: Final = (
    SHELL,
    READ_FILE,
    WRITE_FILE,
    LIST_FILES,
    MOVE_FILE,
    REMOVE_FILE,
    MAKE_FOLDER,
    FETCH,
    SEND_REQUEST,
    RUN_CODE,
    MODELS_INFO,
    WORKFLOW_STATE,
    METRICS,
    CHECK_PERMISSION,
    NOTIFY,
)

INSTRUCTIONS: Final = (
    "Tools of Portico itself. `shell` and the tools for files share one workspace, which is yours "
    "alone and stays; a path is relative to it. What `fetch` has brought is put there with "
    "`write_file`."
)

_MARGIN: Final = 5.0
"""Seconds in which a tool that has met its own limit may still say so."""

ServerKey = tuple[SpaceId, str]
"""A space, and what the server is called there."""


class BuiltinTools(NothingBeside):
    def __init__(self, tools: Sequence[BuiltinTool]) -> None:
        self._tools: Mapping[str, BuiltinTool] = {tool.offered.name: tool for tool in tools}
        self._known: set[ServerKey] = set()
        self._lacking: Sequence[str] = ()
        self._calls: dict[ServerKey, set[asyncio.Task[ToolResult]]] = {}
        self._starts: Counter[ServerKey] = Counter()

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: UpstreamTarget) -> ServerListing:
        """Without those that this machine cannot hold."""
        self._known.add(_place(target))
        found = {name: await tool.lacking() for name, tool in self._tools.items()}
        self._lacking = [reason for reason in found.values() if reason is not None]
        self._starts[_place(target)] += 1
        there = [self._tools[name] for name, reason in found.items() if reason is None]
        return ServerListing(
            identity=Identity("Portico", VERSION),
            protocol_revision=ProtocolRevision.MODERN,
            instructions=INSTRUCTIONS,
            tools=[tool.offered.definition for tool in there],
        )

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,  # noqa: ARG002 # none of them asks back
    ) -> ToolResult:
        found = self._tools.get(tool)
        if found is None:
            raise ToolNotFound(f"{target.server}.{tool}")
        if target.caller is None:
            raise UpstreamDown(target.server, "nobody is calling")
        seconds = timeout.total_seconds()
        errand = ToolInvocation(
            space=target.space,
            caller=target.caller,
            seconds=seconds,
            acting=None if target.acting is None else target.acting.caller,
        )
        work = asyncio.ensure_future(_within(found, arguments, errand))
        return await self._counted(target, f"{target.server}.{tool}", work, seconds)

    async def _counted(
        self, target: UpstreamTarget, what: str, work: asyncio.Task[ToolResult], seconds: float
    ) -> ToolResult:
        """Cancelled with its caller; and when the server is stopped."""
        place = _place(target)
        self._known.add(place)
        calls = self._calls.setdefault(place, set())
        calls.add(work)
        try:
            return await work
        except TimeoutError as error:
            raise UpstreamTimedOut(what, seconds) from error
        except asyncio.CancelledError:
            if work in calls or _being_cancelled():
                raise
            raise UpstreamDown(target.server, "it was stopped", reached=True) from None
        finally:
            calls.discard(work)

    async def stop(self, space: SpaceId, server: str) -> None:
        """What it does for somebody at this moment."""
        work = self._calls.pop((space, server), set())
        stopped = [*work]
        work.clear()
        for task in stopped:
            task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        calls = len(self._calls.get((space, server), ()))
        return ServerHealth(
            phase=Phase.RUNNING if calls else Phase.IDLE,
            starts=self._starts[space, server],
            calls_now=calls,
            lacking=" ".join(self._lacking) or None,
        )


def _place(target: UpstreamTarget) -> ServerKey:
    return target.space, target.server


def _being_cancelled() -> bool:
    """Whether it is whoever calls that has had enough."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _within(tool: BuiltinTool, arguments: JsonObject, errand: ToolInvocation) -> ToolResult:
    """Raises `TimeoutError` where a tool has not kept its own limits."""
    async with asyncio.timeout(errand.seconds + _MARGIN):
        try:
            return await tool(arguments, errand)
        except UpstreamDown:  # nobody is calling, which no answer is to be kept of
            raise
        except PorticoError as error:
            return refusal(error)


# The servers of a space, the one that is a part of Portico always among them.


class ServersWithBuiltin:
    """Spaces are founded at any time, by any process, and cannot be counted: so whoever first
    asks for the servers of one is the reason to see to it."""

    def __init__(self, servers: Servers, keep: KeepBuiltin) -> None:
        self._servers = servers
        self._keep = keep

    async def all(self, caller: Principal) -> Sequence[Server]:
        await self._see_to_it(caller)
        return await self._servers.all(caller)

    async def get(self, caller: Principal, name: str) -> Server:
        await self._see_to_it(caller)
        return await self._servers.get(caller, name)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        await self._see_to_it(caller)
        async with self._servers.changing(caller, name) as server:
            yield server

    async def add(self, caller: Principal, server: Server) -> None:
        await self._see_to_it(caller)
        await self._servers.add(caller, server)

    async def put(self, caller: Principal, server: Server) -> None:
        await self._servers.put(caller, server)

    async def remove(self, caller: Principal, server: ServerId) -> None:
        await self._servers.remove(caller, server)

    async def _see_to_it(self, caller: Principal) -> None:
        """In a task that inherits nothing, and so in a transaction of its own: whatever becomes of
        that of whoever asks, it is there."""
        if not self._keep.sure(caller.space):
            await asyncio.create_task(self._keep(caller.space), context=Context())


class Part(Upstreams, Protocol):
    """One of Portico's own servers."""

    def knows(self, space: SpaceId, server: str) -> bool:
        """Whether it is the one that is called so there."""
        ...


class RoutedUpstreams:
    def __init__(self, inside: Mapping[str, Part], outside: Upstreams) -> None:
        """`inside` by the names that their launches have."""
        self._inside = inside
        self._outside = outside

    def _way(self, target: UpstreamTarget) -> Upstreams:
        if not isinstance(target.launch, Inside):
            return self._outside
        return self._inside.get(target.launch.name, self._outside)

    async def look(self, target: UpstreamTarget) -> ServerListing:
        return await self._way(target).look(target)

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        return await self._way(target).call(target, tool, arguments, timeout=timeout, line=line)

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        return await self._way(target).read_resource(target, uri, timeout=timeout, line=line)

    async def get_prompt(
        self,
        target: UpstreamTarget,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        way = self._way(target)
        return await way.get_prompt(target, name, arguments, timeout=timeout, line=line)

    async def complete(
        self, target: UpstreamTarget, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject:
        return await self._way(target).complete(target, params, timeout=timeout)

    async def stop(self, space: SpaceId, server: str) -> None:
        """All of them, since a name alone does not tell; only one has anything of it."""
        for part in self._inside.values():
            await part.stop(space, server)
        await self._outside.stop(space, server)

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        ours = (part for part in self._inside.values() if part.knows(space, server))
        return next(ours, self._outside).health(space, server)
