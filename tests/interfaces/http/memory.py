"""The other rooms behind the HTTP face on in-memory doors: their use cases are real, and what would
happen in a run of an agent or be said by a model is said by the test."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from portico.adapters.cross_domain.debaters import DebateMaterial
from portico.adapters.cross_domain.run_contexts import AgentIdentities
from portico.adapters.tokens import O200k
from portico.agents.conversations import TakeQuestion
from portico.agents.core.model_requests import ModelAsk, ModelRef, Price, ResponseChunk
from portico.agents.runs import (
    AGENT,
    AnswerInterrupts,
    AnswerOf,
    FollowRun,
    ResumeAgentRun,
    StartAgentRun,
    SteerRun,
    StopRun,
)
from portico.app.agents import AgentDependencies, assemble_agents
from portico.app.bridge import BridgeDependencies, ask_to_lower, assemble_bridge
from portico.app.debates import DebateDependencies, assemble_debates, debate_kinds
from portico.app.models import model_use_cases
from portico.app.use_cases import Dependencies
from portico.app.workflows import WorkflowDependencies
from portico.bridge.core.declassification import found
from portico.engine.runs import Kind
from portico.guard.authentication import RevalidatePrincipal
from portico.interfaces.http.use_cases import (
    AgentRunUseCases,
    AgentUseCases,
    BridgeUseCases,
    DebateUseCases,
    GatewayUseCases,
    ModelUseCases,
    UseCases,
)
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.agent_data import ListedTools, MemoryAgents, MemoryTraceReports, MemoryTraces
from portico.testing.agents import (
    MemoryAgentEvents,
    MemoryIdentities,
    MemoryModelRegistry,
    MemoryTasks,
    a_model,
    says,
)
from portico.testing.bridge_conversations import (
    MemoryConversations,
    MemoryMessages,
    MemoryMessageSearch,
    MemoryPeople,
    MemoryProjects,
    MemoryReadState,
)
from portico.testing.bridge_memory import (
    MemoryAttachments,
    MemoryDeclassifications,
    MemoryLeases,
    MemoryMemory,
    MemoryPresences,
    MemoryWorks,
    PlainSigning,
)
from portico.testing.debate_fakes import (
    MemoryDebateEvents,
    MemoryDebateLogs,
    MemoryDebateTasks,
    MemoryPromotion,
    ScriptedDebater,
    ScriptedDebaters,
    SpellingMeaning,
)
from portico.testing.debates import (
    MemoryBlackboard,
    MemoryBudgetLedger,
    MemoryOutcomes,
    MemoryPersonas,
    MemorySeats,
)
from portico.testing.guard import MemoryRules, MemoryTaskContexts
from portico.testing.memory_store import InMemoryStore
from portico.workflows.execution import EngineSide

SMALL = a_model(ModelRef("ollama", "llama3.2:3b"))
LARGE = a_model(
    ModelRef("router", "acme/large"),
    price=Price(input=Decimal("0.50"), output=Decimal(10)),
    local=False,
    clearance=Label(Level.TEAM),
)


class Obliging:
    """Has always the same to say."""

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        for piece in says("Good day."):
            yield piece


def memory_models() -> ModelUseCases:
    return model_use_cases(Obliging(), MemoryModelRegistry(SMALL, LARGE))


def memory_agents(
    world: InMemoryStore, doors: Dependencies, runs: AgentRunUseCases
) -> AgentUseCases:
    """With one model, `local:small`, and two tools of a server `files`."""
    identities = AgentIdentities(
        principals=doors.principals,
        approvals=runs.stop_run.approvals,
        withdraw=runs.stop_run.withdraw,
        rules=MemoryRules(world=world),
        audit=doors.audit,
        unit_of_work=doors.unit_of_work,
        clock=doors.clock,
    )
    return assemble_agents(
        AgentDependencies(
            agents=MemoryAgents(world),
            identities=identities,
            traces=MemoryTraces(world),
            reports=MemoryTraceReports(world),
            settling=runs.follow_run,
            book=MemoryModelRegistry(),
            tools=ListedTools("files.read", "files.write", servers=["files", "builtin"]),
            contexts=MemoryTaskContexts(world),
            unit_of_work=doors.unit_of_work,
            audit=doors.audit,
            clock=doors.clock,
            entropy=doors.entropy,
            version=doors.version,
        )
    )


def memory_bridge(
    world: InMemoryStore, doors: Dependencies, plans: WorkflowDependencies
) -> BridgeUseCases:
    return assemble_bridge(
        BridgeDependencies(
            projects=MemoryProjects(world),
            conversations=MemoryConversations(world, doors.clock),
            messages=MemoryMessages(world),
            read_state=MemoryReadState(world),
            people=MemoryPeople(world),
            search=MemoryMessageSearch(world, meaning),
            meaning=meaning,
            memory=MemoryMemory(world, doors.clock),
            attachments=MemoryAttachments(world),
            leases=MemoryLeases(world, doors.clock),
            works=MemoryWorks(world),
            presences=MemoryPresences(world),
            declassifications=MemoryDeclassifications(world),
            scan=found,
            signing=PlainSigning(),
            ask=ask_to_lower(plans.approvals, plans.engines.durable),
            contexts=MemoryTaskContexts(world),
            key_ring=doors.key_ring,
            seal=doors.seal,
            bus=doors.bus,
            unit_of_work=doors.unit_of_work,
            audit=doors.audit,
            clock=doors.clock,
            entropy=doors.entropy,
            look=0.5,
        )
    )


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Of each letter, how often it is there."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [[float(text.lower().count(letter)) for letter in letters] for text in texts]


NAMES = ("openai:gpt", "anthropic:claude", "meta:llama", "qwen:qwen")


@dataclass(frozen=True)
class MemoryDebates:
    use: DebateUseCases
    kinds: Sequence[Kind]
    voices: ScriptedDebaters
    talk: MemoryDebateEvents
    promotion: MemoryPromotion

    def say(self, *answers: JsonValue) -> None:
        """What each of them answers from now on, in their order."""
        for name, answer in zip(NAMES, answers, strict=True):
            self.voices.debaters[name].answer = answer


def memory_debates(world: InMemoryStore, doors: Dependencies, engine: EngineSide) -> MemoryDebates:
    voices = ScriptedDebaters(*(ScriptedDebater(name=name) for name in NAMES))
    talk, promotion = MemoryDebateEvents(), MemoryPromotion()
    made = DebateDependencies(
        debaters=voices,
        blackboard=MemoryBlackboard(world),
        budget_ledger=MemoryBudgetLedger(world),
        seats=MemorySeats(world),
        outcomes=MemoryOutcomes(world),
        personas=MemoryPersonas(world),
        meaning=SpellingMeaning(),
        tasks=MemoryDebateTasks(world, doors.clock, doors.entropy),
        material=DebateMaterial(
            projects=MemoryProjects(world), memory=MemoryMemory(world, doors.clock)
        ),
        promotion=promotion,
        event_sink=talk,
        logs=MemoryDebateLogs(),
        engine=engine,
        tokenizer=O200k(),
        unit_of_work=doors.unit_of_work,
        audit=doors.audit,
        as_they_are=RevalidatePrincipal(key_ring=doors.key_ring, clock=doors.clock),
        clock=doors.clock,
        entropy=doors.entropy,
    )
    return MemoryDebates(assemble_debates(made), debate_kinds(made), voices, talk, promotion)


@dataclass(frozen=True)
class MemoryRuns:
    use: AgentRunUseCases
    agents: MemoryAgents
    traces: MemoryTraces
    talk: MemoryAgentEvents


async def _nothing(_durable: Durable, _given: JsonObject) -> JsonValue:
    return None


KIND = Kind(name=AGENT, work=_nothing)


def memory_runs(
    world: InMemoryStore, doors: Dependencies, use: UseCases, gateway: GatewayUseCases
) -> MemoryRuns:
    approvals = gateway.approvals
    agents, traces, talk, tasks = (
        MemoryAgents(world),
        MemoryTraces(world),
        MemoryAgentEvents(),
        MemoryTasks(),
    )
    shared: dict[str, Any] = {
        "traces": traces,
        "book": doors.book,
        "runs": doors.runs,
        "queue": doors.queue,
        "audit": doors.audit,
        "unit_of_work": doors.unit_of_work,
    }
    start = StartAgentRun(
        agents=agents,
        identities=MemoryIdentities(),
        tasks=tasks,
        traces=traces,
        book=doors.book,
        start_run=use.start_run.start_run,
        audit=doors.audit,
        unit_of_work=doors.unit_of_work,
        clock=doors.clock,
        entropy=doors.entropy,
    )
    asked = approvals.show_approval.approvals
    follow = FollowRun(
        traces=traces, event_sink=talk, tasks=tasks, book=doors.book, clock=doors.clock
    )
    answer_of = AnswerOf(follow_run=follow, approvals=asked, clock=doors.clock)
    steer = SteerRun(traces=traces, tasks=tasks, clock=doors.clock)
    runs = AgentRunUseCases(
        start_agent_run=start,
        follow_run=follow,
        answer_of=answer_of,
        steer_run=steer,
        stop_run=StopRun(
            **shared,
            event_sink=talk,
            bus=doors.bus,
            approvals=asked,
            withdraw=approvals.withdraw_approval,
            clock=doors.clock,
        ),
        resume_agent_run=ResumeAgentRun(**shared),
        resolve_step=gateway.workflows.resolve_step,
        take_question=TakeQuestion(
            start_agent_run=start,
            steer_run=steer,
            answer_of=answer_of,
            traces=traces,
            clock=doors.clock,
        ),
        answer_interrupts=AnswerInterrupts(
            answer_approval=approvals.answer_approval, traces=traces
        ),
    )
    return MemoryRuns(runs, agents, traces, talk)
