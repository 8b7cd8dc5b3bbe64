"""The room of agents with everything in memory: runs are started, carried out, cut off."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from portico.agents.agent_loop import RunAgent, RunTurn
from portico.agents.core.activation import RunInput
from portico.agents.core.agents import AgentSpec, Limits
from portico.agents.core.events import AgentEvent, RunFinished
from portico.agents.core.model_requests import Message
from portico.agents.core.traces import RunTrace, UserInput, WholeTrace
from portico.agents.model_calls import AskModel, Margins, PrepareQuestion
from portico.agents.ports import Models, Toolbox, Traces
from portico.agents.runs import ResumeAgentRun
from portico.agents.tool_calls import MakeCalls
from portico.engine.core.runs import Run
from portico.engine.ports import Journal
from portico.engine.runs import Kind, RunSpec
from portico.kernel.budget import Tokenizer
from portico.kernel.durable import Durable
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.agent_data import TEAM, MemoryTraces, an_agent, an_agent_spec
from portico.testing.agents import (
    MemoryAgentEvents,
    MemoryIdentities,
    MemoryModelRegistry,
    ScriptedModels,
    ScriptedToolbox,
    Words,
)
from portico.testing.guard import MemoryAudit
from portico.testing.memory_store import BEGINNING, SeededEntropy, together
from tests.engine.room import ANA, OLGA
from tests.engine.room import Room as Engine

PLENTY = Limits(turns=10, tokens=1_000_000, money=Decimal(100), seconds=1e6, calls=1_000)


class Room:
    def __init__(
        self,
        models: Models | None = None,
        toolbox: Toolbox | None = None,
        *,
        book: MemoryModelRegistry | None = None,
        tokenizer: Tokenizer | None = None,
        early_start: bool = True,
        bus: bool = True,
        traces: Traces | None = None,
        **spec: object,
    ) -> None:
        self.engine = Engine(Kind(name="agent", work=self._work))
        self.models = models or ScriptedModels()
        self.toolbox = toolbox or ScriptedToolbox()
        self.book = book or MemoryModelRegistry()
        self.talk = MemoryAgentEvents()
        self.traces: Traces = traces or MemoryTraces(self.engine.world)
        self.identities = MemoryIdentities()
        self.heard: list[str] = []
        self.pauses: list[float] = []
        self.entropy = SeededEntropy("agents")
        self.agent = an_agent(ANA, spec=a_spec(**spec))
        self.tokenizer = tokenizer or Words()
        self.resume = ResumeAgentRun(
            traces=self.traces,
            book=self.engine.runs,
            runs=self.engine.runs,
            queue=self.engine.line,
            audit=MemoryAudit(),
            unit_of_work=together,
        )
        self.early_start = early_start
        self.bus = bus
        self.margins = Margins()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.engine.clock.turn(timedelta(seconds=seconds))

    async def _acting(self, durable: Durable, given: RunInput) -> Principal:
        acting = await self.identities.acting(durable.caller, given.agent)
        return replace(acting, context=given.context)

    async def _work(self, durable: Durable, given: JsonObject) -> JsonValue:
        return await self.run_agent(durable, given)

    @property
    def run_agent(self) -> RunAgent:
        shared: dict[str, Any] = {"clock": self.engine.clock, "event_sink": self.talk}
        both: dict[str, Any] = {**shared, "entropy": self.entropy}
        prepare = PrepareQuestion(
            book=self.book,
            toolbox=self.toolbox,
            event_sink=self.talk,
            tokenizer=self.tokenizer,
            margins=self.margins,
        )
        ask = AskModel(
            models=self.models,
            prepare=prepare,
            tokenizer=self.tokenizer,
            pause=self._pause,
            **both,
        )
        return RunAgent(
            take_turn=RunTurn(
                prepare=prepare,
                ask_model=ask,
                traces=self.traces,
                hears=lambda _caller, *words: self.heard.extend(words),
                **both,
            ),
            make_calls=MakeCalls(toolbox=self.toolbox, traces=self.traces, **both),
            toolbox=self.toolbox,
            acting=self._acting,
            traces=self.traces,
            bus=self.engine.bus if self.bus else None,
            early_start=self.early_start,
            **shared,
        )

    async def start(
        self,
        message: str = "Hello.",
        *,
        continues: RunId | None = None,
        history: tuple[Message, ...] = (),
        label: Label = TEAM,
    ) -> RunId:
        spec = self.agent.spec
        given = RunInput(
            agent=self.agent,
            context=ContextId.mint(BEGINNING, self.entropy),
            label=label,
            model=spec.model,
            limits=spec.limits,
            continues=continues,
        )
        wish = RunSpec(kind="agent", input=given.as_json())
        run = (await self.engine.start_run(ANA, wish)).id
        trace = RunTrace(
            run=run,
            agent=self.agent.id,
            agent_name=self.agent.name,
            agent_version=1,
            started_by=ANA.id,
            acts_as=self.agent.principal,
            context=given.context,
            continues=continues,
            history=history,
            label=label,
            started_at=BEGINNING,
            model=spec.model,
            trace_id="0" * 32,
        )
        said = UserInput(run=run, number=1, text=message, by=ANA.id, at=BEGINNING)
        await self.traces.add(ANA, trace, said)
        return run

    async def leg(self, run: RunId, journal: Journal | None = None) -> Run:
        return await self.engine.leg(run, journal)

    async def done(self, message: str = "Hello.") -> WholeTrace:
        """A run from its start to its end, in one leg."""
        run = await self.start(message)
        await self.leg(run)
        return await self.trace(run)

    async def trace(self, run: RunId) -> WholeTrace:
        return await self.traces.read(OLGA_CLEARED, run)

    def told(self, run: RunId) -> Sequence[AgentEvent]:
        return self.talk.told[run]

    def ended(self, run: RunId) -> RunFinished:
        return next(each for each in self.told(run) if isinstance(each, RunFinished))

    async def crash(self, run: RunId, after: asyncio.Event, journal: Journal | None = None) -> None:
        await self.engine.crash(run, after, journal)


OLGA_CLEARED = replace(OLGA, clearance=ANA.clearance)


def a_spec(**changes: Any) -> AgentSpec:
    return replace(an_agent_spec(), **{"limits": PLENTY, **changes})
