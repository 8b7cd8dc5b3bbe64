"""The gateway on its adapters, and what of it goes on for as long as the server runs."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx2

from portico.adapters.builtin.files import (
    ListFiles,
    MakeFolder,
    MoveFile,
    Owner,
    ReadFile,
    RemoveFile,
    Workspaces,
    WriteFile,
)
from portico.adapters.builtin.programs import OpenBox, RunCode, Shell
from portico.adapters.builtin.server import (
    LAUNCH,
    BuiltinTools,
    Part,
    RoutedUpstreams,
    ServersWithBuiltin,
)
from portico.adapters.builtin.status import (
    CheckPermission,
    Measures,
    Metrics,
    Models,
    ModelsInfo,
    Notify,
    OwnRuns,
    Tell,
    Weigh,
    WorkflowState,
)
from portico.adapters.builtin.web import Fetch, SendRequest
from portico.adapters.client_configs import FileSources
from portico.adapters.cross_domain.tool_servers import AgentTools
from portico.adapters.embeddings.sentence_encoders import open_encoder
from portico.adapters.embeddings.static_table import StaticTable
from portico.adapters.json_schema import JsonSchemaCheck
from portico.adapters.mcp.pool import UpstreamPool
from portico.adapters.mcp.stdio import Terms
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.gateway.calls import PostgresCallHistory
from portico.adapters.postgres.gateway.results import PostgresResults
from portico.adapters.postgres.gateway.servers import PostgresServers
from portico.adapters.postgres.gateway.tools import PostgresTools, PostgresVectors
from portico.adapters.postgres.learning.counts import PostgresToolUsageStore
from portico.adapters.postgres.transaction import BusAfterCommit, EnqueueAfterCommit
from portico.adapters.postgres.workflows.saved import PostgresSavedWorkflows
from portico.adapters.stemming import stem
from portico.adapters.system.shipped_lists import shipped_effects, shipped_profiles
from portico.adapters.tokens import O200k
from portico.app.app_context import AppContext
from portico.app.box import Sandboxes
from portico.app.client_configs import client_files
from portico.app.encoders import AppEncoders
from portico.app.gateway_wiring import Gateway, GatewayDependencies, Limits, assemble_gateway
from portico.app.guard import GatewaySide, open_approvals, open_policy
from portico.app.learning import open_ahead, open_learning, open_suggestions
from portico.app.oauth import open_logins
from portico.app.run_workers import Lasting, ended, kept_up
from portico.app.secrets import SecretDependencies
from portico.app.shared_dependencies import SharedDependencies
from portico.app.workflows import (
    PlanGatewayDependencies,
    WorkflowDependencies,
    inline_engine,
    open_workflows,
)
from portico.engine.notifications import NotifyPeople
from portico.engine.ports import Bus
from portico.engine.runs import Kind
from portico.gateway.calls import CheckArguments, ShowOwnCallStats
from portico.gateway.catalog import CATALOGUE, Catalogs
from portico.gateway.core.errors import EmbedderUnavailable
from portico.gateway.core.servers import AGENTS, BUILTIN
from portico.gateway.discovery import KeepBuiltin, look_again
from portico.gateway.policy_targets import ToolAims, WeighCall
from portico.gateway.ports import Embedder, SchemaCheck, Servers
from portico.gateway.results import StoreResult
from portico.gateway.server_files import FollowSources, ReconcileServers
from portico.guard.authentication import Entry
from portico.guard.core.errors import InvitationUsed, NotAuthenticated
from portico.guard.policy import Decide
from portico.interfaces.http.use_cases import UseCases
from portico.interfaces.mcp.request_context import GatewayUses, WorkflowUses
from portico.kernel.errors import PorticoError
from portico.kernel.ids import PrincipalId, SpaceId
from portico.sandbox.core.errors import SandboxUnavailable
from portico.sandbox.requests import Files, Interpreter, Web
from portico.settings.load import process_environment
from portico.workflows.run_queries import QueryOwnRuns
from portico.workflows.runs import LatestAnswer

if TYPE_CHECKING:
    from portico.adapters.monty.interpreter import MontyInterpreter


@dataclass(slots=True, kw_only=True)
class InternalParts:
    """Other parts of Portico, each brought as soon as it is put together."""

    models: Models | None = None
    runs: OwnRuns | None = None
    measures: Measures | None = None
    weigh: Weigh | None = None
    tell: Tell | None = None


@dataclass(slots=True)
class BuiltinDependencies:
    app: AppContext
    house: InternalParts = field(default_factory=InternalParts)
    _client: "httpx2.AsyncClient | None" = None
    _interpreter: "MontyInterpreter | None" = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What was opened meanwhile is closed at the end."""
        try:
            yield
        finally:
            if self._client is not None:
                await self._client.aclose()
            if self._interpreter is not None:
                await self._interpreter.close()

    async def open_web(self) -> Web:
        from portico.adapters.egress.client import GuardedWeb, guarded_client

        async with self._opening:
            if self._client is None:  # in a thread: it reads all certificates that we trust
                allow = self.app.loaded.settings.web.places
                self._client = await asyncio.to_thread(guarded_client, allow=allow)
        return GuardedWeb(self._client)

    async def open_interpreter(self) -> Interpreter:
        async with self._opening:
            if self._interpreter is None:
                self._interpreter = await asyncio.to_thread(_new_interpreter)
        return self._interpreter


def open_builtin(ground: AppContext, doors: BuiltinDependencies, open_box: OpenBox) -> BuiltinTools:
    workspaces = Workspaces(ground.loaded.paths.workspaces, _files, owner=_owner(ground))
    house = doors.house
    return BuiltinTools(
        [
            Shell(open_box, workspaces),
            ReadFile(workspaces),
            WriteFile(workspaces),
            ListFiles(workspaces),
            MoveFile(workspaces),
            RemoveFile(workspaces),
            MakeFolder(workspaces),
            Fetch(doors.open_web),
            SendRequest(doors.open_web),
            RunCode(doors.open_interpreter),
            ModelsInfo(lambda: house.models),
            WorkflowState(lambda: house.runs),
            Metrics(lambda: house.measures),
            CheckPermission(lambda: house.weigh),
            Notify(lambda: house.tell),
        ]
    )


def _files(folder: Path) -> Files:
    from portico.adapters.confined_files import FolderFiles

    return FolderFiles(folder)


def _new_interpreter() -> "MontyInterpreter":
    from portico.adapters.monty.interpreter import MontyInterpreter

    return MontyInterpreter()


def _owner(ground: AppContext) -> Owner | None:
    """Whoever things in the box run as, if that is not us."""
    from portico.adapters.sandbox.runner import account_for

    try:
        account = account_for(ground.loaded.settings.box.run_as)
    except SandboxUnavailable:
        return None
    return Owner(account.uid, account.gid) if account.switch else None


# What Portico's own tools are told about Portico itself, by the parts that the gateway is of.


def bring_house(  # noqa: PLR0913 # the parts, one by one
    house: InternalParts,
    outside: SharedDependencies,
    *,
    catalogues: Catalogs,
    servers: Servers,
    schemas: SchemaCheck,
    workflows: WorkflowDependencies,
    decide: Decide,
) -> None:
    """All but what agents bring: their models, and what their runs used up."""
    house.weigh = WeighCall(
        aims=ToolAims(catalogues=catalogues),
        check=CheckArguments(catalogues=catalogues, schemas=schemas),
        decide=decide,
    )
    house.runs = QueryOwnRuns(engines=workflows.engines, show=workflows.show())
    house.measures = Measures(
        metrics=ShowOwnCallStats(history=workflows.history, servers=servers, clock=outside.clock)
    )
    house.tell = NotifyPeople(
        log=PostgresEventLog(outside.transactions, outside.bus, outside.clock, outside.entropy),
        contexts=workflows.contexts,
        clock=outside.clock,
        clean=outside.clean,
    )


_log: Final = logging.getLogger("portico.gateway")

Home = Callable[[], Awaitable[SpaceId | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The gateway of one process: what it can do, and what has to run for it."""

    gateway: Gateway
    pool: UpstreamPool
    history: PostgresCallHistory
    boxes: Sandboxes
    client: httpx2.AsyncClient
    builtin: BuiltinDependencies
    keep_builtin: KeepBuiltin
    follow: FollowSources
    line: EnqueueAfterCommit
    kinds: Sequence[Kind]
    """Of runs, which the gateway knows how to carry out."""
    telling: Sequence[Lasting]
    inline: Lasting
    """Carries out the runs of this process alone."""
    agent_tools: AgentTools
    """For whoever brings the agents."""

    @asynccontextmanager
    async def running(self, home: Home) -> AsyncIterator[None]:
        """`home` gives the space that the files of this machine describe servers for."""

        async def follow() -> None:
            if (space := await home()) is not None:
                await self.follow(space)

        self.gateway.running_ahead.show_how_much()
        async with AsyncExitStack() as open_ones:
            await open_ones.enter_async_context(self.client)
            await open_ones.enter_async_context(self.builtin.running())
            lasting = await open_ones.enter_async_context(asyncio.TaskGroup())
            tasks = [
                lasting.create_task(kept_up(each), name=name)
                for name, each in self._lasting.items()
            ]
            await open_ones.enter_async_context(self.pool)
            tasks.append(lasting.create_task(kept_up(follow), name="files of clients"))
            try:
                yield
            finally:
                await ended(tasks)

    @property
    def _lasting(self) -> Mapping[str, Lasting]:
        telling = {f"telling of approvals {n}": each for n, each in enumerate(self.telling, 1)}
        return {
            "catalogues": self.gateway.catalogues.run,
            "habits": self.gateway.tool_usage.run,
            "lessons": self.gateway.observations.run,
            "graphs": self.gateway.graphs.run,
            "history of calls": self.history.run,
            "line of runs": self.line.run,
            "quick plans": self.inline,
            "our own tools": partial(self.keep_builtin.run, self.gateway.index_server),
            "the box": self.boxes.try_out,
            **self.gateway.ahead.lasting,
            **self.gateway.running_ahead.lasting,
            "lessons of plans": self.gateway.plan_lessons.run,
            **telling,
        }


def open_gateway(ground: AppContext, outside: SharedDependencies) -> Opened:
    transactions, clock = outside.transactions, outside.clock
    bus = BusAfterCommit(outside.bus, transactions)
    client = AppEncoders(ground).client()
    keep_builtin = KeepBuiltin(
        servers=PostgresServers(transactions),
        unit_of_work=transactions.begin,
        audit=outside.audit,
        bus=bus,
        clock=clock,
        entropy=outside.entropy,
        launch=LAUNCH,
    )
    servers = ServersWithBuiltin(keep_builtin.servers, keep_builtin)
    incarnation = f"{os.getpid()} {outside.entropy(8).hex()}"
    history = PostgresCallHistory(transactions, clock, incarnation)
    told: list[Gateway] = []

    async def changed(space: SpaceId, server: str, login: PrincipalId | None) -> None:
        await look_again(told[0].index_server, space, server, login)

    boxes, logins = Sandboxes(ground), open_logins(ground, outside)
    pool = UpstreamPool(
        clock=clock,
        entropy=outside.entropy,
        secrets=ground.secrets,
        changed=changed,
        confine=boxes.cells(),
        terms=terms(ground),
        environment=process_environment(),
        keeper=outside.keeper,
        tokens=logins.token,
    )
    builtin = BuiltinDependencies(ground)
    inside = open_builtin(ground, builtin, boxes.find)
    agent_tools = AgentTools()
    ours: Mapping[str, Part] = {BUILTIN: inside, AGENTS: agent_tools}
    upstreams = RoutedUpstreams(ours, logins.upstreams(pool))
    policy = open_policy(ground, outside)
    results, allowed = PostgresResults(transactions, outside.vault), limits(ground)
    line = EnqueueAfterCommit(outside.queue, transactions)
    approvals = open_approvals(
        ground.loaded.settings.approvals,
        outside,
        line,
        GatewaySide(
            rules=policy.rules,
            contexts=policy.contexts,
            history=history,
            results=results,
            keep_result=StoreResult(
                results=results,
                clock=clock,
                entropy=outside.entropy,
                page_size=allowed.page_size,
            ),
        ),
        ground.base_url,
    )
    inline = inline_engine(clock, outside.entropy)
    schemas = JsonSchemaCheck()
    workflows = open_workflows(
        ground.loaded.settings.workflows,
        outside,
        line,
        PlanGatewayDependencies(
            approvals=approvals,
            history=history,
            contexts=policy.contexts,
            results=results,
            schemas=schemas,
        ),
        inline,
    )
    approvals = replace(approvals, latest=LatestAnswer(show=workflows.show()))
    gateway = assemble_gateway(
        GatewayDependencies(
            servers=servers,
            tools=PostgresTools(transactions),
            vectors=PostgresVectors(transactions),
            history=history,
            results=results,
            tool_usage=PostgresToolUsageStore(transactions),
            saved=PostgresSavedWorkflows(transactions),
            learning=open_learning(transactions),
            ahead=open_ahead(ground.loaded.settings.ahead, outside, incarnation),
            suggest=open_suggestions(transactions),
            upstreams=upstreams,
            confinement=boxes.walls(),
            schemas=schemas,
            workflows=workflows,
            open_interpreter=builtin.open_interpreter,
            static=StaticTable(),
            encoder=_encoder(ground, client),
            stem=stem,
            tokenizer=O200k(),
            shipped=shipped_effects(),
            profiles=shipped_profiles(),
            bus=bus,
            gate=policy.gate(),
            policy=policy,
            ask_first=approvals.ask_first(),
            approvals=approvals,
            logins=logins,
            secrets=SecretDependencies(ground).secrets,
            contexts=policy.contexts,
            unit_of_work=transactions.begin,
            audit=outside.audit,
            clock=clock,
            entropy=outside.entropy,
            clean=outside.clean,
            limits=allowed,
        )
    )
    told.append(gateway)
    bring_house(
        builtin.house,
        outside,
        catalogues=gateway.catalogues,
        servers=servers,
        schemas=schemas,
        workflows=workflows,
        decide=policy.gate().decide,
    )
    learn = gateway.plan_lessons.note
    follow = FollowSources(
        sources=sources(ground),
        servers=servers,
        reconcile=ReconcileServers(
            servers=servers,
            unit_of_work=transactions.begin,
            audit=outside.audit,
            upstreams=upstreams,
            bus=bus,
            clock=clock,
            entropy=outside.entropy,
        ),
        index=gateway.index_server,
    )
    return Opened(
        gateway=gateway,
        pool=pool,
        history=history,
        boxes=boxes,
        client=client,
        builtin=builtin,
        keep_builtin=keep_builtin,
        follow=follow,
        line=line,
        kinds=[
            approvals.kind(gateway.over_http.call_tool),
            workflows.kind(gateway.step_call, workflows.engines.durable, learn),
            gateway.programs.kind(gateway.step_call, workflows.engines.durable),
        ],
        inline=partial(
            inline.run,
            workflows,
            [
                workflows.kind(gateway.step_call, workflows.engines.inline, learn),
                gateway.programs.kind(gateway.step_call, workflows.engines.inline),
            ],
        ),
        telling=approvals.lasting,
        agent_tools=agent_tools,
    )


def terms(ground: AppContext) -> Terms:
    told = ground.loaded.settings.gateway
    start = timedelta(seconds=told.start_timeout)
    return Terms(
        processes=told.processes,
        idle=timedelta(seconds=told.idle_after),
        start=start,
        look=start,
    )


def limits(ground: AppContext) -> Limits:
    told = ground.loaded.settings.gateway
    return Limits(
        call_timeout=timedelta(seconds=told.call_timeout),
        search_budget=told.search_budget,
        surface_tokens=told.surface_tokens,
    )


def sources(ground: AppContext) -> FileSources:
    return FileSources(client_files(ground), _Imports(ground))


@dataclass(slots=True)
class _Imports:
    """Which files the settings name now; while they cannot be read, which they named before."""

    ground: AppContext

    def __call__(self) -> Sequence[str]:
        try:
            anew = AppContext(self.ground.config, self.ground.flags)
            named = anew.loaded.settings.gateway.imports
        except PorticoError as error:
            _log.warning("the settings cannot be read, and stay as they were: %s", error)
            return self.ground.loaded.settings.gateway.imports
        self.ground = anew
        return named


def _encoder(ground: AppContext, client: httpx2.AsyncClient) -> Embedder | None:
    """Search goes on without it."""
    try:
        return open_encoder(AppEncoders(ground).wanted(), client)
    except EmbedderUnavailable as error:
        _log.warning("search does without its encoder: %s %s", error, error.fix)
        return None


def over_mcp(
    gateway: Gateway,
    came_in: UseCases,
    bus: Bus,
    version: str,
) -> GatewayUses:
    use = gateway.over_http
    return GatewayUses(
        authenticate=came_in.authenticate,
        enter_context=came_in.enter_context,
        show_surface=gateway.show_surface,
        list_server_tools=gateway.list_server_tools,
        find_tools=use.find_tools,
        describe_tools=gateway.describe_tools,
        call_tool=use.call_tool,
        read_result=use.read_result,
        read_approved=use.approvals.read_approved,
        list_offers=gateway.list_offers,
        read_resource=gateway.read_resource,
        get_prompt=gateway.get_prompt,
        complete=gateway.complete,
        workflows=WorkflowUses(
            run_workflow=use.run_workflow,
            suggest_workflow=use.suggest.suggest_workflow,
            give_feedback=use.suggest.give_feedback,
            wait_for_workflow=use.workflows.wait_for_workflow,
            start_program=use.programs.start_program,
            wait_for_program=use.programs.wait_for_program,
            wait_timeout=use.workflows.wait,
        ),
        changes=lambda space: bus.listen(space, CATALOGUE),
        version=version,
    )


async def home_of(
    ground: AppContext, authenticate: Callable[[str], Awaitable[Entry]]
) -> SpaceId | None:
    """The space of whoever this machine's key belongs to; a server without one, such as one of
    many, takes its servers of tools from the database alone. Raises `StoreUnavailable`."""
    try:
        key = await asyncio.to_thread(ground.loaded.paths.key_file.read_text)
        return (await authenticate(key.strip())).principal.space
    except (OSError, NotAuthenticated, InvitationUsed):
        _log.info("there is no key of this machine's own: no files are followed")
        return None
