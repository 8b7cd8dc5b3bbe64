"""The whole gateway in memory with a lane beside it, and a script in place of what foretells."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from portico.gateway.core.calls import Called, UpstreamTarget
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.inferred_schema import ToolPlace
from portico.guard.core.access_request import AccessRequest
from portico.guard.ports import Rules
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.learning.core.observation import Increment, LabelModel
from portico.learning.core.observed_calls import (
    EdgeKey,
    ObservedCall,
    Origin,
    Predicted,
    ReadRequest,
    Source,
    form_of,
)
from portico.learning.core.prefetch_cache import TrustInAll, place_of
from portico.learning.core.prefetch_gates import PrefetchLimits, SpaceSwitches, Use, switches_json
from portico.learning.core.prefetch_predictor import Trust
from portico.learning.observation import TrackedContexts
from portico.learning.prefetch_switches import AHEAD
from portico.testing.gateway import a_tool
from portico.testing.gateway_fakes import MemoryPrefetchMeter
from portico.testing.guard import MemoryAudit, MemorySpaceSettings
from tests.gateway.open_room import ANA, READ, OpenRoom

LIST: Final = a_tool("files.list", "Lists the files of a folder.", effect=Effect.LOCAL_READ)
WORDS: Final = Source(Origin.WORDS)


class AlwaysTrusted(Trust):
    """Of a principal for whom whatever has proved right is made."""

    @property
    def good(self) -> bool:
        return True


@dataclass(slots=True)
class Foreseen:
    """A script: after each call, what is foretold."""

    next: Callable[[ObservedCall | None], Sequence[Predicted]]
    said: list[str] = field(default_factory=list)
    seen: list[ObservedCall] = field(default_factory=list)
    ended: int = 0

    def saw(self, call: ObservedCall, layer: LabelModel) -> Sequence[Increment]:
        self.seen.append(call)
        return []

    def told(self, text: str) -> None:
        self.said.append(text)

    def ahead(
        self, layers: Sequence[LabelModel], among: Callable[[ToolPlace], bool], most: int = 3
    ) -> Sequence[Predicted]:
        found = self.next(self.seen[-1] if self.seen else None)
        return [each for each in found if among(each.form.tool)][:most]

    def end(self, layer: LabelModel) -> Sequence[Increment]:
        self.ended += 1
        return []


class Elsewhere:
    """Other processes: they have changed something, or not."""

    def __init__(self) -> None:
        self.changed = False
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def changed_since(self, act: AccessRequest, since: datetime) -> bool:
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.changed


class AheadRoom(OpenRoom):
    """Time is what a test says; nothing is foretold unless a test says so."""

    def __init__(self, terms: PrefetchLimits | None = None, rules: Rules | None = None) -> None:
        super().__init__(rules=rules)
        place, _ = self._server("files")
        self.world.tools[place] = [*self.world.tools[place], LIST]
        self.seconds = 1_000.0
        self.elsewhere = Elsewhere()
        self.terms = terms or PrefetchLimits()
        self.settings = MemorySpaceSettings(self.world)
        ahead, running = self.gateway.ahead, self.gateway.running_ahead
        self.board = ahead.board
        self.board.terms = self.terms
        self.lane = running.executor
        ask = self.lane.ask
        self.lane.ask = replace(
            ask,
            still_so=replace(ask.still_so, elsewhere=self.elsewhere),
            terms=self.terms,
            now=lambda: self.seconds,
        )
        self.closed: list[tuple[str, str]] = []
        self.run_ahead = replace(
            running.run_ahead,
            turned_down=lambda wanted, gate: self.closed.append((str(wanted.ref), gate)),
        )
        self.script = Foreseen(lambda _: [])
        self.watching = running.watching
        self.watching.trust = TrustInAll(AlwaysTrusted)
        self.watching.tasks = TrackedContexts(new_history=lambda: self.script)
        self.watching.run_ahead = self.run_ahead
        self.call = self.use.call_tool
        for tool in (READ, LIST):
            self.slow(tool)

    @property
    def meter(self) -> MemoryPrefetchMeter:
        meter = self.doors.ahead.meter
        assert isinstance(meter, MemoryPrefetchMeter)
        return meter

    @property
    def acts(self) -> list[JsonObject]:
        """In the audit."""
        audit = self.doors.audit
        assert isinstance(audit, MemoryAudit)
        return audit.acts

    def use_of(self, server: str) -> Use:
        return self.lane.budget.use(place_of(ANA), server, self.seconds)

    def place(self, tool: Tool) -> ToolPlace:
        _, server = self._server(tool.ref.server)
        return ToolPlace(server.id, tool.ref.name)

    def slow(self, tool: Tool) -> None:
        """It is known to take long enough."""
        for _ in range(3):
            self.lane.paces.note(ANA.space, self.place(tool), timedelta(seconds=1))

    def foretold(self, tool: Tool, arguments: JsonObject, *, live: bool = True) -> Predicted:
        form = form_of(self.place(tool), arguments)
        assert form is not None
        edge = EdgeKey(None, None, False, form, 9)
        sources = {name: frozenset({WORDS}) for name in arguments}
        return Predicted(form, arguments, 0.9, edge, live, sources)

    def wanted(self, tool: Tool = READ, path: str = "a") -> ReadRequest:
        predicted = self.foretold(tool, {"path": path})
        return ReadRequest.of(predicted, tool.ref, tool.pin)

    def at_most(self, longest: timedelta) -> None:
        """A call ahead may take so long."""
        self.lane.ask = replace(self.lane.ask, terms=replace(self.terms, longest=longest))

    async def switch(self, switches: SpaceSwitches) -> None:
        await self.settings.put(ANA, AHEAD, switches_json(switches))
        self.bus.wake(ANA.space, AHEAD)

    async def wake_up(self) -> None:
        """The servers are running: somebody has looked at them."""
        for name in ("files", "sky"):
            await self.upstreams.look(UpstreamTarget.of(ANA.space, self._server(name)[1]))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The lane, until the end."""
        await self.wake_up()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.lane.run())
            await asyncio.sleep(0)
            try:
                yield
            finally:
                task.cancel()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not true():  # noqa: ASYNC110 # the script has no event for it
                await asyncio.sleep(0)

    async def landed(self) -> None:
        await self.until(lambda: not self.lane.under_way)

    async def ahead(self, *wanted: ReadRequest, caller: Principal = ANA) -> None:
        """Begun, and over."""
        await self.run_ahead.these(caller, wanted)
        await self.landed()

    async def asked(self, path: str = "a", *, tool: Tool = READ, caller: Principal = ANA) -> Called:
        return await self.call(caller, tool.ref, {"path": path})
