"""Agents in memory on the gateway itself: their tools pass the guard, people answer, and whoever
carries a run out may die."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.adapters.cross_domain.agent_tool_exposure import Offers
from portico.adapters.cross_domain.agent_toolbox import (
    AgentWork,
    AsksNobody,
    GatewayToolbox,
    Waits,
    acting_in,
)
from portico.adapters.cross_domain.event_sinks import AgentEventLog, JsonLines
from portico.adapters.cross_domain.run_contexts import AgentIdentities, AgentTasks
from portico.adapters.crypto import AesSivSeal
from portico.agents.agent_loop import RunAgent, RunTurn
from portico.agents.core.agents import Agent
from portico.agents.core.events import AgentEvent
from portico.agents.core.traces import WholeTrace
from portico.agents.model_calls import AskModel, PrepareQuestion
from portico.agents.runs import (
    AGENT,
    AgentRunSpec,
    AnswerOf,
    FollowRun,
    ResumeAgentRun,
    StartAgentRun,
    StartedAgentRun,
    SteerRun,
    StopRun,
)
from portico.agents.tool_calls import MakeCalls
from portico.app.run_workers import starting
from portico.engine.event_log import Tails
from portico.engine.runs import Kind
from portico.guard.approvals import Reply
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.approvals import AnswerKind, Approval, Via
from portico.guard.core.authentication import as_principal
from portico.guard.core.principals import Role
from portico.guard.core.rules import Rule
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal
from portico.testing.agent_data import MemoryAgents, MemoryTraces, an_agent, an_agent_spec
from portico.testing.agents import MemoryModelRegistry, ScriptedModels, Words
from portico.testing.guard import (
    MemoryAudit,
    MemoryKeyRing,
    MemoryPrincipals,
    MemoryTaskContexts,
    an_identity,
)
from portico.testing.memory_store import BEGINNING, SeededEntropy, together
from tests.workflows.plan_room import PlanRoom

ANA = as_principal(an_identity("ana", roles=[Role.OPERATOR]))
BEN = as_principal(an_identity("ben", roles=[Role.OPERATOR]))


class Town(PlanRoom):
    """An agent `clerk`, which may use `files.*`; `files.delete` needs approval."""

    def __init__(
        self, *said: Any, rules: tuple[Rule, ...] = (), page_size: int = 20_000, **spec: Any
    ) -> None:
        super().__init__(rules=rules)
        world, clock, entropy = self.world, self.clock, self.entropy
        audit = self.approvals.audit
        self.agents, self.traces = MemoryAgents(world), MemoryTraces(world)
        self.contexts = MemoryTaskContexts(world)
        self.identities = AgentIdentities(
            principals=MemoryPrincipals(world),
            approvals=self.approvals.approvals,
            withdraw=self.approvals.withdraw(),
            rules=self.approvals.rules,
            audit=audit,
            unit_of_work=together,
            clock=clock,
        )
        self.tasks = AgentTasks(
            book=self.contexts, contexts=self.contexts, clock=clock, entropy=entropy
        )
        seal = AesSivSeal.from_pepper(b"pepper")
        tails = Tails(log=self.log, bus=self.bus, seal=seal, wording=JsonLines())
        self.talk = AgentEventLog(
            log=self.log, tails=tails, encrypt=seal, book=self.runs, clock=clock
        )
        self.models, self.book = ScriptedModels(*said), MemoryModelRegistry()
        self.toolbox = self._toolbox(page_size)
        self.agent = an_agent(
            ANA,
            principal=PrincipalId.mint(BEGINNING, SeededEntropy("clerk")),
            spec=an_agent_spec("clerk", **spec),
        )
        self.kinds = [*self.kinds, Kind(name=AGENT, work=self._work())]
        self._assemble()

    def _toolbox(self, page_size: int) -> GatewayToolbox:
        use = self.gateway.over_http
        return GatewayToolbox(
            offers=Offers(
                catalogues=self.gateway.catalogues,
                look_up=use.find_tools.look_up,
                tokenizer=Words(),
            ),
            catalogues=self.gateway.catalogues,
            find_tools=use.find_tools,
            one_call=self.gateway.step_call,
            at_once=replace(use.call_tool, ask_first=AsksNobody()),
            new_outputs=self.doors.engines.durable.outputs,
            results=self.approvals.results,
            waits=Waits(
                approvals=self.approvals.approvals,
                withdraw=self.approvals.withdraw(),
                traces=self.traces,
                event_sink=self.talk,
            ),
            clock=self.clock,
            page_size=page_size,
            keep_for=timedelta(days=1),
        )

    def _work(self) -> AgentWork:
        shared = {"clock": self.clock, "event_sink": self.talk}
        both: dict[str, Any] = {**shared, "entropy": self.entropy}
        prepare = PrepareQuestion(
            book=self.book, toolbox=self.toolbox, event_sink=self.talk, tokenizer=Words()
        )
        ask = AskModel(models=self.models, prepare=prepare, tokenizer=Words(), **both)
        run_agent = RunAgent(
            take_turn=RunTurn(prepare=prepare, ask_model=ask, traces=self.traces, **both),
            make_calls=MakeCalls(toolbox=self.toolbox, traces=self.traces, **both),
            toolbox=self.toolbox,
            acting=acting_in,
            traces=self.traces,
            clock=self.clock,
            event_sink=self.talk,
        )
        return AgentWork(
            work=run_agent,
            as_they_are=RevalidatePrincipal(key_ring=MemoryKeyRing(self.world), clock=self.clock),
            book=self.runs,
            identities=self.identities,
            traces=self.traces,
            clock=self.clock,
            event_sink=self.talk,
        )

    def _assemble(self) -> None:
        runs, line, approvals = self.runs, self.line, self.approvals.approvals
        led: dict[str, Any] = {
            "traces": self.traces,
            "book": runs,
            "audit": self.approvals.audit,
            "unit_of_work": together,
        }
        self.start_agent = StartAgentRun(
            agents=self.agents,
            identities=self.identities,
            tasks=self.tasks,
            start_run=starting(runs, line, self.clock, self.entropy, AGENT),
            clock=self.clock,
            entropy=self.entropy,
            **led,
        )
        self.follow = FollowRun(
            traces=self.traces, event_sink=self.talk, tasks=self.tasks, book=runs, clock=self.clock
        )
        self.answer_of = AnswerOf(follow_run=self.follow, approvals=approvals, clock=self.clock)
        self.steer = SteerRun(traces=self.traces, tasks=self.tasks, clock=self.clock)
        self.stop = StopRun(
            event_sink=self.talk,
            runs=runs,
            queue=line,
            bus=self.bus,
            approvals=approvals,
            withdraw=self.approvals.withdraw(),
            clock=self.clock,
            **led,
        )
        self.resume = ResumeAgentRun(runs=runs, queue=line, **led)

    @property
    def audited(self) -> list[JsonObject]:
        journal = self.approvals.audit
        assert isinstance(journal, MemoryAudit)
        return journal.acts

    async def made_agent(self, by: Principal = ANA) -> Agent:
        """As somebody has described it."""
        if (self.agent.space, self.agent.id) not in self.world.agents:
            await self.identities.add(by, self.agent)
            await self.agents.add(by, self.agent)
        return self.agent

    async def begin(
        self, message: str = "Tidy up.", *, by: Principal = ANA, **wish: Any
    ) -> StartedAgentRun:
        agent = await self.made_agent()
        return await self.start_agent(by, AgentRunSpec(agent=agent.name, message=message, **wish))

    async def ran_agent(self, message: str = "Tidy up.", **wish: Any) -> WholeTrace:
        """To its end, or to where it waits."""
        started = await self.begin(message, **wish)
        await self.leg(started.run)
        return await self.trace(started.run)

    async def trace(self, run: RunId) -> WholeTrace:
        return await self.traces.read(ANA, run)

    async def happened(self, run: RunId) -> list[AgentEvent]:
        return [told.event async for told in self.follow(ANA, run)]

    async def asked(self, run: RunId) -> Approval:  # type: ignore[override] # of an agent's run
        """What it waits for."""
        [found] = await self.approvals.approvals.of_run(ANA, run)
        return found

    async def say(self, approval: Approval, kind: AnswerKind = AnswerKind.ONCE) -> None:
        """Somebody answers, and what was approved is done."""
        use = self.gateway.over_http.approvals
        await use.answer_approval(ANA, approval.id, Reply(kind=kind, via=Via.CLI))
        await self.killed(approval.run)
