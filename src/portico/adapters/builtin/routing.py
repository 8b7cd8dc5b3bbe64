"""Which way a call goes: to a part of Portico itself, or out to somebody's server."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from portico.gateway.core.calls import Answer, Seen, Target, Vitals
from portico.gateway.core.servers import Inside
from portico.gateway.ports import Line, Upstreams
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject


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

    def _way(self, target: Target) -> Upstreams:
        if not isinstance(target.launch, Inside):
            return self._outside
        return self._inside.get(target.launch.name, self._outside)

    async def look(self, target: Target) -> Seen:
        return await self._way(target).look(target)

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,
    ) -> Answer:
        return await self._way(target).call(target, tool, arguments, timeout=timeout, line=line)

    async def read_resource(
        self, target: Target, uri: str, *, timeout: timedelta, line: Line | None = None
    ) -> JsonObject:
        return await self._way(target).read_resource(target, uri, timeout=timeout, line=line)

    async def get_prompt(
        self,
        target: Target,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout: timedelta,
        line: Line | None = None,
    ) -> JsonObject:
        way = self._way(target)
        return await way.get_prompt(target, name, arguments, timeout=timeout, line=line)

    async def complete(
        self, target: Target, params: JsonObject, *, timeout: timedelta
    ) -> JsonObject:
        return await self._way(target).complete(target, params, timeout=timeout)

    async def stop(self, space: SpaceId, server: str) -> None:
        """All of them, since a name alone does not tell; only one has anything of it."""
        for part in self._inside.values():
            await part.stop(space, server)
        await self._outside.stop(space, server)

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        ours = (part for part in self._inside.values() if part.knows(space, server))
        return next(ours, self._outside).vitals(space, server)
