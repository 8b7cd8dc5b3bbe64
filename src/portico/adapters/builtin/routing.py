"""Which way a call goes: to a part of Portico itself, or out to somebody's server."""

from collections.abc import Mapping
from datetime import timedelta

from portico.adapters.builtin.server import BuiltinTools
from portico.gateway.core.call import Answer
from portico.gateway.core.server import Inside
from portico.gateway.core.upstream import Seen, Target, Vitals
from portico.gateway.ports import Line, Upstreams
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject


class RoutedUpstreams:
    def __init__(self, inside: BuiltinTools, outside: Upstreams) -> None:
        self._inside = inside
        self._outside = outside

    def _way(self, target: Target) -> Upstreams:
        return self._inside if isinstance(target.launch, Inside) else self._outside

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
        """Both, since a name alone does not tell; one of them has nothing of it."""
        await self._inside.stop(space, server)
        await self._outside.stop(space, server)

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        ours = self._inside.knows(space, server)
        return (self._inside if ours else self._outside).vitals(space, server)
