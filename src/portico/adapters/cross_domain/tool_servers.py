"""Built-in servers whose tools are the exposed agents and the saved workflows of a space."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from typing import Final, Protocol

from portico.adapters.builtin.tool import NothingBeside
from portico.agents.core.agents import (
    Agent,
    AgentFilter,
    AgentId,
    AgentSpec,
    AgentVersion,
    spec_json,
)
from portico.agents.core.events import RunFinished, ToolCallAwaitingApproval
from portico.agents.core.traces import AgentRunStatus
from portico.agents.ports import Agents
from portico.agents.runs import AgentRunSpec, StartedAgentRun
from portico.engine.core.runs import Started
from portico.gateway.catalog import Catalogs
from portico.gateway.core.calls import (
    Phase,
    ServerHealth,
    ServerListing,
    ToolResult,
    UpstreamTarget,
)
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import AGENTS, Identity, Inside, ProtocolRevision, Server
from portico.gateway.ports import ClientChannel, house
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonObject, canonical
from portico.kernel.label import Label, Level, may_read
from portico.kernel.principal import Principal
from portico.workflows.core.plan_report import WorkflowReport
from portico.workflows.core.saved import Admission
from portico.workflows.core.texts import as_answer as workflow_answer
from portico.workflows.runs import SavedRunSpec
from portico.workflows.saved import IDENTITY

LAUNCH: Final = Inside(AGENTS, "1")
LABEL: Final = Label(Level.TEAM)
"""What their answers carry, unless an operator says otherwise."""
TIMEOUT: Final = 300.0
"""Seconds for one call."""
_IDENTITY: Final = Identity("Portico", LAUNCH.version)
_SPARE: Final = timedelta(seconds=1)
"""Of the time for a call, to say that it is not done yet."""
_MESSAGE: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100_000,
            "description": "What it should do, with everything that it needs to know for it.",
        }
    },
    "required": ["message"],
    "additionalProperties": False,
}


class Answering(Protocol):
    async def __call__(
        self, caller: Principal, run: RunId, *, patience: timedelta
    ) -> RunFinished | ToolCallAwaitingApproval | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What is there only once agents are."""

    start: Callable[[Principal, AgentRunSpec], Awaitable[StartedAgentRun]]
    answer: Answering
    offered: Callable[[SpaceId], Awaitable[Sequence[tuple[AgentSpec, Effect]]]]
    """With the worst that the tools of each can do."""


@dataclass(slots=True)
class AgentTools(NothingBeside):
    _running: list[Running] = field(default_factory=list)
    _known: set[tuple[SpaceId, str]] = field(default_factory=set)
    _calls: Counter[tuple[SpaceId, str]] = field(default_factory=Counter)

    def bring(self, running: Running) -> None:
        self._running = [running]

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: UpstreamTarget) -> ServerListing:
        self._known.add((target.space, target.server))
        offered = await self._here(target).offered(target.space)
        tools = [tool_definition(spec, effect) for spec, effect in offered]
        return ServerListing(
            identity=_IDENTITY,
            protocol_revision=ProtocolRevision.MODERN,
            instructions=None,
            tools=tools,
        )

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,  # noqa: ARG002 # whoever wants to see it follows the run
    ) -> ToolResult:
        """A run in the name of whoever calls. What has not ended in time goes on, and is said to:
        being cancelled ends only the waiting."""
        if target.acting is None:
            raise UpstreamDown(target.server, "nobody is calling")
        caller, running, place = target.acting.caller, self._here(target), _place(target)
        self._known.add(place)
        self._calls[place] += 1
        try:
            message = str(arguments["message"])
            wish = AgentRunSpec(agent=tool, message=message, key=target.acting.call)
            started = await running.start(caller, wish)
            patience = max(timeout - _SPARE, timedelta(0))
            came = await running.answer(caller, started.run, patience=patience)
        finally:
            self._calls[place] -= 1
        return as_answer(started.run, came)

    async def stop(self, space: SpaceId, server: str) -> None:
        """There is nothing of it that runs here: runs are the engine's."""

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        calls = self._calls[space, server]
        return ServerHealth(phase=Phase.RUNNING if calls else Phase.IDLE, calls_now=calls)

    def _here(self, target: UpstreamTarget) -> Running:
        """Raises `UpstreamDown`."""
        if not self._running:
            raise UpstreamDown(target.server, "there are no agents in this process")
        return self._running[0]


def tool_definition(spec: AgentSpec, effect: Effect) -> JsonObject:
    """What its tools can do is what it can do; the words that it is given go to a model. Whatever
    is changed of it waits to be approved anew: by its words alone nobody would see that it is told
    to do something else."""
    reads = effect.is_read_only
    digest = sha256(canonical(spec_json(spec))).hexdigest()
    return {
        "name": spec.name,
        "description": spec.description or f"The agent {spec.name}.",
        "inputSchema": _MESSAGE,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": effect.destroys,
            "openWorldHint": True,
        },
        "_meta": {"portico/agent": digest},
    }


def as_answer(run: RunId, came: RunFinished | ToolCallAwaitingApproval | None) -> ToolResult:
    match came:
        case RunFinished(status=AgentRunStatus.COMPLETED, answer=answer):
            return _said(run, "completed", answer)
        case RunFinished() as ended:
            why = " ".join(filter(None, [ended.error, ended.fix]))
            words = f"The agent did not finish ({ended.status}). {why}".strip()
            text = "\n".join(filter(None, [ended.answer, words]))
            failed = ended.status is AgentRunStatus.FAILED
            return _said(run, str(ended.status), text, failed=failed)
        case ToolCallAwaitingApproval() as waits:
            text = (
                f"The agent waits until somebody has approved {waits.tool} ({waits.approval}), and "
                f"then goes on: it is the run {run}."
            )
            return _said(run, "waiting", text)
        case None:
            text = f"The agent is still at it: it is the run {run}."
            return _said(run, "running", text)


def _said(run: RunId, status: str, text: str, *, failed: bool = False) -> ToolResult:
    return ToolResult(
        [{"type": "text", "text": text}],
        {"run": str(run), "status": status, "answer": text},
        failed=failed,
    )


def _place(target: UpstreamTarget) -> tuple[SpaceId, str]:
    return target.space, target.server


_log: Final = logging.getLogger("portico.agents")
_MOST: Final = 200
"""Agents of a space that are tools."""


@dataclass(slots=True, kw_only=True)
class ExposedAgents:
    """The room's `Agents`, around another: whatever changes one is followed, once it is written, by
    asking anew what there is. As any server's tools, they wait for approval."""

    agents: Agents
    afterwards: Callable[[Callable[[], None]], None]
    """Once what is being written is there for others to see."""
    changed: asyncio.Queue[SpaceId] = field(default_factory=asyncio.Queue)

    async def add(self, caller: Principal, agent: Agent) -> None:
        await self.agents.add(caller, agent)
        if agent.spec.exposed:
            self._changed(caller.space)

    async def get(self, caller: Principal, name: str) -> Agent:
        return await self.agents.get(caller, name)

    async def put(self, caller: Principal, agent: Agent, *, was: int) -> None:
        await self.agents.put(caller, agent, was=was)
        self._changed(caller.space)

    async def remove(self, caller: Principal, agent: AgentId) -> None:
        await self.agents.remove(caller, agent)
        self._changed(caller.space)

    async def page(
        self, caller: Principal, which: AgentFilter, *, after: str | None, limit: int
    ) -> Sequence[Agent]:
        return await self.agents.page(caller, which, after=after, limit=limit)

    async def versions(self, caller: Principal, agent: AgentId) -> Sequence[AgentVersion]:
        return await self.agents.versions(caller, agent)

    def _changed(self, space: SpaceId) -> None:
        self.afterwards(lambda: self.changed.put_nowait(space))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposing:
    agents: Agents
    catalogues: Catalogs
    server: Callable[[SpaceId], Awaitable[Server | None]]
    """The one whose tools they are, if there is one yet."""
    ask_again: Callable[[SpaceId], Awaitable[None]]

    async def offered(self, space: SpaceId) -> Sequence[tuple[AgentSpec, Effect]]:
        """Those that nobody learns of by it who may not: what is more secret than the server is not
        among them."""
        server = await self.server(space)
        if server is None:
            return []
        looking = replace(house(space), clearance=server.label)
        return [(spec, await self._worst(looking, spec)) for spec in await self._exposed(looking)]

    async def run(self, changed: asyncio.Queue[SpaceId]) -> None:
        """Until it is cancelled."""
        while True:
            space = await changed.get()
            try:
                looking = replace(house(space), clearance=LABEL)
                if await self.server(space) is not None or await self._exposed(looking):
                    await self.ask_again(space)
            except PorticoError as error:
                _log.warning("it is not known which agents are tools now: %s", error)

    async def _exposed(self, caller: Principal) -> Sequence[AgentSpec]:
        exposed: list[AgentSpec] = []
        after: str | None = None
        while len(exposed) < _MOST:
            page = await self.agents.page(caller, AgentFilter(), after=after, limit=_MOST)
            specs = [agent.spec for agent in page if agent.spec.exposed]
            exposed += [spec for spec in specs if may_read(caller.clearance, spec.label)]
            if len(page) < _MOST:
                break
            after = page[-1].name
        return exposed[:_MOST]

    async def _worst(self, caller: Principal, spec: AgentSpec) -> Effect:
        its = replace(caller, clearance=spec.label, tools=(spec.tools,))
        shelf = await self.catalogues.offered(its)
        return worst(tool.effect for tool in shelf.tools.values())


class Waiting(Protocol):
    async def __call__(
        self,
        caller: Principal,
        run: RunId,
        *,
        patience: timedelta,
        line: ClientChannel | None = None,
    ) -> WorkflowReport: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunning:
    """What is called through the gateway, and so there only once the gateway is."""

    start: Callable[[Principal, SavedRunSpec], Awaitable[Started]]
    admit: Callable[[Principal, SavedRunSpec], Awaitable[JsonObject]]
    wait: Waiting
    offered: Callable[[SpaceId], Awaitable[list[JsonObject]]]
    patience: timedelta


@dataclass(slots=True)
class WorkflowTools(NothingBeside):
    running: Callable[[], WorkflowRunning]
    _known: set[tuple[SpaceId, str]] = field(default_factory=set)
    _calls: Counter[tuple[SpaceId, str]] = field(default_factory=Counter)

    def knows(self, space: SpaceId, server: str) -> bool:
        return (space, server) in self._known

    async def look(self, target: UpstreamTarget) -> ServerListing:
        self._known.add((target.space, target.server))
        tools = await self.running().offered(target.space)
        return ServerListing(
            identity=IDENTITY,
            protocol_revision=ProtocolRevision.MODERN,
            instructions=None,
            tools=tools,
        )

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        """A run is given the plan, to carry it out itself: waiting for another would take up a
        place that the other needs. Otherwise what has not ended in time goes on, and is said to:
        being cancelled ends only the waiting."""
        if target.acting is None:
            raise UpstreamDown(target.server, "nobody is calling")
        caller, running, place = target.acting.caller, self.running(), (target.space, target.server)
        wish = SavedRunSpec(name=tool, inputs=arguments)
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
        return workflow_answer(report)

    async def stop(self, space: SpaceId, server: str) -> None:
        """There is nothing of it that runs here: runs are the engine's."""

    def health(self, space: SpaceId, server: str) -> ServerHealth:
        calls = self._calls[space, server]
        return ServerHealth(phase=Phase.RUNNING if calls else Phase.IDLE, calls_now=calls)
