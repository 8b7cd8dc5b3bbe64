"""Agents: their use cases, and the adapters that they run on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

from portico.adapters.agent_toml import TomlAgentFiles
from portico.adapters.builtin.status import Spent
from portico.adapters.cross_domain.agent_tool_exposure import GatewayToolNames, Offers
from portico.adapters.cross_domain.agent_toolbox import (
    AgentWork,
    AsksNobody,
    GatewayToolbox,
    Waits,
    acting_in,
)
from portico.adapters.cross_domain.event_sinks import AgentEventLog, JsonLines
from portico.adapters.cross_domain.run_contexts import AgentIdentities, AgentTasks
from portico.adapters.cross_domain.tool_servers import (
    LABEL,
    LAUNCH,
    TIMEOUT,
    ExposedAgents,
    Exposing,
)
from portico.adapters.cross_domain.tool_servers import Running as Exposed
from portico.adapters.crypto import AesSivSeal
from portico.adapters.postgres.agents.agents import PostgresAgents
from portico.adapters.postgres.agents.traces import PostgresTraceReports, PostgresTraces
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.transaction import BusAfterCommit
from portico.adapters.telemetry.agent_spans import OtlpSpans
from portico.adapters.tokens import O200k
from portico.agents.agent_checks import CheckAgent
from portico.agents.agent_loop import RunAgent, RunTurn
from portico.agents.agents import (
    ChangeAgent,
    CreateAgent,
    DiffVersions,
    DuplicateAgent,
    ExportAgent,
    ImportAgent,
    ListAgents,
    ListTemplates,
    ListVersions,
    RemoveAgent,
    RestoreVersion,
    ShowAgent,
)
from portico.agents.conversations import TakeQuestion
from portico.agents.core.model_requests import (
    ModelAsk,
    ModelInfo,
    ModelRef,
    ProviderState,
    ResponseChunk,
)
from portico.agents.core.traces import TraceFilter
from portico.agents.model_calls import AskModel, PrepareQuestion
from portico.agents.ports import Agents, Identities, ModelRegistry, ToolNames, Traces
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
from portico.agents.tool_calls import MakeCalls
from portico.agents.traces import (
    ExportTrace,
    ListTraces,
    Settling,
    ShowModelStats,
    ShowToolStats,
    ShowTrace,
    TraceReports,
)
from portico.app.app_context import AppContext
from portico.app.gateway import InternalParts, Opened
from portico.app.models import ModelDependencies, model_use_cases, open_models
from portico.app.run_workers import Lasting, ended, kept_up, starting
from portico.app.shared_dependencies import SharedDependencies
from portico.app.workflows import WorkflowDependencies
from portico.engine.event_log import Tails
from portico.engine.runs import Kind
from portico.gateway.discovery import KeepBuiltin
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.ports import Audit, Contexts, UnitOfWork
from portico.interfaces.http.use_cases import AgentRunUseCases, AgentUseCases, ModelUseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDependencies:
    agents: Agents
    identities: Identities
    traces: Traces
    reports: TraceReports
    settling: Settling
    book: ModelRegistry
    tools: ToolNames
    contexts: Contexts
    unit_of_work: UnitOfWork
    audit: Audit
    clock: Clock
    entropy: Entropy
    version: str


def assemble_agents(doors: AgentDependencies) -> AgentUseCases:
    agents, contexts, files = doors.agents, doors.contexts, TomlAgentFiles()
    check = CheckAgent(book=doors.book, tools=doors.tools, contexts=contexts)
    create = CreateAgent(
        agents=agents,
        identities=doors.identities,
        check_agent=check,
        unit_of_work=doors.unit_of_work,
        audit=doors.audit,
        clock=doors.clock,
        entropy=doors.entropy,
    )
    change = ChangeAgent(
        agents=agents,
        identities=doors.identities,
        check_agent=check,
        unit_of_work=doors.unit_of_work,
        audit=doors.audit,
        clock=doors.clock,
    )
    show = ShowAgent(agents=agents, contexts=contexts)
    versions = ListVersions(agents=agents, contexts=contexts)
    return AgentUseCases(
        create_agent=create,
        change_agent=change,
        remove_agent=RemoveAgent(
            agents=agents,
            identities=doors.identities,
            unit_of_work=doors.unit_of_work,
            audit=doors.audit,
        ),
        duplicate_agent=DuplicateAgent(agents=agents, contexts=contexts, create_agent=create),
        show_agent=show,
        list_agents=ListAgents(agents=agents),
        check_agent=check,
        list_versions=versions,
        diff_versions=DiffVersions(list_versions=versions),
        restore_version=RestoreVersion(list_versions=versions, change_agent=change),
        export_agent=ExportAgent(show_agent=show, files=files),
        import_agent=ImportAgent(
            agents=agents,
            files=files,
            check_agent=check,
            create_agent=create,
            change_agent=change,
        ),
        list_templates=ListTemplates(),
        list_traces=ListTraces(reports=doors.reports, settling=doors.settling, contexts=contexts),
        show_trace=ShowTrace(traces=doors.traces, settling=doors.settling, contexts=contexts),
        export_trace=ExportTrace(traces=doors.traces, spans=OtlpSpans(doors.version)),
        show_tool_stats=ShowToolStats(reports=doors.reports),
        show_model_stats=ShowModelStats(reports=doors.reports),
    )


# Agents on their real doors: the tools of the gateway, the models that are reached from here, the
# store, and the engine that carries out their runs.


@dataclass(slots=True)
class LateModels:
    """`Models` and `ModelRegistry`, once somebody has opened their doors."""

    _doors: list[ModelDependencies] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self, ground: AppContext, outside: SharedDependencies) -> AsyncIterator[None]:
        async with open_models(ground, outside) as doors:
            self._doors = [doors]
            yield

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        answering = self._doors[0].models.ask(caller, ask)
        try:
            async for piece in answering:
                yield piece
        finally:
            await answering.aclose()

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        return await self._doors[0].book.all(caller, fresh=fresh)

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        return await self._doors[0].book.get(caller, ref)

    async def providers(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        return await self._doors[0].book.providers(caller, fresh=fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAgents:
    """The agents of one process."""

    rooms: Mapping[str, object]
    """What faces are given, by the names that they know it by."""
    kinds: Sequence[Kind]
    models: LateModels
    dependencies: "OpenedAgentDependencies"
    runs: AgentRunUseCases
    app: AppContext
    outside: SharedDependencies

    lasting: Mapping[str, Lasting]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with (
            self.models.opened(self.app, self.outside),
            asyncio.TaskGroup() as background,
        ):
            tasks = [
                background.create_task(kept_up(each), name=name)
                for name, each in self.lasting.items()
            ]
            try:
                yield
            finally:
                await ended(tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAgentDependencies:
    """What is put together once, and used in several places."""

    app: AppContext
    outside: SharedDependencies
    gateway: Opened
    agents: ExposedAgents
    traces: PostgresTraces
    identities: AgentIdentities
    tasks: AgentTasks
    talk: AgentEventLog
    models: LateModels

    @property
    def plans(self) -> WorkflowDependencies:
        return self.gateway.gateway.programs.workflows

    @property
    def waits(self) -> Waits:
        approvals = self.plans.approvals
        return Waits(
            approvals=approvals.approvals,
            withdraw=approvals.withdraw(),
            traces=self.traces,
            event_sink=self.talk,
        )

    def toolbox(self) -> GatewayToolbox:
        gateway, settings = self.gateway.gateway, self.app.loaded.settings
        use = gateway.over_http
        return GatewayToolbox(
            offers=Offers(
                catalogues=gateway.catalogues,
                look_up=use.find_tools.look_up,
                tokenizer=O200k(),
            ),
            catalogues=gateway.catalogues,
            find_tools=use.find_tools,
            one_call=gateway.step_call,
            at_once=replace(use.call_tool, ask_first=AsksNobody()),
            new_outputs=self.plans.engines.durable.outputs,
            results=self.plans.approvals.results,
            waits=self.waits,
            clock=self.outside.clock,
            page_size=use.read_result.page_size,
            keep_for=timedelta(days=settings.workflows.keep_days),
        )

    def use_cases(self, runs: AgentRunUseCases) -> AgentUseCases:
        transactions = self.outside.transactions
        return assemble_agents(
            AgentDependencies(
                agents=self.agents,
                identities=self.identities,
                traces=self.traces,
                reports=PostgresTraceReports(transactions),
                settling=runs.follow_run,
                book=self.models,
                tools=GatewayToolNames(self.gateway.gateway.catalogues),
                contexts=self.plans.contexts,
                unit_of_work=transactions.begin,
                audit=self.outside.audit,
                clock=self.outside.clock,
                entropy=self.outside.entropy,
                version=self.app.version,
            )
        )

    def kind(self) -> Kind:
        """Nobody starts one by its name: it begins with an agent."""
        clock, entropy, toolbox = self.outside.clock, self.outside.entropy, self.toolbox()
        tokenizer = O200k()
        prepare = PrepareQuestion(
            book=self.models, toolbox=toolbox, event_sink=self.talk, tokenizer=tokenizer
        )
        run_agent = RunAgent(
            take_turn=RunTurn(
                prepare=prepare,
                ask_model=AskModel(
                    models=self.models,
                    prepare=prepare,
                    event_sink=self.talk,
                    tokenizer=tokenizer,
                    clock=clock,
                    entropy=entropy,
                ),
                traces=self.traces,
                event_sink=self.talk,
                clock=clock,
                entropy=entropy,
                hears=self.gateway.gateway.running_ahead.watching.say,
            ),
            make_calls=MakeCalls(
                toolbox=toolbox,
                traces=self.traces,
                event_sink=self.talk,
                clock=clock,
                entropy=entropy,
            ),
            toolbox=toolbox,
            acting=acting_in,
            traces=self.traces,
            event_sink=self.talk,
            clock=clock,
            bus=self.outside.bus,
            early_start=self.app.loaded.settings.agents.early_start,
        )
        work = AgentWork(
            work=run_agent,
            as_they_are=RevalidatePrincipal(key_ring=self.plans.approvals.key_ring, clock=clock),
            book=self.plans.engines.durable.book,
            identities=self.identities,
            traces=self.traces,
            event_sink=self.talk,
            clock=clock,
        )
        return Kind(name=AGENT, work=work)

    def runs(self) -> AgentRunUseCases:
        clock, engine = self.outside.clock, self.plans.engines.durable
        approvals, together = self.plans.approvals, self.outside.transactions.begin
        start = StartAgentRun(
            agents=self.agents,
            identities=self.identities,
            tasks=self.tasks,
            traces=self.traces,
            book=engine.book,
            start_run=starting(engine.runs, engine.queue, clock, self.outside.entropy, AGENT),
            audit=self.outside.audit,
            unit_of_work=together,
            clock=clock,
            entropy=self.outside.entropy,
        )
        follow = FollowRun(
            traces=self.traces,
            event_sink=self.talk,
            tasks=self.tasks,
            book=engine.book,
            clock=clock,
        )
        answer_of = AnswerOf(follow_run=follow, approvals=approvals.approvals, clock=clock)
        steer = SteerRun(traces=self.traces, tasks=self.tasks, clock=clock)
        return AgentRunUseCases(
            start_agent_run=start,
            follow_run=follow,
            answer_of=answer_of,
            steer_run=steer,
            stop_run=StopRun(
                traces=self.traces,
                event_sink=self.talk,
                book=engine.book,
                runs=engine.runs,
                queue=engine.queue,
                bus=engine.bus,
                approvals=approvals.approvals,
                withdraw=approvals.withdraw(),
                audit=self.outside.audit,
                unit_of_work=together,
                clock=clock,
            ),
            resume_agent_run=ResumeAgentRun(
                traces=self.traces,
                book=engine.book,
                runs=engine.runs,
                queue=engine.queue,
                audit=self.outside.audit,
                unit_of_work=together,
            ),
            resolve_step=self.gateway.gateway.over_http.workflows.resolve_step,
            take_question=TakeQuestion(
                start_agent_run=start,
                steer_run=steer,
                answer_of=answer_of,
                traces=self.traces,
                clock=clock,
            ),
            answer_interrupts=AnswerInterrupts(
                answer_approval=self.gateway.gateway.over_http.approvals.answer_approval,
                traces=self.traces,
            ),
            chat_patience=timedelta(seconds=self.app.loaded.settings.agents.chat_patience_seconds),
        )


def open_agents(ground: AppContext, outside: SharedDependencies, opened: Opened) -> OpenedAgents:
    doors = agent_doors(ground, outside, opened)
    runs, keep = doors.runs(), _keep_server(outside)
    exposing = Exposing(
        agents=doors.agents,
        catalogues=opened.gateway.catalogues,
        server=keep.ours,
        ask_again=keep.ask_again,
    )
    opened.agent_tools.bring(
        Exposed(start=runs.start_agent_run, answer=runs.answer_of, offered=exposing.offered)
    )
    agents, models = doors.use_cases(runs), model_use_cases(doors.models, doors.models)
    _tell_house(opened.builtin.house, agents, models, outside.clock)
    return OpenedAgents(
        rooms={"agents": agents, "agent_runs": runs, "models": models},
        kinds=[doors.kind()],
        models=doors.models,
        dependencies=doors,
        runs=runs,
        app=ground,
        outside=outside,
        lasting={
            "which agents are tools": partial(exposing.run, doors.agents.changed),
            "what they offer": partial(keep.run, opened.gateway.index_server),
        },
    )


def _tell_house(
    house: InternalParts, agents: AgentUseCases, models: ModelUseCases, clock: Clock
) -> None:
    """What Portico's own tools say of models, and of what was spent on them."""

    async def spending(caller: Principal, back: timedelta) -> Spent:
        which = TraceFilter(since=clock.now() - back, mine=True)
        every = await agents.show_model_stats(caller, which)
        return Spent(
            turns=sum(each.turns for each in every),
            input_tokens=sum(each.input for each in every),
            output_tokens=sum(each.output for each in every),
            dollars=sum((each.money for each in every), start=Decimal(0)),
        )

    house.models = models.list_models
    if house.measures is not None:
        house.measures = replace(house.measures, spending=spending)


def _keep_server(outside: SharedDependencies) -> KeepBuiltin:
    """Of the server whose tools are agents: it is there as soon as one is exposed."""
    transactions = outside.transactions
    return KeepBuiltin(
        servers=PostgresServers(transactions),
        unit_of_work=transactions.begin,
        audit=outside.audit,
        bus=BusAfterCommit(outside.bus, transactions),
        clock=outside.clock,
        entropy=outside.entropy,
        launch=LAUNCH,
        label=LABEL,
        timeout=TIMEOUT,
    )


def agent_doors(
    ground: AppContext, outside: SharedDependencies, opened: Opened
) -> OpenedAgentDependencies:
    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    plans = opened.gateway.programs.workflows
    log = PostgresEventLog(transactions, outside.bus, clock, entropy)
    seal = AesSivSeal.from_pepper(ground.pepper())
    tails = Tails(log=log, bus=outside.bus, seal=seal, wording=JsonLines())
    return OpenedAgentDependencies(
        app=ground,
        outside=outside,
        gateway=opened,
        agents=ExposedAgents(
            agents=PostgresAgents(transactions), afterwards=transactions.afterwards
        ),
        traces=PostgresTraces(transactions),
        identities=AgentIdentities(
            principals=PostgresPrincipals(transactions),
            approvals=plans.approvals.approvals,
            withdraw=plans.approvals.withdraw(),
            rules=plans.approvals.rules,
            audit=outside.audit,
            unit_of_work=transactions.begin,
            clock=clock,
        ),
        tasks=AgentTasks(
            book=PostgresTaskContexts(transactions, clock),
            contexts=plans.contexts,
            clock=clock,
            entropy=entropy,
        ),
        talk=AgentEventLog(
            log=log, tails=tails, encrypt=seal, book=plans.engines.durable.book, clock=clock
        ),
        models=LateModels(),
    )
