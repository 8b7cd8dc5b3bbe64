"""The server of our own tools, as the gateway talks to servers: no process, and nothing to open."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from portico.adapters.builtin.answers import refusal
from portico.adapters.builtin.nothing_beside import NothingBeside
from portico.adapters.builtin.offers import INSTRUCTIONS, VERSION
from portico.adapters.builtin.tool import BuiltinTool, Errand
from portico.gateway.core.calls import Answer, Phase, Seen, Target, Vitals
from portico.gateway.core.errors import ToolNotFound, UpstreamDown, UpstreamTimedOut
from portico.gateway.core.servers import Era, Identity
from portico.gateway.ports import Line
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject

_MARGIN: Final = 5.0
"""Seconds in which a tool that has met its own limit may still say so."""

Place = tuple[SpaceId, str]
"""A space, and what the server is called there."""


class BuiltinTools(NothingBeside):
    def __init__(self, tools: Sequence[BuiltinTool]) -> None:
        self._tools: Mapping[str, BuiltinTool] = {tool.offered.name: tool for tool in tools}
        self._known: set[Place] = set()
        self._lacking: Sequence[str] = ()
        self._calls: dict[Place, set[asyncio.Task[Answer]]] = {}
        self._starts: Counter[Place] = Counter()

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: Target) -> Seen:
        """Without those that this machine cannot hold."""
        self._known.add(_place(target))
        found = {name: await tool.lacking() for name, tool in self._tools.items()}
        self._lacking = [reason for reason in found.values() if reason is not None]
        self._starts[_place(target)] += 1
        there = [self._tools[name] for name, reason in found.items() if reason is None]
        return Seen(
            identity=Identity("Portico", VERSION),
            era=Era.MODERN,
            instructions=INSTRUCTIONS,
            tools=[tool.offered.definition for tool in there],
        )

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,  # noqa: ARG002 # none of them asks back
    ) -> Answer:
        found = self._tools.get(tool)
        if found is None:
            raise ToolNotFound(f"{target.server}.{tool}")
        if target.caller is None:
            raise UpstreamDown(target.server, "nobody is calling")
        seconds = timeout.total_seconds()
        errand = Errand(
            space=target.space,
            caller=target.caller,
            seconds=seconds,
            acting=None if target.acting is None else target.acting.caller,
        )
        work = asyncio.ensure_future(_within(found, arguments, errand))
        return await self._counted(target, f"{target.server}.{tool}", work, seconds)

    async def _counted(
        self, target: Target, what: str, work: asyncio.Task[Answer], seconds: float
    ) -> Answer:
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

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        calls = len(self._calls.get((space, server), ()))
        return Vitals(
            phase=Phase.RUNNING if calls else Phase.IDLE,
            starts=self._starts[space, server],
            calls_now=calls,
            lacking=" ".join(self._lacking) or None,
        )


def _place(target: Target) -> Place:
    return target.space, target.server


def _being_cancelled() -> bool:
    """Whether it is whoever calls that has had enough."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _within(tool: BuiltinTool, arguments: JsonObject, errand: Errand) -> Answer:
    """Raises `TimeoutError` where a tool has not kept its own limits."""
    async with asyncio.timeout(errand.seconds + _MARGIN):
        try:
            return await tool(arguments, errand)
        except UpstreamDown:  # nobody is calling, which no answer is to be kept of
            raise
        except PorticoError as error:
            return refusal(error)
