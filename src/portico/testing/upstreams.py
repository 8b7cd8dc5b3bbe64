"""Servers that answer from a script: at once, late, or not at all."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from portico.gateway.core.calls import Answer, Phase, Seen, Target, Vitals
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import UpstreamDown, UpstreamTimedOut
from portico.gateway.core.servers import Era, Identity
from portico.gateway.ports import Line
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

Reply = Answer | PorticoError | Callable[[JsonObject], Answer]


def seen(
    *tools: JsonObject,
    instructions: str | None = None,
    resources: Sequence[JsonObject] = (),
    prompts: Sequence[JsonObject] = (),
) -> Seen:
    """What a server offers that has these tools, in the protocol's own form."""
    return Seen(
        identity=Identity("scripted", "1.0"),
        era=Era.MODERN,
        instructions=instructions,
        tools=tools,
        resources=resources,
        prompts=prompts,
    )


def text(words: str, *, failed: bool = False) -> Answer:
    return Answer([{"type": "text", "text": words}], failed=failed)


@dataclass(slots=True, kw_only=True)
class ScriptedUpstreams:
    offers: dict[str, Seen] = field(default_factory=dict)
    """By server; one that is not here is not there."""
    replies: dict[ToolRef, Reply | list[Reply]] = field(default_factory=dict)
    """Of a list one after the other, and the last one from then on."""
    results: dict[str, JsonObject] = field(default_factory=dict)
    """Of resources by address, of prompts by name, of completions under `complete`."""
    dead: set[str] = field(default_factory=set)
    looked: list[Target] = field(default_factory=list)
    called: list[tuple[ToolRef, JsonObject]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    last_words: dict[str, Sequence[str]] = field(default_factory=dict)
    _held: dict[str, asyncio.Event] = field(default_factory=dict)

    def hang(self, server: str) -> None:
        """It does not answer until `release`."""
        self._held[server] = asyncio.Event()

    def release(self, server: str) -> None:
        self._held.pop(server).set()

    async def look(self, target: Target) -> Seen:
        self.looked.append(target)
        await self._reach(target.server)
        return self.offers[target.server]

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> Answer:
        ref = ToolRef(target.server, tool)
        self.called.append((ref, arguments))
        await self._in_time(str(ref), target.server, timeout)
        reply = self._next(ref)
        if isinstance(reply, PorticoError):
            raise reply
        return reply if isinstance(reply, Answer) else reply(arguments)

    async def read_resource(
        self,
        target: Target,
        uri: str,
        *,
        timeout: timedelta,
        line: Line | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> JsonObject:
        await self._in_time(uri, target.server, timeout)
        return self.results[uri]

    async def get_prompt(
        self,
        target: Target,
        name: str,
        arguments: Mapping[str, str],  # noqa: ARG002 # the same for all of them
        *,
        timeout: timedelta,
        line: Line | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> JsonObject:
        await self._in_time(name, target.server, timeout)
        return self.results[name]

    async def complete(
        self,
        target: Target,
        params: JsonObject,  # noqa: ARG002 # the same for all of them
        *,
        timeout: timedelta,
    ) -> JsonObject:
        await self._in_time("complete", target.server, timeout)
        return self.results["complete"]

    async def stop(self, space: SpaceId, server: str) -> None:  # noqa: ARG002 # there is one space
        self.stopped.append(server)

    def vitals(self, space: SpaceId, server: str) -> Vitals:  # noqa: ARG002 # there is one space
        reached = {*self.looked_at, *(ref.server for ref, _ in self.called)}
        phase = Phase.RUNNING if server in reached else Phase.IDLE
        return Vitals(phase=phase, last_words=self.last_words.get(server, ()))

    @property
    def looked_at(self) -> Sequence[str]:
        return [target.server for target in self.looked]

    async def _in_time(self, what: str, server: str, timeout: timedelta) -> None:
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                await self._reach(server)
        except TimeoutError as error:
            raise UpstreamTimedOut(what, timeout.total_seconds()) from error

    async def _reach(self, server: str) -> None:
        if server in self._held:
            await self._held[server].wait()
        if server in self.dead or server not in self.offers:
            raise UpstreamDown(server, "it is not there")

    def _next(self, ref: ToolRef) -> Reply:
        reply = self.replies.get(ref, text(f"{ref} was called"))
        if not isinstance(reply, list):
            return reply
        return reply.pop(0) if len(reply) > 1 else reply[0]
