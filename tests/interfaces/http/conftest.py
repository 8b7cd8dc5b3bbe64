"""The HTTP face with every wall around it, on in-memory doors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from portico.adapters.crypto import AesSivSeal
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.app.gateway import over_mcp
from portico.app.gateway_wiring import Gateway, assemble_gateway
from portico.app.use_cases import Dependencies, assemble
from portico.app.workflows import InlineEngine, WorkflowDependencies
from portico.engine.core.runs import QueueConfig
from portico.engine.core.store import Source, StoreStatus
from portico.engine.drill import drill_kind
from portico.engine.execution import RunActivation
from portico.engine.runs import Kinds
from portico.guard.core.rules import Rule
from portico.guard.spaces import InstallHome, SpaceSpec
from portico.interfaces.http.app import build, routes
from portico.interfaces.http.middleware import allowed
from portico.interfaces.http.use_cases import BridgeUseCases, GatewayUseCases, UseCases
from portico.interfaces.mcp.bridge.definitions import BridgeUses
from portico.interfaces.mcp.debate.definitions import DebateUses
from portico.interfaces.mcp.request_context import GatewayUses
from portico.learning.observation import CallObservations
from portico.testing.engine import MemoryBus, MemoryEventLog, MemoryReceipts
from portico.testing.gateway import ScriptedUpstreams
from portico.testing.gateway_fakes import ANYTHING, memory_gateway
from portico.testing.guard import (
    MemoryAudit,
    MemoryAuditHeads,
    MemoryKeyRing,
    MemoryKeys,
    MemoryLeavings,
    MemoryPrincipals,
    MemoryRules,
    MemorySessions,
    MemorySpaces,
    MemoryTaskContexts,
)
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from portico.testing.sandbox import ScriptedServerConfinement
from tests.interfaces.http.asgi import HERE, Answer, Header, ask, bearing, written
from tests.interfaces.http.memory import (
    KIND,
    MemoryDebates,
    MemoryRuns,
    memory_agents,
    memory_bridge,
    memory_debates,
    memory_models,
    memory_runs,
)

HOST: Header = HERE
PEPPER = b"pepper"


async def good_store() -> StoreStatus:
    return StoreStatus(
        source=Source.EMBEDDED,
        address="here",
        running=True,
        server_version="18.4",
        applied=1,
        pending=0,
    )


@dataclass(frozen=True)
class Site:
    """The application, and the key of the first admin."""

    app: ASGIApp
    inside: FastAPI
    use: UseCases
    gateway: GatewayUseCases
    lessons: CallObservations
    upstreams: ScriptedUpstreams
    walls: ScriptedServerConfinement
    over_mcp: GatewayUses
    agent_runs: MemoryRuns
    bridge: BridgeUseCases
    bridge_over_mcp: BridgeUses
    debates: MemoryDebates
    debates_over_mcp: DebateUses
    key: str
    working: Callable[[], AbstractAsyncContextManager[None]]
    """Runs are carried out for as long as this is open."""
    doors: Dependencies
    rooms: Mapping[str, object]

    def rebuilt(self, rooms: Mapping[str, object] | None = None, **more: Any) -> ASGIApp:
        """The application in another form: with other rooms, manners or tokens."""
        walls = allowed(3100, None)
        whole = {**self.rooms, **(rooms or {})}
        return build(self.use, self.gateway, walls, nothing_running, rooms=whole, **more)

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        headers: tuple[Header, ...] = (),
        query: str = "",
    ) -> Answer:
        shown = [*bearing(self.key if key is None else key), *headers]
        return await ask(self.app, method, path, headers=shown, body=written(body), query=query)


@pytest.fixture
async def site() -> Site:
    return await built()


async def built(rules: Sequence[Rule] = (ANYTHING,)) -> Site:
    """With these in force for everybody."""
    world, clock, entropy = InMemoryStore(), TickingClock(), SeededEntropy("http")
    bus, audit = MemoryBus(), MemoryAudit(world, clock)
    log = MemoryEventLog(world, bus)
    runs, line = (
        InlineRuns(clock, entropy, bus, log),
        InlineRunQueue([QueueConfig(name="runs")], clock),
    )
    kinds = Kinds([drill_kind(clock, "this process"), KIND])
    doors = Dependencies(
        key_ring=MemoryKeyRing(world),
        keys=MemoryKeys(world),
        sessions=MemorySessions(world),
        principals=MemoryPrincipals(world),
        spaces=MemorySpaces(world),
        receipts=MemoryReceipts(world),
        contexts=MemoryTaskContexts(world),
        book=runs,
        runs=runs,
        queue=line,
        kinds=kinds,
        event_log=log,
        bus=bus,
        seal=AesSivSeal.from_pepper(PEPPER),
        unit_of_work=together,
        audit=audit,
        audit_log=audit,
        audit_heads=MemoryAuditHeads(),
        clock=clock,
        entropy=entropy,
        pepper=PEPPER,
        store_status=good_store,
        version="1.2.3",
        base_url="http://127.0.0.1:3100",
        leavings=MemoryLeavings(),
    )
    install = InstallHome(
        spaces=doors.spaces,
        unit_of_work=together,
        audit=audit,
        clock=clock,
        entropy=entropy,
        pepper=PEPPER,
    )
    installed = await install(SpaceSpec(name="home", admin="ana"))
    use = assemble(doors)
    upstreams, walls = ScriptedUpstreams(), ScriptedServerConfinement()
    made = memory_gateway(
        world,
        upstreams,
        bus=bus,
        clock=clock,
        entropy=entropy,
        walls=walls,
        audit=audit,
        rules=MemoryRules(rules, world),
        engine=InlineEngine(runs, line, bus),
    )
    whole = assemble_gateway(made)
    gateway, plans = whole.over_http, made.workflows
    debates = memory_debates(world, doors, plans.engines.durable)
    carried_out = [
        drill_kind(clock, "this process"),
        plans.kind(whole.step_call, plans.engines.durable, whole.plan_lessons.note),
        whole.programs.kind(whole.step_call, plans.engines.durable),
        KIND,
        *debates.kinds,
    ]
    leg = RunActivation(journal=runs, bus=bus, kinds=Kinds(carried_out), clock=clock)
    agent_runs = memory_runs(world, doors, use, gateway)
    bridge = memory_bridge(world, doors, plans)
    rooms = {
        "agent_runs": agent_runs.use,
        "agents": memory_agents(world, doors, agent_runs.use),
        "models": memory_models(),
        "bridge": bridge,
        "debates": debates.use,
    }
    return Site(
        build(use, gateway, allowed(3100, None), nothing_running, rooms=rooms),
        routes(use, gateway, nothing_running, rooms=rooms),
        use,
        gateway,
        whole.observations,
        upstreams,
        walls,
        over_mcp(whole, use, bus, doors.version),
        agent_runs,
        bridge,
        BridgeUses(
            authenticate=use.authenticate,
            enter_context=use.enter_context,
            bridge=bridge,
            clock=clock,
            version=doors.version,
        ),
        debates,
        DebateUses(
            authenticate=use.authenticate,
            enter_context=use.enter_context,
            debates=debates.use,
            version=doors.version,
        ),
        installed.key.key.reveal(),
        partial(_working, partial(line.working, leg, runs.due), partial(_quick, whole, plans)),
        doors,
        rooms,
    )


@asynccontextmanager
async def _working(
    durable: Callable[[], AbstractAsyncContextManager[None]],
    quick: Callable[[], Coroutine[Any, Any, None]],
) -> AsyncIterator[None]:
    async with durable(), asyncio.TaskGroup() as group:
        task = group.create_task(quick())
        yield
        task.cancel()


async def _quick(whole: Gateway, plans: WorkflowDependencies) -> None:
    """What runs in this process alone, here too."""
    side = plans.engines.inline
    assert isinstance(side.runs, InlineRuns)
    assert isinstance(side.queue, InlineRunQueue)
    learn = whole.plan_lessons.note
    kinds = [plans.kind(whole.step_call, side, learn), whole.programs.kind(whole.step_call, side)]
    await InlineEngine(side.runs, side.queue, InlineBus()).run(plans, kinds)


@asynccontextmanager
async def nothing_running() -> AsyncIterator[None]:
    yield
