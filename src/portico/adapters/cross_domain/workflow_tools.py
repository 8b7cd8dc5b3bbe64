"""The server whose tools are a space's saved workflows, as the gateway talks to servers."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from portico.adapters.builtin.nothing_beside import NothingBeside
from portico.engine.core.runs import Started
from portico.gateway.core.calls import Answer, Phase, Seen, Target, Vitals
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import Era
from portico.gateway.ports import Line
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import WorkflowReport
from portico.workflows.core.saved import Admission
from portico.workflows.core.texts import as_answer
from portico.workflows.runs import SavedWish
from portico.workflows.saved import IDENTITY


class Waiting(Protocol):
    async def __call__(
        self, caller: Principal, run: RunId, *, patience: timedelta, line: Line | None = None
    ) -> WorkflowReport: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What is called through the gateway, and so there only once the gateway is."""

    start: Callable[[Principal, SavedWish], Awaitable[Started]]
    admit: Callable[[Principal, SavedWish], Awaitable[JsonObject]]
    wait: Waiting
    offered: Callable[[SpaceId], Awaitable[list[JsonObject]]]
    patience: timedelta


@dataclass(slots=True)
class WorkflowTools(NothingBeside):
    running: Callable[[], Running]
    _known: set[tuple[SpaceId, str]] = field(default_factory=set)
    _calls: Counter[tuple[SpaceId, str]] = field(default_factory=Counter)

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: Target) -> Seen:
        self._known.add((target.space, target.server))
        tools = await self.running().offered(target.space)
        return Seen(identity=IDENTITY, era=Era.MODERN, instructions=None, tools=tools)

    async def call(
        self,
        target: Target,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: Line | None = None,
    ) -> Answer:
        """A run is given the plan, to carry it out itself: waiting for another would take up a
        place that the other needs. Otherwise what has not ended in time goes on, and is said to:
        being cancelled ends only the waiting."""
        if target.acting is None:
            raise UpstreamDown(target.server, "nobody is calling")
        caller, running, place = target.acting.caller, self.running(), (target.space, target.server)
        wish = SavedWish(name=tool, inputs=arguments)
        self._known.add(place)
        if target.acting.in_run:
            return Admission(await running.admit(caller, wish), arguments).answer
        self._calls[place] += 1
        try:
            started = await running.start(caller, wish)
            patience = min(timeout, running.patience)
            report = await running.wait(caller, started.run.id, patience=patience, line=line)
        finally:
            self._calls[place] -= 1
        return as_answer(report)

    async def stop(self, space: SpaceId, server: str) -> None:
        """There is nothing of it that runs here: runs are the engine's."""

    def vitals(self, space: SpaceId, server: str) -> Vitals:
        calls = self._calls[space, server]
        return Vitals(phase=Phase.RUNNING if calls else Phase.IDLE, calls_now=calls)
