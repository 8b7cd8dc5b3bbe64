"""Use cases of the gateway, built on ports."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.adapters.builtin.server import RoutedUpstreams
from portico.adapters.cross_domain.tool_servers import WorkflowRunning, WorkflowTools
from portico.app.guard_wiring import (
    ApprovalDependencies,
    LoginDependencies,
    PolicyDependencies,
    assemble_secrets,
)
from portico.app.learning import (
    ExecutorDependencies,
    LearningDependencies,
    PrefetchDependencies,
    PrefetchSwitches,
    RunningPrefetch,
    SuggestDependencies,
    Suggesting,
    graph_use_cases,
    learns_of,
    open_graphs,
    open_running_ahead,
)
from portico.app.workflows import (
    ProgramDependencies,
    SavedRunning,
    SavedWorkflowDependencies,
    WorkflowDependencies,
)
from portico.engine.ports import Bus
from portico.gateway.calls import (
    Asking,
    CallTool,
    CheckArguments,
    ListCalls,
    RecordCall,
    ShowCallStats,
)
from portico.gateway.catalog import Catalogs, ListServerTools, ListTools, ShowTool
from portico.gateway.confinement import SetProfile, ShowProfile
from portico.gateway.core.confinement import ShippedProfiles
from portico.gateway.core.effects import ShippedEffects
from portico.gateway.core.servers import WORKFLOWS
from portico.gateway.discovery import IndexServer
from portico.gateway.inferred_schema import KnownShapes
from portico.gateway.policy_targets import ToolAims
from portico.gateway.ports import (
    CallHistory,
    Embedder,
    Results,
    SchemaCheck,
    ServerConfinement,
    Servers,
    Tools,
    ToolUsageStore,
    Upstreams,
    Vectors,
)
from portico.gateway.resources_and_prompts import (
    BesideTools,
    Complete,
    GetPrompt,
    ListOffers,
    ReadResource,
)
from portico.gateway.results import ReadResult, StoreResult
from portico.gateway.search import FindTools, RankTools
from portico.gateway.search_index import BuildIndex, EncodeQuery
from portico.gateway.server_approval import AcceptTools, ApproveLaunch, ReviewServers, SetEffects
from portico.gateway.servers import (
    AddServer,
    ClearedServers,
    FindSecretUses,
    LabelServer,
    ListServers,
    RemoveServer,
    RestartServer,
    ShowServer,
    SwitchServer,
)
from portico.gateway.surface import DescribeTools, ShowSurface
from portico.gateway.tool_usage import ToolUsageRecorder
from portico.guard.policy_gate import Gate
from portico.guard.ports import Audit, Contexts, Secrets, UnitOfWork
from portico.interfaces.http.use_cases import GatewayUseCases
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonValue
from portico.learning.observation import CallObservations, Learns
from portico.learning.past_plans import PlanObservations
from portico.learning.tool_graph import Graphs
from portico.workflows.core.plan_documents import plan_schema
from portico.workflows.core.texts import own_tools
from portico.workflows.plan_checks import CheckPlan
from portico.workflows.programs import OpenInterpreter
from portico.workflows.saved import SavedWorkflows
from portico.workflows.step_calls import OneCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the settings allow."""

    call_timeout: timedelta = timedelta(seconds=30)
    search_budget: int = 1_500
    surface_tokens: int = 1_000
    page_size: int = 20_000
    """Characters of an answer that a model is given at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayDependencies:
    servers: Servers
    tools: Tools
    vectors: Vectors
    history: CallHistory
    results: Results
    tool_usage: ToolUsageStore
    learning: LearningDependencies
    ahead: PrefetchDependencies
    suggest: SuggestDependencies
    workflows: WorkflowDependencies
    saved: SavedWorkflows
    open_interpreter: OpenInterpreter
    upstreams: Upstreams
    confinement: ServerConfinement
    schemas: SchemaCheck
    static: Embedder
    encoder: Embedder | None
    stem: Callable[[str], str]
    tokenizer: Tokenizer
    shipped: ShippedEffects
    profiles: ShippedProfiles
    gate: Gate
    policy: PolicyDependencies
    ask_first: Asking
    approvals: ApprovalDependencies
    logins: LoginDependencies
    secrets: Secrets
    contexts: Contexts
    audit: Audit
    unit_of_work: UnitOfWork
    bus: Bus
    clock: Clock
    entropy: Entropy
    clean: Callable[[JsonValue], JsonValue]
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Every verb of the room; faces take what they need of them."""

    over_http: GatewayUseCases
    catalogues: Catalogs
    tool_usage: ToolUsageRecorder
    observations: CallObservations
    graphs: Graphs
    ahead: PrefetchSwitches
    running_ahead: RunningPrefetch
    plan_lessons: PlanObservations
    step_call: OneCall
    """How runs make their calls: all of this process share its turns."""
    programs: ProgramDependencies
    index_server: IndexServer
    show_surface: ShowSurface
    list_server_tools: ListServerTools
    describe_tools: DescribeTools
    list_offers: ListOffers
    read_resource: ReadResource
    get_prompt: GetPrompt
    complete: Complete


def assemble_gateway(doors: GatewayDependencies) -> Gateway:
    late: list[WorkflowRunning] = []
    inside = {WORKFLOWS: WorkflowTools(lambda: late[0])}
    doors = replace(doors, upstreams=RoutedUpstreams(inside, doors.upstreams))
    servers, tools, upstreams = doors.servers, doors.tools, doors.upstreams
    bus, clock, limits = doors.bus, doors.clock, doors.limits
    catalogues = Catalogs(
        servers=servers,
        tools=tools,
        upstreams=upstreams,
        bus=bus,
        build_index=BuildIndex(
            static=doors.static, encoder=doors.encoder, vectors=doors.vectors, stem=doors.stem
        ),
    )
    index_server = IndexServer(
        servers=servers,
        tools=tools,
        upstreams=upstreams,
        tokenizer=doors.tokenizer,
        audit=doors.audit,
        bus=bus,
        clock=clock,
    )
    record = RecordCall(
        history=doors.history, clock=clock, entropy=doors.entropy, clean=doors.clean
    )
    beside = BesideTools(
        catalogues=catalogues, gate=doors.gate, record=record, timeout=limits.call_timeout
    )
    habits = ToolUsageRecorder(tool_usage=doors.tool_usage, clock=clock)
    ahead = doors.ahead.open(servers, clock)
    learning = doors.learning
    graphs = open_graphs(learning.edges, learning.flows, catalogues, clock)
    learns = learns_of(ahead.board)
    lessons = learning.observations(doors.contexts, clock, doors.entropy, graphs, learns)
    programs = ProgramDependencies(
        workflows=doors.workflows,
        open_interpreter=doors.open_interpreter,
        catalogues=catalogues,
        keep_result=_keep_result(doors),
    )
    plans = _plans(doors, catalogues)
    running_ahead = open_running_ahead(ahead, _lane_doors(doors, catalogues))
    suggesting = _suggesting(doors, catalogues, graphs, learns, running_ahead)
    over_http = _over_http(
        doors,
        catalogues,
        index_server,
        habits,
        record,
        lessons=lessons,
        graphs=graphs,
        ahead=ahead,
        running_ahead=running_ahead,
        programs=programs,
        plans=plans,
        suggesting=suggesting,
    )
    late.append(plans.as_tools())
    return Gateway(
        over_http=over_http,
        step_call=plans.inner(doors.workflows.step_call(over_http.call_tool, catalogues)),
        programs=programs,
        catalogues=catalogues,
        tool_usage=habits,
        observations=lessons,
        graphs=graphs,
        ahead=ahead,
        running_ahead=running_ahead,
        plan_lessons=suggesting.observations(),
        index_server=index_server,
        show_surface=ShowSurface(
            catalogues=catalogues,
            tool_usage=doors.tool_usage,
            tokenizer=doors.tokenizer,
            clock=clock,
            cap=limits.surface_tokens,
        ),
        list_server_tools=ListServerTools(catalogues=catalogues),
        describe_tools=DescribeTools(
            catalogues=catalogues,
            known_shapes=KnownShapes(shapes=doors.learning.shapes),
            tokenizer=doors.tokenizer,
            budget=4 * limits.search_budget,
            own=own_tools(plan_schema()),
        ),
        list_offers=ListOffers(catalogues=catalogues),
        read_resource=ReadResource(beside=beside, upstreams=upstreams),
        get_prompt=GetPrompt(beside=beside, upstreams=upstreams),
        complete=Complete(beside=beside, upstreams=upstreams),
    )


def _over_http(  # noqa: PLR0913 # what is put together, one by one
    doors: GatewayDependencies,
    catalogues: Catalogs,
    index_server: IndexServer,
    habits: ToolUsageRecorder,
    record: RecordCall,
    *,
    lessons: CallObservations,
    graphs: Graphs,
    ahead: PrefetchSwitches,
    running_ahead: RunningPrefetch,
    programs: ProgramDependencies,
    plans: SavedRunning,
    suggesting: Suggesting,
) -> GatewayUseCases:
    servers, tools, upstreams = ClearedServers(doors.servers), doors.tools, doors.upstreams
    bus, clock, entropy, limits = doors.bus, doors.clock, doors.entropy, doors.limits
    walls, audit = doors.confinement, doors.audit
    show_profile = ShowProfile(servers=servers, confinement=walls, shipped=doors.profiles)
    propose_edges = doors.learning.propose_edges(catalogues, doors.static)
    return GatewayUseCases(
        add_server=AddServer(
            servers=servers,
            names=doors.servers,
            unit_of_work=doors.unit_of_work,
            audit=audit,
            bus=bus,
            clock=clock,
            entropy=entropy,
        ),
        remove_server=RemoveServer(servers=servers, upstreams=upstreams, audit=audit, bus=bus),
        switch_server=SwitchServer(servers=servers, upstreams=upstreams, audit=audit, bus=bus),
        restart_server=RestartServer(
            servers=servers, upstreams=upstreams, index_server=index_server
        ),
        list_servers=ListServers(
            servers=servers, tools=tools, upstreams=upstreams, confinement=walls
        ),
        show_server=ShowServer(
            servers=servers, tools=tools, upstreams=upstreams, confinement=walls
        ),
        show_profile=show_profile,
        set_profile=SetProfile(
            servers=servers,
            upstreams=upstreams,
            confinement=walls,
            show=show_profile,
            audit=audit,
            bus=bus,
        ),
        approve_launch=ApproveLaunch(
            servers=servers, confinement=walls, audit=audit, bus=bus, clock=clock
        ),
        review_servers=ReviewServers(
            servers=servers, tools=tools, confinement=walls, shipped=doors.shipped
        ),
        accept_tools=AcceptTools(
            servers=servers,
            tools=tools,
            shipped=doors.shipped,
            audit=audit,
            bus=bus,
            clock=clock,
        ),
        label_server=LabelServer(servers=servers, audit=audit, bus=bus),
        set_effects=SetEffects(servers=servers, tools=tools, audit=audit, bus=bus, clock=clock),
        policy=doors.policy.use_cases(ToolAims(catalogues=catalogues)),
        logins=doors.logins.over_http(servers),
        secrets=assemble_secrets(doors.secrets, FindSecretUses(servers=servers), audit, clock),
        approvals=doors.approvals.use_cases(
            CheckArguments(catalogues=catalogues, schemas=doors.schemas)
        ),
        list_tools=ListTools(servers=servers, tools=tools),
        show_tool=ShowTool(servers=servers, tools=tools, shapes=doors.learning.shapes),
        propose_edges=propose_edges,
        check_plan=plans.check_plan,
        workflows=plans.workflows,
        run_workflow=plans.run_workflow(propose_edges, suggesting.take_suggestion()),
        suggest=suggesting.use_cases(),
        saved=plans.saved,
        programs=programs.use_cases(plans.workflows.show_workflow),
        ahead=ahead.use_cases(servers, catalogues, audit),
        graph=graph_use_cases(graphs, catalogues),
        find_tools=FindTools(
            catalogues=catalogues,
            look_up=suggesting.look_up,
            tool_usage=doors.tool_usage,
            tokenizer=doors.tokenizer,
            clock=clock,
            budget=limits.search_budget,
            observer=running_ahead.watching.say,
        ),
        call_tool=CallTool(
            catalogues=catalogues,
            schemas=doors.schemas,
            gate=doors.gate,
            ask_first=doors.ask_first,
            upstreams=upstreams,
            record=record,
            tool_usage=habits,
            keep_result=_keep_result(doors),
            timeout=limits.call_timeout,
            prefetcher=running_ahead.executor,
            observers=(lessons, running_ahead.watching),
        ),
        read_result=ReadResult(
            results=doors.results,
            contexts=doors.contexts,
            clock=clock,
            page_size=limits.page_size,
        ),
        list_calls=ListCalls(history=doors.history, servers=doors.servers, contexts=doors.contexts),
        show_figures=ShowCallStats(history=doors.history, servers=doors.servers, clock=clock),
    )


def _plans(doors: GatewayDependencies, catalogues: Catalogs) -> SavedRunning:
    check_plan = CheckPlan(
        catalogues=catalogues,
        schemas=doors.schemas,
        decide=doors.gate.decide,
        expressions=doors.workflows.expressions,
    )
    saved = SavedWorkflowDependencies(
        saved=doors.saved,
        servers=doors.servers,
        tools=doors.tools,
        tokenizer=doors.tokenizer,
        unit_of_work=doors.unit_of_work,
        audit=doors.audit,
        bus=doors.bus,
        clock=doors.clock,
        entropy=doors.entropy,
    )
    return SavedRunning(
        stored=doors.saved,
        saved=saved.use_cases(catalogues, check_plan),
        workflows=doors.workflows.use_cases(catalogues),
        check_plan=check_plan,
        catalogues=catalogues,
        gate=doors.gate,
        expressions=doors.workflows.expressions,
    )


def _look_up(doors: GatewayDependencies) -> RankTools:
    encoder = doors.encoder
    encode = None if encoder is None else EncodeQuery(encoder=encoder, clock=doors.clock)
    return RankTools(static=doors.static, encode=encode)


def _suggesting(
    doors: GatewayDependencies,
    catalogues: Catalogs,
    graphs: Graphs,
    learns: Learns,
    running_ahead: RunningPrefetch,
) -> Suggesting:
    return Suggesting(
        dependencies=doors.suggest,
        catalogues=catalogues,
        look_up=_look_up(doors),
        graphs=graphs,
        flows=doors.learning.flows,
        embedder=doors.static,
        results=doors.results,
        contexts=doors.contexts,
        unit_of_work=doors.unit_of_work,
        expressions=doors.workflows.expressions,
        these=running_ahead.run_ahead.these,
        say=running_ahead.watching.say,
        learns=learns,
        clean=doors.clean,
        clock=doors.clock,
        entropy=doors.entropy,
    )


def _lane_doors(doors: GatewayDependencies, catalogues: Catalogs) -> ExecutorDependencies:
    return ExecutorDependencies(
        catalogues=catalogues,
        schemas=doors.schemas,
        upstreams=doors.upstreams,
        gate=doors.gate,
        key_ring=doors.approvals.key_ring,
        clock=doors.clock,
        timeout=doors.limits.call_timeout,
    )


def _keep_result(doors: GatewayDependencies) -> StoreResult:
    return StoreResult(
        results=doors.results,
        clock=doors.clock,
        entropy=doors.entropy,
        page_size=doors.limits.page_size,
    )
