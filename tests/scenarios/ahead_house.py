"""The real use cases of calling and of running ahead, put together around a scene."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, cast

from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.adapters.json_schema import JsonSchemaCheck
from portico.gateway.calls import CallTool, RecordCall
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import Called
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.inferred_schema import ToolPlace
from portico.gateway.ports import CallHistory, Results, Servers, Tools, Upstreams
from portico.gateway.results import StoreResult
from portico.gateway.search_index import BuildIndex
from portico.gateway.tool_usage import ToolUsageRecorder
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import TaintContext
from portico.guard.core.contexts import context_of
from portico.guard.ports import Rules
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_cache import FairEffort, TrustInAll
from portico.learning.core.prefetch_gates import (
    ARRIVAL,
    GATES,
    ArrivalGate,
    Gate,
    PrefetchLimits,
    PrefetchMode,
    ServerSwitch,
    SpaceSwitches,
    switches_json,
)
from portico.learning.observation import Foretelling, LabelModels, TrackedContexts
from portico.learning.prefetch import PrefetchCalls, Watching
from portico.learning.prefetch_cache import PrefetchExecutor, PrefetchOne
from portico.learning.prefetch_gates import StillSo
from portico.learning.prefetch_ports import PrefetchCounter
from portico.learning.prefetch_switches import AHEAD, Switchboard
from portico.learning.suggestions import ReadFirst
from portico.testing.engine import MemoryBus
from portico.testing.gateway import MemoryToolUsageStore
from portico.testing.guard import MemorySpaceSettings, a_gate, a_space
from portico.testing.learning import MemoryLearnedCounts
from portico.testing.memory_store import InMemoryStore, SeededEntropy
from portico.workflows.core.plan_documents import read_plan
from tests.learning.prefetch.ahead_room import AlwaysTrusted
from tests.scenarios.ahead_doors import (
    AsTheyAreNow,
    HostileForeteller,
    NobodyAnswers,
    OneProcess,
    RememberingUpstreams,
    SceneContexts,
    SceneHistory,
    SceneJournal,
    SceneLessons,
    SceneRules,
    Silent,
    Uncounted,
    as_suggested,
)
from tests.scenarios.ahead_scene import Scene
from tests.scenarios.effect_paths import WorldServers, WorldTools
from tests.scenarios.effect_world import secrecy

_SCHEMAS: Final = JsonSchemaCheck()
_EXPRESSIONS: Final = JmespathExpressions()
_TIMEOUT: Final = timedelta(seconds=30)
_SPINS: Final = 24
"""Turns after which whatever goes on beside the callers has come to rest."""
_SLOW: Final = timedelta(seconds=1)
_AT_ONCE: Final = timedelta(milliseconds=2)


@dataclass(kw_only=True)
class AheadHouse:
    """`Ways` in which the moves of a play are made."""

    scene: Scene
    begin: Callable[[], Foretelling] = Silent
    gates: Sequence[Gate] = GATES
    arrival: Sequence[ArrivalGate] = ARRIVAL
    keep: timedelta = timedelta(seconds=10)
    rows: InMemoryStore = field(default_factory=InMemoryStore)
    bus: MemoryBus = field(default_factory=MemoryBus)

    def __post_init__(self) -> None:
        scene, clock = self.scene, self.scene.clock
        upstreams = cast("Upstreams", RememberingUpstreams(scene))
        self.catalogues = Catalogs(
            servers=cast("Servers", WorldServers(scene.world)),
            tools=cast("Tools", WorldTools(scene.world)),
            build_index=cast("BuildIndex", None),
            upstreams=upstreams,
            bus=self.bus,
        )
        self.contexts = SceneContexts(scene)
        gate = a_gate(
            rules=cast("Rules", SceneRules(scene)),
            contexts=self.contexts,
            journal=SceneJournal(scene),
        )
        for person in scene.world.people:
            self.rows.spaces[person.space] = a_space()
        for server in scene.world.servers.values():
            self.rows.servers[scene.world.people[0].space, server.id] = server
        oracle = scene.oracle
        terms = PrefetchLimits(
            keep=self.keep,
            calls_at_once=oracle.at_once,
            calls_a_principal=oracle.at_once_each,
            calls_a_minute=oracle.a_minute,
            prices={"*": oracle.price} if oracle.price else {},
            dollars=oracle.dollars,
        )
        self.settings = MemorySpaceSettings(self.rows)
        self.board = Switchboard(settings=self.settings, bus=self.bus, terms=terms)
        tally = cast("PrefetchCounter", Uncounted())
        still_so = StillSo(catalogues=self.catalogues, switches=self.board, elsewhere=OneProcess())
        ask = PrefetchOne(
            still_so=still_so,
            upstreams=upstreams,
            tally=tally,
            clock=clock,
            terms=terms,
            timeout=_TIMEOUT,
            gates=self.arrival,
            now=scene.seconds,
        )
        self.foreteller = HostileForeteller(scene)
        self.lane = PrefetchExecutor(ask=ask, tally=tally)
        self.board.obeyed_by(self.lane)
        self.run_ahead = PrefetchCalls(
            catalogues=self.catalogues,
            schemas=_SCHEMAS,
            guard=gate,
            as_they_are=cast("RevalidatePrincipal", AsTheyAreNow(scene)),
            switches=self.board,
            upstreams=upstreams,
            executor=self.lane,
            clock=clock,
            gates=self.gates,
        )
        self.read_first = ReadFirst(these=self.run_ahead.these, expressions=_EXPRESSIONS)
        self.layers = LabelModels(counts=MemoryLearnedCounts(self.rows), clock=clock)
        self.watching = Watching(
            tasks=TrackedContexts(new_history=self.begin),
            run_ahead=self.run_ahead,
            layers=self.layers,
            catalogues=self.catalogues,
            contexts=self.contexts,
            switches=self.board,
            tally=tally,
            clock=clock,
            effort=FairEffort(share=1.0, saved=3_600.0),
            trust=TrustInAll(AlwaysTrusted),
        )
        entropy = SeededEntropy()
        self.call_tool = CallTool(
            catalogues=self.catalogues,
            schemas=_SCHEMAS,
            gate=gate,
            ask_first=NobodyAnswers(scene),
            upstreams=upstreams,
            record=RecordCall(
                history=cast("CallHistory", SceneHistory(scene)),
                clock=clock,
                entropy=entropy,
                clean=lambda value: value,
            ),
            tool_usage=ToolUsageRecorder(
                tool_usage=MemoryToolUsageStore(InMemoryStore()), clock=clock
            ),
            keep_result=StoreResult(
                results=cast("Results", None), clock=clock, entropy=entropy, page_size=10_000
            ),
            timeout=_TIMEOUT,
            prefetcher=self.lane,
            observers=(SceneLessons(scene), self.watching),
        )

    async def call(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> Called:
        return await self.call_tool(caller, ref, arguments)

    def say(self, caller: Principal, words: str) -> None:
        self.watching.say(caller, words)

    def has_read(self, caller: Principal, label: Label) -> None:
        task = context_of(caller)
        self.contexts.tasks[task] = TaintContext(id=task, label=label)
        who = self.scene.world.somebody(caller)
        self.scene.oracle.guard.memory(who).secrecy = secrecy(label)

    async def foretell(self, caller: Principal, ref: ToolRef, arguments: JsonObject) -> bool:
        caller = self.scene.as_now(caller)
        return bool(await self.run_ahead.these(caller, [self.foreteller(caller, ref, arguments)]))

    async def suggest(self, caller: Principal, plan: JsonObject) -> None:
        caller = self.scene.as_now(caller)
        shelf = await self.catalogues.offered(caller)
        read = read_plan(plan, _EXPRESSIONS)
        await self.read_first(caller, shelf, as_suggested(read), read)

    async def switch(self, caller: Principal) -> None:
        switched, servers = self.scene.oracle.switched, self.scene.world.servers
        each = {
            its.id: ServerSwitch(
                PrefetchMode.OFF if name in switched.off_servers else PrefetchMode.LIVE,
                external=name in switched.outside,
            )
            for name, its in servers.items()
        }
        mode = PrefetchMode.LIVE if switched.on else self.scene.dice.choice(_NOT_ON)
        switches = SpaceSwitches(mode=mode, servers=each)
        await self.settings.put(caller, AHEAD, switches_json(switches))
        self.bus.wake(caller.space, AHEAD)
        await self.board.current(caller)

    async def settled(self) -> None:
        await self.watching.work_through()
        for turn in range(_SPINS):
            await asyncio.sleep(0)
            if turn > 1 and self.lane.under_way == len(self.scene.held):
                return

    def tell_paces(self) -> None:
        """Most are so slow that it is worth it to call them ahead of time."""
        space = self.scene.world.people[0].space
        for name, tools in self.scene.world.tools.items():
            server = self.scene.world.servers[name].id
            for tool in tools:
                took = _AT_ONCE if str(tool.ref) in self.scene.quick else _SLOW
                for _ in range(3):
                    self.lane.paces.note(space, ToolPlace(server, tool.ref.name), took)


_NOT_ON: Final = (PrefetchMode.OFF, PrefetchMode.SHADOW)


@asynccontextmanager
async def lived_in(house: AheadHouse) -> AsyncIterator[AheadHouse]:
    """While it is, calls can be made ahead of time in it."""
    await house.switch(house.scene.world.people[0])
    house.tell_paces()
    running = asyncio.create_task(house.lane.run())
    await asyncio.sleep(0)
    try:
        yield house
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
