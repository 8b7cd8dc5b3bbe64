"""Who is to hear that a list has changed: told once for several changes, and only of what did."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)

from portico.interfaces.mcp.errors import TooManyListening
from portico.interfaces.mcp.knock import Knock
from portico.interfaces.mcp.uses import GatewayUses
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

_MOST: Final = 10_000
_NOW_AND_THEN: Final = 60.0
"""Seconds; the bus may lose a word, and the tools that somebody uses most change silently."""
_SETTLE: Final = 0.2
"""Seconds; one approval changes several things."""
_PATIENCE: Final = 1.0
"""Seconds to take in a notice; who does not will see the change when it lists again."""
_log: Final = logging.getLogger("portico.mcp")

Tell = Callable[[ServerEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Lists:
    tools: Sequence[JsonObject]
    resources: Sequence[Sequence[JsonObject]]
    prompts: Sequence[JsonObject]

    def changed_from(self, before: "_Lists") -> Sequence[ServerEvent]:
        changed: list[ServerEvent] = []
        if self.tools != before.tools:
            changed.append(ToolsListChanged())
        if self.resources != before.resources:
            changed.append(ResourcesListChanged())
        if self.prompts != before.prompts:
            changed.append(PromptsListChanged())
        return changed


@dataclass(slots=True, eq=False)
class _Listener:
    knock: Knock
    tell: Tell
    seen: _Lists


@dataclass(slots=True, kw_only=True)
class Audience:
    use: GatewayUses
    start: Callable[..., "asyncio.Task[None]"]
    settle: float = _SETTLE
    _of: dict[SpaceId, set[_Listener]] = field(default_factory=dict)
    _watching: dict[SpaceId, "asyncio.Task[None]"] = field(default_factory=dict)

    @asynccontextmanager
    async def joined(self, knock: Knock, tell: Tell) -> AsyncIterator[None]:
        """Raises `TooManyListening`, and what listing raises."""
        if sum(map(len, self._of.values())) >= _MOST:
            raise TooManyListening
        listener = _Listener(knock, tell, await self._look(knock))
        space = knock.caller.space
        if space not in self._of:
            self._of[space] = set()
            self._watching[space] = self.start(self._watch(space))
        self._of[space].add(listener)
        try:
            yield
        finally:
            self._of[space].discard(listener)
            if not self._of[space]:
                del self._of[space]
                self._watching.pop(space).cancel()

    async def _watch(self, space: SpaceId) -> None:
        with self.use.changes(space) as wakeups:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_NOW_AND_THEN):
                        await wakeups.wait()
                await asyncio.sleep(self.settle)
                for listener in list(self._of.get(space, ())):
                    await self._tell(listener)

    async def _tell(self, listener: _Listener) -> None:
        try:
            now = await self._look(listener.knock)
            changed, listener.seen = now.changed_from(listener.seen), now
            async with asyncio.timeout(_PATIENCE):
                for event in changed:
                    await listener.tell(event)
        except (PorticoError, TimeoutError):
            _log.debug("a listener was not told of a changed list", exc_info=True)

    async def _look(self, knock: Knock) -> _Lists:
        """All of it lies in memory."""
        caller, server = knock.caller, knock.server
        offers = await self.use.list_offers(caller, server)
        if server is None:
            tools = (await self.use.show_surface(caller)).tools
        else:
            tools = (await self.use.list_server_tools(caller, server)).tools
        return _Lists(tools, (offers.resources, offers.resource_templates), offers.prompts)
